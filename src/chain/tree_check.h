// The files of a log's tree (tree_files.h) against its entries and its signed checkpoints, read
// without changing them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "chain/log_check.h"
#include "chain/tlog_tree.h"
#include "platform/disk.h"
#include "platform/task.h"

namespace ron::chain {

// What the entries make the leaves, in little memory: one hash for 256 of them. Where fewer of the
// 256 are there, at both ends and beside lost ones, each is kept, of kMaxOpenTiles such places.
class EntryLeaves {
 public:
  static constexpr std::size_t kMaxOpenTiles = 64;

  // In ascending order; some may be missing.
  void add(std::uint64_t version, const TreeHash& leaf);
  void finish() { close(); }

  // The root of the 256 leaves of this tile, if all of them were there.
  [[nodiscard]] std::optional<TreeHash> whole(std::uint64_t tile) const;
  // The leaf, if it was in a tile of which some were missing.
  [[nodiscard]] std::optional<TreeHash> single(std::uint64_t version) const;

 private:
  void close();

  std::uint64_t tile_ = 0;  // of open_
  std::vector<std::pair<std::uint64_t, TreeHash>> open_;
  std::map<std::uint64_t, TreeHash> singles_;
  std::size_t open_tiles_ = 0;
  std::uint64_t first_tile_ = 0;
  std::vector<std::optional<TreeHash>> whole_;  // from first_tile_ on
};

// The files for reading. One executor.
class TreeFilesReader final : public TreeReader {
 public:
  // Files that are not there hold nothing. Cancel-safe.
  static platform::Task<base::Result<std::unique_ptr<TreeFilesReader>>> open(platform::Disk* disk,
                                                                             std::string directory);

  // IntegrityFail beyond the end of a file. Cancel-safe.
  platform::Task<base::Result<std::vector<TreeHash>>> read(unsigned level, std::uint64_t first,
                                                           std::size_t count) override;
  // Hashes in the file of this level.
  [[nodiscard]] std::uint64_t count(unsigned level) const { return levels_.at(level).count; }

 private:
  struct Level {
    std::shared_ptr<platform::File> file;
    std::uint64_t count = 0;
  };
  explicit TreeFilesReader(std::string directory) : directory_(std::move(directory)) {}

  const std::string directory_;
  std::array<Level, kTileLevels> levels_;
};

// Leaves of the files that are not the entries': of one tile, as the files have them.
struct OtherTile {
  std::uint64_t tile = 0;
  std::vector<TreeHash> leaves;
};

// Reads the first `size` leaves and what stands above them; what the files hold behind that is cut
// off by every start and does not count. Reports to `check` levels that contradict each other and
// checkpoints whose root another tree has; the tiles of complete ones that the entries contradict
// are returned, at most EntryLeaves::kMaxOpenTiles, so that their versions can be found. Errors are
// the disk's. Cancel-safe.
platform::Task<base::Result<std::vector<OtherTile>>> check_tree_files(TreeFilesReader* files,
                                                                      std::uint64_t size,
                                                                      const EntryLeaves* leaves,
                                                                      LogCheck* check);

}  // namespace ron::chain
