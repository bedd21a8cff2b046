#include "cli/verify.h"

#include <optional>
#include <utility>

#include "cli/download.h"
#include "cli/in_order.h"
#include "cli/object_pages.h"
#include "cli/session.h"

namespace ron::cli {
namespace {

using base::Code;
using base::Result;
using platform::Task;

constexpr std::size_t kWindow = 2;  // pieces in flight per object; objects come side by side too

struct Checked {
  base::ObjectId id;
  Result<std::uint64_t> length;
};

Task<Checked> check(Session* session, base::ObjectId id) {
  NoSink sink;
  auto length = co_await download(session, {.id = id, .sink = &sink, .window = kWindow});
  session->progress().add_item();
  co_return Checked{id, std::move(length)};
}

// The check of one command, while it runs.
class Verify {
 public:
  explicit Verify(Session& session)
      : session_(session), window_(session.tasks(), 2 * session.options().jobs) {}

  Task<void> add(base::ObjectId id) {
    if (window_.full()) co_await take_one();
    window_.start(check(&session_, id));
  }

  Task<int> finish() {
    while (!window_.empty()) co_await take_one();
    const bool nothing = objects_ == 0 && missing_ == 0;
    if (nothing && session_.exit_code() != kExitClean) co_return session_.exit_code();
    session_.print("checked " + std::to_string(objects_) + " objects, " + std::to_string(bytes_) +
                   " bytes, " + std::to_string(corrupt_) + " corrupt" +
                   (missing_ == 0 ? "" : ", " + std::to_string(missing_) + " missing") + "\n");
    co_return session_.exit_code();
  }

 private:
  Task<void> take_one() {
    const Checked checked = co_await window_.next();
    if (checked.length) {
      ++objects_;
      bytes_ += *checked.length;
      co_return;
    }
    const Code code = checked.length.error().code;
    if (code == Code::IntegrityFail) ++corrupt_;
    if (code == Code::IntegrityFail) ++objects_;
    if (code == Code::NotFound) ++missing_;
    const std::string verdict = code == Code::IntegrityFail ? "corrupt: " : "";
    session_.complain(checked.id.text(), verdict + describe(checked.length.error()));
  }

  Session& session_;
  std::uint64_t objects_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t corrupt_ = 0;
  std::uint64_t missing_ = 0;
  InOrder<Checked> window_;
};

Task<int> verify_these(Session* session, const std::vector<base::ObjectId>* ids) {
  Verify verify(*session);
  for (const base::ObjectId& id : *ids) co_await verify.add(id);
  session->progress().expect_all();
  co_return co_await verify.finish();
}

Task<int> verify_all(Session* session) {
  Verify verify(*session);
  ObjectPages pages(*session);
  for (;;) {
    const auto page = co_await pages.next();
    if (!page) session->complain_of_admin("", page.error());
    if (!page || page->empty()) break;
    for (const base::ObjectId& id : *page) co_await verify.add(id);
  }
  session->progress().expect_all();
  co_return co_await verify.finish();
}

}  // namespace

int verify_objects(const ClientOptions& options, const std::vector<base::ObjectId>& ids) {
  return run_session("verify", options,
                     [&ids](Session& session) { return verify_these(&session, &ids); });
}

int verify_server(const ClientOptions& options) {
  return run_session("verify", options, [](Session& session) { return verify_all(&session); });
}

}  // namespace ron::cli
