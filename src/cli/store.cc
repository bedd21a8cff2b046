#include "cli/store.h"

#include <span>
#include <utility>

#include "b3/hash.h"
#include "base/encoding.h"
#include "base/limits.h"
#include "cli/upload.h"

namespace ron::cli {
namespace {

using base::fail;
using base::Result;
using base::limits::kPartBytes;
using platform::Task;

Task<Result<void>> check_same(Session* session, std::string path,
                              platform::posix::FileStamp stamp) {
  const auto now = co_await session->off_loop([path] { return platform::posix::file_facts(path); });
  if (now && now->stamp == stamp) co_return Result<void>();
  co_return fail(file_changed());
}

Task<Result<void>> always_same() { co_return Result<void>(); }

}  // namespace

Task<Result<base::ObjectId>> Storer::store_bytes(base::ObjectId id, base::Buffer bytes) {
  const auto put = co_await session_.objects().put(id, bytes.view());
  if (!put) co_return fail(put.error());
  session_.progress().add_bytes(bytes.size());
  co_return id;
}

Task<Result<base::ObjectId>> Storer::store_large(std::string path,
                                                 platform::posix::FileStamp stamp) {
  if (states_) session_.resumes();
  const auto turn = co_await large_.acquire({});
  auto file = co_await session_.host().disk.open(path, {});
  if (!file) co_return fail(std::move(file.error()));
  const auto absolute =
      co_await session_.off_loop([path] { return platform::posix::real_path(path); });
  if (!absolute) co_return fail(absolute.error());
  const Upload what{
      .file = file->get(),
      .length = stamp.bytes,
      .states = states_ ? &*states_ : nullptr,
      .key = {session_.options().server.text(), *absolute, stamp.bytes, stamp.modified_ns}};
  co_return co_await upload(&session_, what,
                            [this, path, stamp] { return check_same(&session_, path, stamp); });
}

Task<Result<base::ObjectId>> Storer::store_private(platform::File* file, std::uint64_t length) {
  const auto turn = co_await large_.acquire({});
  co_return co_await upload(&session_, {.file = file, .length = length, .key = {}}, always_same);
}

Task<Result<base::ObjectId>> Storer::store_stream(std::string path) {
  const auto turn = co_await streams_.acquire({});
  InputStream input(session_, std::move(path));
  const Result<void> opened = co_await input.open();
  if (!opened) co_return fail(opened.error());
  co_return co_await store_input(&input);
}

// An upload has to say its length first, so more than one part waits in a file without a name.
Task<Result<base::ObjectId>> Storer::store_input(InputStream* input) {
  auto bytes = co_await input->read(base::Buffer(kPartBytes));
  if (!bytes) co_return fail(std::move(bytes.error()));
  if (bytes->size() < kPartBytes) {
    const base::ObjectId id = b3::hash(bytes->view());
    co_return co_await store_bytes(id, std::move(*bytes));
  }
  auto spool = co_await open_spool();
  if (!spool) co_return fail(std::move(spool.error()));
  std::uint64_t length = 0;
  const base::ObjectId first = b3::hash(bytes->view());
  while (bytes->size() > 0) {
    const std::uint64_t more = bytes->size();
    auto written = co_await (*spool)->write_at(length, std::move(*bytes));
    if (!written) co_return fail(std::move(written.error()));
    length += more;
    bytes = co_await input->read(base::Buffer(kPartBytes));
    if (!bytes) co_return fail(std::move(bytes.error()));
    if (bytes->size() == 0 && length == kPartBytes) {
      co_return co_await store_bytes(first, std::move(*written));
    }
  }
  session_.progress().expect_bytes(length);
  co_return co_await store_private(spool->get(), length);
}

Task<Result<std::unique_ptr<platform::File>>> Storer::open_spool() {
  const std::uint64_t number = session_.host().random.next();
  const std::string path =
      spool_ + "/.ron-spool-" + base::to_hex(std::as_bytes(std::span(&number, 1)));
  platform::Disk& disk = session_.host().disk;
  auto file = co_await disk.open(path, {.mode = platform::OpenMode::CreateNew});
  if (!file) co_return fail(std::move(file.error()));
  const Result<void> removed = co_await disk.remove(path);
  if (!removed) co_return fail(removed.error());
  co_return std::move(*file);
}

}  // namespace ron::cli
