// PosixDisk: files of the kernel. Reads, writes and syncs go through one io_uring per loop, names
// through the blocking pool. Where io_uring is not permitted (containers often forbid it) the pool
// does everything; callers see no difference.
//
// Any loop of the host may use it. It must outlive every task that does, and be destroyed after the
// loops have stopped and before they are destroyed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "platform/blocking.h"
#include "platform/disk.h"
#include "platform/posix/loop.h"
#include "platform/posix/uring.h"

namespace ron::platform::posix {

enum class DiskEngine : std::uint8_t { Uring, Pool };
[[nodiscard]] std::string_view name(DiskEngine engine) noexcept;

class PosixDisk final : public Disk {
 public:
  explicit PosixDisk(BlockingPool& pool, DiskEngine wanted = DiskEngine::Uring);
  ~PosixDisk() override;

  // What is in use: the one wanted, or Pool when the kernel refuses io_uring.
  [[nodiscard]] DiskEngine engine() const noexcept { return engine_; }

  Task<base::Result<std::unique_ptr<File>>> open(std::string path, OpenOptions options) override;
  Task<base::Result<void>> make_directory(std::string path) override;
  Task<base::Result<std::vector<DirectoryEntry>>> list(std::string path) override;
  Task<base::Result<FileVersion>> version(std::string path) override;
  Task<base::Result<void>> rename(std::string from, std::string to) override;
  Task<base::Result<void>> link(std::string from, std::string to) override;
  Task<base::Result<void>> remove(std::string path) override;
  Task<base::Result<void>> sync_directory(std::string path) override;
  Task<base::Result<std::uint64_t>> free_bytes(std::string path) override;

 private:
  friend class PosixFile;
  struct LoopRing {
    Loop* loop;
    std::unique_ptr<Ring> ring;  // null: this loop was refused one and uses the pool
  };

  Ring* current_ring();
  Task<FileDone> perform(std::unique_ptr<FileOp> op);

  BlockingPool& pool_;
  DiskEngine engine_;
  std::uint64_t number_;  // tells this disk's rings from those of another in a thread's cache
  std::mutex mutex_;
  std::vector<LoopRing> rings_;  // guarded by mutex_
};

}  // namespace ron::platform::posix
