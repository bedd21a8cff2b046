#include "volume/quarantine_files.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "volume/files.h"
#include "volume/options.h"

namespace ron::volume {
namespace {

using base::Result;
using platform::Task;

constexpr std::string_view kFolder = "quarantine";
constexpr std::size_t kMostFileBytes = 8 * base::kMiB;
static_assert(kQuarantineBytes >= 2 * (kBatchBytes + kMaxPayloadBytes));

// Sorts by segment and offset, so oldest first.
std::string file_name(const std::string& segment, std::uint64_t offset) {
  constexpr std::size_t kDigits = 12;
  std::string digits = std::to_string(offset);
  digits.insert(0, kDigits - std::min(kDigits, digits.size()), '0');
  return segment + "-" + digits;
}

// Removes the oldest files until one more of `bytes` fits.
Task<Result<void>> make_room(platform::Disk* disk, std::string folder, std::uint64_t bytes) {
  auto names = co_await disk->list(folder);
  if (!names) co_return base::fail(std::move(names.error()));
  std::ranges::sort(*names, {}, &platform::DirectoryEntry::name);
  std::vector<std::pair<std::string, std::uint64_t>> files;
  std::uint64_t total = bytes;
  for (const platform::DirectoryEntry& entry : *names) {
    const std::string path = folder + "/" + entry.name;
    auto file = co_await disk->open(path, {platform::OpenMode::ReadExisting, false});
    if (!file) continue;
    auto size = co_await (*file)->size();
    if (!size) continue;
    files.emplace_back(path, *size);
    total += *size;
  }
  std::size_t left = files.size();
  for (const auto& [path, size] : files) {
    if (total <= kQuarantineBytes && left < kQuarantineFiles) break;
    auto removed = co_await disk->remove(path);
    if (!removed) co_return removed;
    total -= size;
    --left;
  }
  co_return Result<void>();
}

}  // namespace

Task<Result<std::uint64_t>> quarantine_bytes(VolumeState* state, SegmentPtr segment,
                                             std::uint64_t begin, std::uint64_t end) {
  return quarantine_bytes(&state->host().disk, state->options().directory,
                          segment_name(segment->number), segment->file, begin, end);
}

Task<Result<std::uint64_t>> quarantine_bytes(platform::Disk* disk, std::string directory,
                                             std::string segment,
                                             std::shared_ptr<platform::File> file,
                                             std::uint64_t begin, std::uint64_t end) {
  const std::string folder = directory + "/" + std::string(kFolder);
  std::uint64_t kept = 0;
  for (std::uint64_t at = begin; at < end;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(end - at, kMostFileBytes));
    auto bytes = co_await read_bytes(file, at, wanted);
    if (!bytes) co_return base::fail(std::move(bytes.error()));
    if (bytes->size() == 0) break;
    const std::uint64_t here = std::exchange(at, at + bytes->size());
    const auto zero = [](std::byte byte) { return byte == std::byte{}; };
    if (std::ranges::all_of(bytes->view(), zero)) continue;
    auto made = co_await disk->make_directory(folder);
    if (made) made = co_await disk->sync_directory(directory);
    if (made) made = co_await make_room(disk, folder, bytes->size());
    if (!made) co_return base::fail(std::move(made.error()));
    kept += bytes->size();
    auto written = co_await replace_file(disk, folder, file_name(segment, here), std::move(*bytes));
    if (!written) co_return base::fail(std::move(written.error()));
  }
  co_return kept;
}

}  // namespace ron::volume
