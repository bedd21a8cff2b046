#include "volume/claim.h"

#include <cstring>
#include <utility>

namespace ron::volume {
namespace {

using base::Code;
using base::Result;
using platform::FileLock;
using platform::OpenMode;
using platform::Task;
using FilePtr = std::shared_ptr<platform::File>;

constexpr std::string_view kUnnamed = ".new";

Result<void> lock(platform::File& file, FileLock how, std::string in_use) {
  const Result<bool> locked = file.try_lock(how);
  if (!locked) return base::fail(locked.error());
  if (!*locked) return base::fail(Code::PreconditionFailed, std::move(in_use));
  return {};
}

}  // namespace

Task<Result<Claim>> claim_file(platform::Disk* disk, std::string path, std::string in_use) {
  Claim claim;
  auto file = co_await disk->open(path, {OpenMode::ReadExisting, false});
  if (!file && file.error().code != Code::NotFound) co_return base::fail(std::move(file.error()));
  if (!file) {
    auto unnamed =
        co_await disk->open(path + std::string(kUnnamed), {OpenMode::CreateOrOpen, false});
    if (!unnamed) co_return base::fail(std::move(unnamed.error()));
    const Result<void> locked = lock(**unnamed, FileLock::Exclusive, in_use);
    if (!locked) co_return base::fail(locked.error());
    claim = {std::move(*unnamed), true};
    // Whoever was making it at the same time is done by now, or is refused.
    file = co_await disk->open(path, {OpenMode::ReadExisting, false});
  }
  if (!file && file.error().code != Code::NotFound) co_return base::fail(std::move(file.error()));
  if (!file) co_return claim;
  const Result<void> locked = lock(**file, FileLock::Exclusive, std::move(in_use));
  if (!locked) co_return base::fail(locked.error());
  co_return Claim{std::move(*file), false};
}

Task<Result<FilePtr>> claim_shared(platform::Disk* disk, std::string path, std::string in_use) {
  auto file = co_await disk->open(std::move(path), {OpenMode::ReadExisting, false});
  if (!file) co_return base::fail(std::move(file.error()));
  const Result<void> locked = lock(**file, FileLock::Shared, std::move(in_use));
  if (!locked) co_return base::fail(locked.error());
  co_return FilePtr(std::move(*file));
}

Task<Result<void>> name_claim(platform::Disk* disk, std::string directory, std::string name,
                              FilePtr file, std::string text) {
  const std::string path = directory + "/" + name;
  base::Buffer bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  auto emptied = co_await file->truncate(0);
  if (!emptied) co_return emptied;
  auto written = co_await file->write_at(0, std::move(bytes));
  if (!written) co_return base::fail(std::move(written.error()));
  auto synced = co_await file->sync();
  if (!synced) co_return synced;
  auto renamed = co_await disk->rename(path + std::string(kUnnamed), path);
  if (!renamed) co_return renamed;
  auto named = co_await disk->sync_directory(directory);
  co_return named;
}

}  // namespace ron::volume
