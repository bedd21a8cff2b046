// MemoryDisk: a Disk that keeps everything in memory, for services that keep files and must not
// leave a byte behind (amnesia). What one handle writes every other one sees; a file lives as long
// as a name or an open handle of it does. sync and sync_directory have nothing to do. A direct file
// is like any other, as on file systems that have no direct I/O.
//
// Any thread. Nothing waits for anything but a copy of bytes under a lock; a caller that reads or
// writes much without ever waiting yields when its core's turn is over. Outlives its files.
//
// Bounded: the pages of all files, holes included, and a charge for each file, directory and name
// stay below the capacity. Beyond it a call fails with StorageFull and has changed nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "platform/disk.h"
#include "platform/file_tree.h"

namespace ron::platform {

class MemoryDisk final : public Disk {
 public:
  static constexpr std::size_t kPageBytes = base::Buffer::kPageBytes;
  // What a name costs, and the file or directory behind it: no less than the memory they take.
  static constexpr std::uint64_t kNameCharge = 512;
  static constexpr std::size_t kLongestName = 255;

  explicit MemoryDisk(std::uint64_t capacity_bytes);
  ~MemoryDisk() override;

  Task<base::Result<std::unique_ptr<File>>> open(std::string path, OpenOptions options) override;
  Task<base::Result<void>> make_directory(std::string path) override;
  Task<base::Result<std::vector<DirectoryEntry>>> list(std::string path) override;
  Task<base::Result<FileVersion>> version(std::string path) override;
  Task<base::Result<void>> rename(std::string from, std::string to) override;
  Task<base::Result<void>> link(std::string from, std::string to) override;
  Task<base::Result<void>> remove(std::string path) override;
  Task<base::Result<void>> sync_directory(std::string path) override;
  Task<base::Result<std::uint64_t>> free_bytes(std::string path) override;

  [[nodiscard]] std::uint64_t used_bytes() const noexcept { return quota_.used(); }

 private:
  friend class MemoryFile;

  class Quota {
   public:
    explicit Quota(std::uint64_t capacity) noexcept : capacity_(capacity) {}
    // False, and nothing taken, when there is not that much left.
    [[nodiscard]] bool take(std::uint64_t bytes) noexcept;
    void give_back(std::uint64_t bytes) noexcept { used_.fetch_sub(bytes); }
    [[nodiscard]] std::uint64_t used() const noexcept { return used_.load(); }
    [[nodiscard]] std::uint64_t left() const noexcept { return capacity_ - used(); }

   private:
    const std::uint64_t capacity_;
    std::atomic<std::uint64_t> used_ = 0;
  };
  struct Inode;
  using InodePtr = std::shared_ptr<Inode>;
  using Place = FilePlace<Inode>;

  // Each changes the tree, under its lock, or says why not: an errno.
  int open_inode(std::string_view path, OpenMode mode, InodePtr& out);
  int add_directory(std::string_view path);
  int list_names(std::string_view path, std::vector<DirectoryEntry>& out) const;
  int look_at(std::string_view path, FileVersion& out) const;
  int move(std::string_view from, std::string_view to);
  int add_link(std::string_view from, std::string_view to);
  int unlink(std::string_view path);
  int check_directory(std::string_view path) const;

  int create(const Place& place, bool is_directory, InodePtr& out);
  static int check_name(const Place& place);
  int add_name(const Place& place, const InodePtr& inode);
  void drop_name(const Place& place);

  Quota quota_;
  mutable std::mutex names_mutex_;  // taken before the lock of an inode
  std::uint64_t last_inode_ = 0;    // guarded by names_mutex_
  InodePtr root_;                   // it and all names below it: guarded by names_mutex_
};

}  // namespace ron::platform
