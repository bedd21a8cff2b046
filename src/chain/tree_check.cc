#include "chain/tree_check.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "volume/files.h"

namespace ron::chain {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

constexpr std::uint64_t kHashBytes = sizeof(TreeHash);
constexpr std::uint64_t kReadLeaves = 32 * kTileWidth;  // at a time

std::string file_name(unsigned level) { return "tree/" + std::to_string(level); }

std::string versions_name(std::uint64_t first, std::uint64_t last) {
  if (first == last) return version_name(first);
  return "versions " + std::to_string(first) + " to " + std::to_string(last);
}

std::string leaf_of(std::uint64_t version) {
  return "the hash of " + version_name(version) + " is not its entry's";
}

TreeHash root_of(std::span<const TreeHash> leaves) {
  TreeFrontier tree;
  for (const TreeHash& leaf : leaves) tree.append(leaf);
  return tree.root();
}

// A walk over the leaves, with what they complete above them.
class TreeWalk {
 public:
  TreeWalk(TreeFilesReader* files, std::uint64_t size, const EntryLeaves* leaves, LogCheck* check)
      : files_(files), size_(size), leaves_(leaves), check_(check) {}

  Task<Result<void>> run();
  std::vector<OtherTile> others;

 private:
  bool check_lengths();
  void take(std::span<const TreeHash> leaves);
  void compare_tile(std::uint64_t first, std::span<const TreeHash> leaves);
  void add_other(OtherTile other);
  void compare_root();
  void finish();
  Task<Result<void>> compare_levels();

  TreeFilesReader* const files_;
  const std::uint64_t size_;
  const EntryLeaves* const leaves_;
  LogCheck* const check_;
  TreeFrontier tree_;
  // Completed by the leaves of one read, from level 1 on, and where each level goes on.
  std::array<std::vector<TreeHash>, kTileLevels> completed_;
  std::array<std::uint64_t, kTileLevels> next_{};
  std::size_t next_checkpoint_ = 0;
  OtherTile last_;  // where the tree ends before the entries do
  bool differs_ = false;
  bool named_ = false;  // what differs was told, or is one of `others`
  bool root_told_ = false;
};

// Whether there is something to walk over.
bool TreeWalk::check_lengths() {
  bool whole = true;
  for (unsigned level = 0; level < kTileLevels; ++level) {
    const std::uint64_t needed = hashes_at(level, size_);
    if (files_->count(level) >= needed) continue;
    check_->report(file_name(level), "it holds " + std::to_string(files_->count(level)) +
                                         " hashes, and the signed checkpoints speak of " +
                                         std::to_string(needed));
    whole = false;
  }
  return whole;
}

Task<Result<void>> TreeWalk::run() {
  if (!check_lengths()) co_return Result<void>();
  for (std::uint64_t first = 0; first < size_;) {
    const std::uint64_t count = std::min(kReadLeaves, size_ - first);
    const auto leaves = co_await files_->read(0, first, static_cast<std::size_t>(count));
    if (!leaves) co_return fail(leaves.error());
    for (std::uint64_t at = 0; at < count; at += kTileWidth) {
      const std::uint64_t width = std::min(kTileWidth, count - at);
      compare_tile(first + at, std::span(*leaves).subspan(static_cast<std::size_t>(at),
                                                          static_cast<std::size_t>(width)));
    }
    take(*leaves);
    const auto compared = co_await compare_levels();
    if (!compared) co_return compared;
    first += count;
  }
  finish();
  co_return Result<void>();
}

void TreeWalk::take(std::span<const TreeHash> leaves) {
  for (const TreeHash& leaf : leaves) {
    tree_.append(leaf, [this](unsigned level, const TreeHash& hash) {
      if (level > 0 && level < kTileLevels) completed_[level].push_back(hash);
    });
    compare_root();
  }
}

// With the entries: as a whole if all of them are there, else one by one. Where the tree ends
// within a tile of which the entries are all there, its root says whether these are the same.
void TreeWalk::compare_tile(std::uint64_t first, std::span<const TreeHash> leaves) {
  const std::uint64_t tile = first / kTileWidth;
  const auto whole = leaves_->whole(tile);
  if (whole && leaves.size() < kTileWidth) {
    last_ = {tile, {leaves.begin(), leaves.end()}};
  } else if (whole && root_of(leaves) != *whole) {
    add_other({tile, {leaves.begin(), leaves.end()}});
  }
  if (whole) return;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto single = leaves_->single(first + i);
    if (!single || *single == leaves[i]) continue;
    named_ = true;
    check_->report(file_name(0), leaf_of(first + i));
  }
}

void TreeWalk::add_other(OtherTile other) {
  named_ = true;
  if (others.size() < EntryLeaves::kMaxOpenTiles) return others.push_back(std::move(other));
  const std::uint64_t first = other.tile * kTileWidth;
  check_->report(file_name(0), "hashes of " +
                                   versions_name(first, first + other.leaves.size() - 1) +
                                   " are not their entries'");
}

// Of each checkpoint with as many leaves. If the entries have confirmed it, it is the files that
// are wrong, and it will be told where; of other checkpoints the first is told.
void TreeWalk::compare_root() {
  auto& checkpoints = check_->checkpoints();
  while (next_checkpoint_ < checkpoints.size() &&
         checkpoints[next_checkpoint_].checkpoint.size() <= tree_.size()) {
    NamedCheckpoint& named = checkpoints[next_checkpoint_++];
    const bool same = tree_.root() == named.checkpoint.root;
    if (!same && named.root_confirmed) differs_ = true;
    if (named.root_confirmed) continue;
    named.root_confirmed = same;
    if (same || std::exchange(root_told_, true)) continue;
    check_->report(named.where, "its root is not that of the files of the tree");
  }
}

void TreeWalk::finish() {
  if (!differs_) return;
  if (!last_.leaves.empty()) add_other(std::move(last_));
  if (named_) return;
  check_->report("tree", "its root is not that of the entries, and of the checkpoints");
}

Task<Result<void>> TreeWalk::compare_levels() {
  for (unsigned level = 1; level < kTileLevels; ++level) {
    std::vector<TreeHash> made = std::exchange(completed_[level], {});
    if (made.empty()) continue;
    const std::uint64_t first = std::exchange(next_[level], next_[level] + made.size());
    const auto stored = co_await files_->read(level, first, made.size());
    if (!stored) co_return fail(stored.error());
    for (std::size_t i = 0; i < made.size(); ++i) {
      if ((*stored)[i] == made[i]) continue;
      const std::uint64_t covers = std::uint64_t{1} << (kTileHeight * level);
      check_->report(file_name(level),
                     "hash " + std::to_string(first + i) + " is not that of the leaves of " +
                         versions_name((first + i) * covers, (first + i + 1) * covers - 1));
    }
  }
  co_return Result<void>();
}

}  // namespace

void EntryLeaves::add(std::uint64_t version, const TreeHash& leaf) {
  const std::uint64_t tile = version / kTileWidth;
  if (!open_.empty() && tile != tile_) close();
  tile_ = tile;
  open_.emplace_back(version, leaf);
}

void EntryLeaves::close() {
  if (open_.empty()) return;
  if (whole_.empty()) first_tile_ = tile_;
  whole_.resize(static_cast<std::size_t>(tile_ - first_tile_ + 1));
  if (open_.size() == kTileWidth) {
    std::vector<TreeHash> leaves;
    leaves.reserve(open_.size());
    for (const auto& [version, leaf] : open_) leaves.push_back(leaf);
    whole_.back() = root_of(leaves);
  } else if (open_tiles_ < kMaxOpenTiles) {
    ++open_tiles_;
    singles_.insert(open_.begin(), open_.end());
  }
  open_.clear();
}

std::optional<TreeHash> EntryLeaves::whole(std::uint64_t tile) const {
  if (tile < first_tile_ || tile - first_tile_ >= whole_.size()) return std::nullopt;
  return whole_[static_cast<std::size_t>(tile - first_tile_)];
}

std::optional<TreeHash> EntryLeaves::single(std::uint64_t version) const {
  const auto found = singles_.find(version);
  if (found == singles_.end()) return std::nullopt;
  return found->second;
}

Task<Result<std::unique_ptr<TreeFilesReader>>> TreeFilesReader::open(platform::Disk* disk,
                                                                     std::string directory) {
  std::unique_ptr<TreeFilesReader> reader(new TreeFilesReader(directory));
  for (unsigned level = 0; level < kTileLevels; ++level) {
    auto file = co_await disk->open(directory + "/" + std::to_string(level),
                                    {platform::OpenMode::ReadExisting, false});
    if (!file && file.error().code == Code::NotFound) continue;
    if (!file) co_return fail(std::move(file.error()));
    const auto size = co_await (*file)->size();
    if (!size) co_return fail(size.error());
    reader->levels_.at(level) = {std::move(*file), *size / kHashBytes};
  }
  co_return reader;
}

Task<Result<std::vector<TreeHash>>> TreeFilesReader::read(unsigned level, std::uint64_t first,
                                                          std::size_t count) {
  const Level& from = levels_.at(level);
  if (first > from.count || count > from.count - first) {
    co_return fail(Code::IntegrityFail, file_name(level) + " is shorter than the tree");
  }
  const std::size_t bytes = count * kHashBytes;
  if (bytes == 0) co_return std::vector<TreeHash>();
  const auto read = co_await volume::read_bytes(from.file, first * kHashBytes, bytes);
  if (!read) co_return fail(read.error());
  if (read->size() != bytes) {
    co_return fail(Code::IntegrityFail, file_name(level) + " is shorter than the tree");
  }
  std::vector<TreeHash> hashes(count);
  std::memcpy(hashes.data(), read->data(), bytes);
  co_return hashes;
}

Task<Result<std::vector<OtherTile>>> check_tree_files(TreeFilesReader* files, std::uint64_t size,
                                                      const EntryLeaves* leaves, LogCheck* check) {
  TreeWalk walk(files, size, leaves, check);
  const auto done = co_await walk.run();
  if (!done) co_return fail(done.error());
  co_return std::move(walk.others);
}

}  // namespace ron::chain
