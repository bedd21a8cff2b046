#include "chain/tree_files.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/units.h"

namespace ron::chain {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

constexpr std::uint64_t kHashBytes = sizeof(TreeHash);
// What is written at once.
constexpr std::uint64_t kFlushHashes = 1 * base::kMiB / kHashBytes;

std::string parent_of(const std::string& directory) {
  const std::size_t slash = directory.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : directory.substr(0, slash);
}

// The bytes from `offset` on, from memory if they are there. Cancel-safe.
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

}  // namespace

Tree::Tree(platform::Disk* disk, std::string directory, const runtime::LockDecl& lock_decl)
    : disk_(disk), directory_(std::move(directory)), lock_(lock_decl) {}

std::string Tree::path_of(unsigned level) const { return directory_ + "/" + std::to_string(level); }

Task<Result<void>> Tree::open(std::uint64_t size) {
  auto made = co_await disk_->make_directory(directory_);
  if (!made) co_return made;
  auto named = co_await disk_->sync_directory(parent_of(directory_));
  if (!named) co_return named;
  for (unsigned level = 0; level < kTileLevels; ++level) {
    auto opened = co_await open_level(level, hashes_at(level, size));
    if (!opened) co_return opened;
  }
  auto frontier = co_await tree_frontier(this, size);
  if (!frontier) co_return fail(std::move(frontier.error()));
  const std::lock_guard lock(lock_);
  frontier_ = std::move(*frontier);
  flushed_ = size;
  co_return Result<void>();
}

// Leaves the file with `count` hashes. A file that is not there has none.
Task<Result<void>> Tree::open_level(unsigned level, std::uint64_t count) {
  std::uint64_t bytes = 0;
  auto file = co_await disk_->open(path_of(level), {platform::OpenMode::WriteExisting, false});
  if (!file && file.error().code != Code::NotFound) co_return fail(std::move(file.error()));
  if (file) {
    auto length = co_await (*file)->size();
    if (!length) co_return fail(std::move(length.error()));
    bytes = *length;
  }
  if (bytes / kHashBytes < count) {
    co_return fail(Code::IntegrityFail,
                   path_of(level) + " holds " + std::to_string(bytes / kHashBytes) +
                       " hashes of the tree, and there were " + std::to_string(count));
  }
  if (bytes > count * kHashBytes) {
    auto cut = co_await (*file)->truncate(count * kHashBytes);
    if (!cut) co_return cut;
  }
  const std::lock_guard lock(lock_);
  if (file) levels_[level].file = std::move(*file);
  levels_[level].flushed = count;
  co_return Result<void>();
}

void Tree::append(std::span<const TreeHash> leaves) {
  // Hashed outside of the lock: nobody else changes the frontier.
  TreeFrontier grown = frontier();
  std::array<std::vector<TreeHash>, kTileLevels> complete;
  complete[0].reserve(leaves.size());
  for (const TreeHash& leaf : leaves) {
    grown.append(leaf, [&complete](unsigned level, const TreeHash& hash) {
      if (level < kTileLevels) complete[level].push_back(hash);
    });
  }
  const std::lock_guard lock(lock_);
  for (unsigned level = 0; level < kTileLevels; ++level) {
    std::vector<TreeHash>& pending = levels_[level].pending;
    pending.insert(pending.end(), complete[level].begin(), complete[level].end());
  }
  frontier_ = std::move(grown);
}

Task<Result<void>> Tree::flush() {
  const std::uint64_t size = this->size();
  for (unsigned level = 0; level < kTileLevels; ++level) {
    auto written = co_await flush_level(level, hashes_at(level, size));
    if (!written) co_return written;
  }
  if (!names_synced_) {
    auto named = co_await disk_->sync_directory(directory_);
    if (!named) co_return named;
    names_synced_ = true;
  }
  forget_pending(size);
  co_return Result<void>();
}

// The file holds the level's first `count` hashes, durably.
Task<Result<void>> Tree::flush_level(unsigned level, std::uint64_t count) {
  std::uint64_t at = hashes_at(level, flushed());
  if (at == count) co_return Result<void>();
  auto file = co_await file_of(level);
  if (!file) co_return fail(std::move(file.error()));
  while (at < count) {
    const std::uint64_t end = std::min(count, at + kFlushHashes);
    auto written = co_await (*file)->write_at(at * kHashBytes, copy_pending(level, at, end));
    if (!written) co_return fail(std::move(written.error()));
    at = end;
  }
  auto synced = co_await (*file)->sync();
  co_return synced;
}

Task<Result<std::shared_ptr<platform::File>>> Tree::file_of(unsigned level) {
  {
    const std::lock_guard lock(lock_);
    if (levels_[level].file) co_return levels_[level].file;
  }
  names_synced_ = false;
  auto opened = co_await disk_->open(path_of(level), {platform::OpenMode::CreateOrOpen, false});
  if (!opened) co_return fail(std::move(opened.error()));
  std::shared_ptr<platform::File> file = std::move(*opened);
  const std::lock_guard lock(lock_);
  levels_[level].file = file;
  co_return file;
}

base::Buffer Tree::copy_pending(unsigned level, std::uint64_t first, std::uint64_t end) const {
  base::Buffer bytes(static_cast<std::size_t>((end - first) * kHashBytes));
  const std::lock_guard lock(lock_);
  const Level& from = levels_[level];
  std::memcpy(bytes.data(), from.pending.data() + (first - from.flushed), bytes.size());
  return bytes;
}

void Tree::forget_pending(std::uint64_t size) {
  const std::lock_guard lock(lock_);
  for (unsigned level = 0; level < kTileLevels; ++level) {
    Level& at = levels_[level];
    const std::uint64_t count = hashes_at(level, size);
    // What is kept is copied, so that memory which a long pause between flushes took is given back.
    at.pending = {at.pending.begin() + static_cast<std::ptrdiff_t>(count - at.flushed),
                  at.pending.end()};
    at.flushed = count;
  }
  flushed_ = size;
}

std::uint64_t Tree::size() const {
  const std::lock_guard lock(lock_);
  return frontier_.size();
}

std::uint64_t Tree::flushed() const {
  const std::lock_guard lock(lock_);
  return flushed_;
}

TreeFrontier Tree::frontier() const {
  const std::lock_guard lock(lock_);
  return frontier_;
}

Result<Tree::Found> Tree::find(unsigned level, std::uint64_t first, std::size_t count) const {
  if (level >= kTileLevels) return fail(Code::NotFound, "the tree has no such level");
  const std::lock_guard lock(lock_);
  const Level& from = levels_[level];
  const std::uint64_t there = from.flushed + from.pending.size();
  if (first > there || count > there - first) {
    return fail(Code::NotFound, "the tree does not reach as far");
  }
  Found found{from.file, 0, {}};
  if (first < from.flushed) {
    found.in_file = static_cast<std::size_t>(std::min<std::uint64_t>(count, from.flushed - first));
  }
  const std::size_t left = count - found.in_file;
  if (left != 0) {
    const TreeHash* const begin = from.pending.data() + (first + found.in_file - from.flushed);
    found.in_memory.assign(begin, begin + left);
  }
  return found;
}

Task<Result<std::vector<TreeHash>>> Tree::read(unsigned level, std::uint64_t first,
                                               std::size_t count) {
  auto found = find(level, first, count);
  if (!found) co_return fail(std::move(found.error()));
  if (found->in_file == 0) co_return std::move(found->in_memory);
  const std::size_t bytes = found->in_file * kHashBytes;
  auto read = co_await read_bytes(found->file, first * kHashBytes, bytes);
  if (!read) co_return fail(std::move(read.error()));
  if (read->size() != bytes) {
    co_return fail(Code::IntegrityFail, path_of(level) + " is shorter than the tree");
  }
  std::vector<TreeHash> hashes(count);
  std::memcpy(hashes.data(), read->data(), bytes);
  std::ranges::copy(found->in_memory, hashes.begin() + static_cast<std::ptrdiff_t>(found->in_file));
  co_return hashes;
}

Task<Result<std::vector<TreeHash>>> Tree::read_tile(Tile tile) {
  if (!tile.level) co_return fail(Code::NotFound, "the tree holds no entries");
  auto hashes = co_await read(*tile.level, tile.first(), static_cast<std::size_t>(tile.width));
  co_return hashes;
}

}  // namespace ron::chain
