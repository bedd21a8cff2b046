#include "volume/files.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/units.h"
#include "platform/disk_error.h"

namespace ron::volume {

using base::Result;
using platform::Task;

namespace {

constexpr std::uint64_t kRewriteBytes = 8 * base::kMiB;

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Task<Result<void>> replace_file(platform::Disk* disk, std::string directory, std::string name,
                                base::Buffer bytes) {
  const std::string path = directory + "/" + name;
  auto file = co_await disk->open(path + ".new", {platform::OpenMode::CreateOrOpen, false});
  if (!file) co_return base::fail(std::move(file.error()));
  auto emptied = co_await (*file)->truncate(0);
  if (!emptied) co_return emptied;
  auto written = co_await (*file)->write_at(0, std::move(bytes));
  if (!written) co_return base::fail(std::move(written.error()));
  auto synced = co_await (*file)->sync();
  if (!synced) co_return synced;
  auto renamed = co_await disk->rename(path + ".new", path);
  if (!renamed) co_return renamed;
  auto named = co_await disk->sync_directory(directory);
  co_return named;
}

Task<Result<void>> make_directories(platform::Disk* disk, std::string directory,
                                    std::string folder) {
  auto made = co_await disk->make_directory(directory);
  if (!made) co_return made;
  // The parent may be somebody else's, which is no reason not to start.
  static_cast<void>(co_await disk->sync_directory(parent_of(directory)));
  const std::string inner = directory + "/" + folder;
  made = co_await disk->make_directory(inner);
  if (!made) co_return made;
  made = co_await disk->sync_directory(directory);
  if (!made) co_return made;
  // Names a process that died has left unsynced count from now on.
  made = co_await disk->sync_directory(inner);
  co_return made;
}

Task<Result<base::Buffer>> read_bytes(std::shared_ptr<platform::File> file, std::uint64_t offset,
                                      std::size_t bytes) {
  base::Buffer buffer(bytes);
  const std::optional<std::size_t> there = file->try_read_at(offset, buffer.span());
  if (there) {
    buffer.resize(*there);
    co_return buffer;
  }
  auto read = co_await file->read_at(offset, std::move(buffer));
  co_return read;
}

Task<Result<void>> rewrite_bytes(platform::File* file, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t step = kRewriteBytes;
  for (std::uint64_t at = begin; at < end;) {
    const auto bytes = static_cast<std::size_t>(std::min(end - at, step));
    auto read = co_await file->read_at(at, base::Buffer(bytes));
    if (!read && platform::is_medium_error(read.error())) {
      if (step == base::Buffer::kPageBytes) at += bytes;
      step = base::Buffer::kPageBytes;
      continue;
    }
    if (!read) co_return base::fail(std::move(read.error()));
    if (read->size() != bytes) co_return base::fail(base::Code::StorageBusy, "a segment shrinks");
    auto written = co_await file->write_at(at, std::move(*read));
    if (!written) co_return base::fail(std::move(written.error()));
    at += bytes;
  }
  co_return Result<void>();
}

// The bytes are copied before it waits: the view need not outlive the call.
Task<Result<void>> replace_file(platform::Disk* disk, std::string directory, std::string name,
                                std::string_view text) {
  base::Buffer bytes(text.size());
  std::ranges::copy(base::as_bytes(text), bytes.span().begin());
  return replace_file(disk, std::move(directory), std::move(name), std::move(bytes));
}

}  // namespace ron::volume
