#include "cli/upload.h"

#include <algorithm>
#include <string>
#include <utility>

#include "b3/tree.h"
#include "base/limits.h"
#include "cli/download.h"
#include "cli/in_order.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::limits::kPartBytes;
using platform::Task;

struct Begun {
  std::string id;
  UploadStatus status;
};

bool is_changed(const base::Error& error) { return error.code == file_changed().code; }

Task<void> forget(Session* session, const Upload* what) {
  if (what->states == nullptr) co_return;
  co_await session->off_loop([states = *what->states, key = what->key]() -> Result<bool> {
    states.forget(key);
    return true;
  });
}

// An upload that an earlier put of the same file has left, if the server still knows it.
Task<Result<std::optional<Begun>>> find_earlier(Session* session, const Upload* what) {
  using Found = std::optional<Begun>;
  if (what->states == nullptr) co_return Found();
  auto id = co_await session->off_loop(
      [states = *what->states, key = what->key]() -> Result<std::optional<std::string>> {
        return states.find(key);
      });
  if (!id || !*id) co_return Found();
  auto status = co_await session->objects().upload_status(**id);
  if (!status && status.error().code != Code::NotFound) co_return fail(status.error());
  if (status && status->length == what->length) {
    co_return Found(Begun{std::move(**id), std::move(*status)});
  }
  co_await forget(session, what);
  co_return Found();
}

Task<Result<Begun>> begin(Session* session, const Upload* what) {
  auto earlier = co_await find_earlier(session, what);
  if (!earlier) co_return fail(std::move(earlier.error()));
  if (*earlier) co_return std::move(**earlier);
  auto id = co_await session->objects().begin_upload(what->length);
  if (!id) co_return fail(std::move(id.error()));
  if (what->states != nullptr) {
    const auto kept =
        co_await session->off_loop([states = *what->states, key = what->key, upload = *id] {
          return states.remember(key, upload);
        });
    if (!kept) session->note(what->key.path, "cannot be resumed: " + kept.error().message);
  }
  co_return Begun{std::move(*id), {what->length, {}}};
}

Task<Result<HashedPiece>> send_part(Session* session, const Upload* what, const Begun* begun,
                                    std::uint64_t part, base::Buffer spare) {
  const std::uint64_t offset = part * kPartBytes;
  const std::uint64_t bytes = std::min<std::uint64_t>(kPartBytes, what->length - offset);
  base::Buffer memory = sized(std::move(spare), bytes);
  auto read = co_await what->file->read_at(offset, std::move(memory));
  if (!read) co_return fail(std::move(read.error()));
  if (read->size() != bytes) co_return fail(file_changed());
  auto piece = co_await hash_piece(session, std::move(*read), offset);
  if (!piece) co_return fail(piece.error());
  if (begun->status.has(part)) {
    session->progress().skip_bytes(bytes);
    co_return std::move(piece);
  }
  const Result<void> sent =
      co_await session->objects().put_part(begun->id, part, piece->bytes.view(), piece->value);
  if (!sent) co_return fail(sent.error());
  session->progress().add_bytes(bytes);
  co_return std::move(piece);
}

Task<Result<base::ObjectId>> send_parts(Session* session, const Upload* what, const Begun* begun) {
  auto composer = b3::RootComposer::create(what->length, kPartBytes);
  if (!composer) co_return fail(std::move(composer.error()));
  InOrder<Result<HashedPiece>> window(session->tasks(), session->options().jobs);
  base::Buffer spare;  // of the part that was sent last: each that ends lets one begin
  std::uint64_t started = 0;
  while (composer->appended() < composer->expected()) {
    while (started < composer->expected() && !window.full()) {
      window.start(send_part(session, what, begun, started++, std::exchange(spare, {})));
    }
    auto piece = co_await window.next();
    if (!piece) co_return fail(std::move(piece.error()));
    spare = std::move(piece->bytes);
    const Result<void> appended = composer->append(piece->value);
    if (!appended) co_return fail(appended.error());
  }
  co_return composer->finish();
}

// A commit whose answer was lost has happened all the same: the object tells.
Task<Result<void>> commit(Session* session, const Begun* begun, base::ObjectId root) {
  const auto stored = co_await session->objects().commit_upload(begun->id);
  if (stored && *stored == root) co_return Result<void>();
  if (stored) {
    co_return fail(Code::IntegrityFail, "the server stored other bytes than were sent, " +
                                            stored->text() + " instead of " + root.text());
  }
  if (stored.error().code != Code::NotFound) co_return fail(stored.error());
  const auto there = co_await session->objects().head(root);
  if (!there) co_return fail(stored.error());
  co_return Result<void>();
}

// What no later try can continue.
bool is_over(Code code) noexcept {
  return code == Code::HashMismatch || code == Code::IntegrityFail || code == Code::NotFound;
}

}  // namespace

base::Error file_changed() {
  return {Code::PreconditionFailed, "the file changed while it was read; nothing was stored"};
}

Task<Result<base::ObjectId>> upload(Session* session, Upload what, StillSame still_same) {
  const auto begun = co_await begin(session, &what);
  if (!begun) co_return fail(begun.error());
  auto root = co_await send_parts(session, &what, &*begun);
  Result<void> done;
  if (!root) done = fail(root.error());
  if (done) done = co_await still_same();
  bool over = !done && (is_over(done.error().code) || is_changed(done.error()));
  if (done) {
    done = co_await commit(session, &*begun, *root);
    over = !done && is_over(done.error().code);
  }
  if (done || over) co_await forget(session, &what);
  // It would expire by itself; a failure to drop it changes nothing for the caller.
  if (over) co_await session->objects().drop_upload(begun->id);
  if (!done) co_return fail(done.error());
  co_return *root;
}

}  // namespace ron::cli
