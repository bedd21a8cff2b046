// Tree: the log's Merkle tree on disk. A level of it is a flat file of 32-byte hashes, `<dir>/0`,
// `<dir>/1` and so on, that only grows: hash n stands at 32 n. What was appended since the last
// flush is in memory only.
//
// Threads: one task appends and flushes; any executor may read meanwhile, and ask for sizes.
// Nothing is locked while a file is waited for.
// Memory: 32 bytes, and a 255th of that, for each leaf that is not flushed; a flush takes 1 MiB
// more while it runs. How many leaves that are is up to the owner, who decides when to flush.
// Errors: those of the disk; IntegrityFail where a file is shorter than the tree's size says.
// Hashes are not checked here: whoever verifies a proof or a root notices a damaged one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "chain/tile_path.h"
#include "chain/tlog_tree.h"
#include "platform/disk.h"
#include "platform/task.h"
#include "runtime/lock.h"

namespace ron::chain {

class Tree final : public TreeReader {
 public:
  // `disk` and `lock_decl` outlive the tree. The parent of `directory` is there.
  Tree(platform::Disk* disk, std::string directory, const runtime::LockDecl& lock_decl);

  // Takes the tree as of `size` leaves, which were flushed once: what the files hold beyond that is
  // cut off, and a file that holds less is IntegrityFail. Once, before everything else.
  // Cancel-safe: the tree is useless then, and the files are as good as before.
  platform::Task<base::Result<void>> open(std::uint64_t size);

  // In memory only; never waits.
  void append(std::span<const TreeHash> leaves);

  // Everything appended so far is on the medium when this returns, and so are the files' names. If
  // it fails, all of it stays in memory and the next flush writes it again. One at a time.
  // Cancel-safe in the same sense.
  platform::Task<base::Result<void>> flush();

  [[nodiscard]] std::uint64_t size() const;     // leaves appended
  [[nodiscard]] std::uint64_t flushed() const;  // leaves that survive a power cut
  [[nodiscard]] TreeFrontier frontier() const;  // of size() leaves at one moment

  // Whatever was appended, flushed or not; NotFound beyond that. Cancel-safe.
  platform::Task<base::Result<std::vector<TreeHash>>> read(unsigned level, std::uint64_t first,
                                                           std::size_t count) override;
  // The hashes of a tile, which must be one of hashes. NotFound if the tree has not as many there.
  // Cancel-safe.
  platform::Task<base::Result<std::vector<TreeHash>>> read_tile(Tile tile);

 private:
  struct Level {
    std::shared_ptr<platform::File> file;  // null: nothing was ever flushed
    std::uint64_t flushed = 0;             // hashes in the file
    std::vector<TreeHash> pending;         // those behind them
  };
  // The part of a read that is in a file, and what memory had of it.
  struct Found {
    std::shared_ptr<platform::File> file;
    std::size_t in_file = 0;
    std::vector<TreeHash> in_memory;
  };

  [[nodiscard]] std::string path_of(unsigned level) const;
  platform::Task<base::Result<void>> open_level(unsigned level, std::uint64_t count);
  platform::Task<base::Result<void>> flush_level(unsigned level, std::uint64_t count);
  platform::Task<base::Result<std::shared_ptr<platform::File>>> file_of(unsigned level);
  [[nodiscard]] base::Buffer copy_pending(unsigned level, std::uint64_t first,
                                          std::uint64_t end) const;
  [[nodiscard]] base::Result<Found> find(unsigned level, std::uint64_t first,
                                         std::size_t count) const;
  void forget_pending(std::uint64_t size);

  platform::Disk* const disk_;
  const std::string directory_;
  bool names_synced_ = false;  // the flushing task's own

  mutable runtime::Lock lock_;
  TreeFrontier frontier_;                  // guarded by lock_
  std::uint64_t flushed_ = 0;              // guarded by lock_
  std::array<Level, kTileLevels> levels_;  // guarded by lock_
};

}  // namespace ron::chain
