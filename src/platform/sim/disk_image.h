// DiskImage: the contents of a simulated disk, twice: as programs see it and as a power cut would
// leave it. Pure state, no time: SimDisk adds latency and faults.
//
// Bytes are safe after sync, names after sync_directory. Everything newer is a list of changes, and
// a power cut keeps any part of it: single sectors of a write, a size without its bytes, the later
// of two writes without the earlier. Changes of one file's names survive in order, since no file
// system shows a file under a name it had not yet been given.
//
// Errors are errno values, 0 for success.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "platform/disk.h"
#include "platform/file_tree.h"
#include "platform/random.h"

namespace ron::platform::sim {

class DiskImage {
 public:
  struct Inode;
  using InodePtr = std::shared_ptr<Inode>;

  // A write or a change of size that the medium does not have yet.
  struct Change {
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes;
    std::uint64_t size_after = 0;
    bool is_truncate = false;
  };

  struct Inode {
    std::uint64_t id = 0;
    bool is_directory = false;
    std::uint32_t links = 1;  // names it is reached by
    std::uint32_t open = 0;   // handles
    std::map<std::string, InodePtr, std::less<>> names;
    std::map<std::string, InodePtr, std::less<>> durable_names;
    std::vector<std::byte> bytes;
    std::vector<std::byte> durable;
    std::vector<Change> pending;
    std::uint64_t pending_bytes = 0;
    std::uint64_t changes = 0;  // number of the last change
    std::map<const void*, FileLock> locks;
    std::set<std::uint64_t> bad_sectors;
  };

  explicit DiskImage(std::uint64_t capacity_bytes);

  // Handles count: an open file without a name keeps its space until it is closed.
  int open(std::string_view path, OpenMode mode, InodePtr& out);
  void close(Inode& inode) noexcept;

  // `owner` tells handles apart; closing one takes unlock first.
  static bool try_lock(Inode& inode, const void* owner, FileLock lock);
  static void unlock(Inode& inode, const void* owner) noexcept { inode.locks.erase(owner); }

  int make_directory(std::string_view path);
  int list(std::string_view path, std::vector<DirectoryEntry>& out) const;
  int version(std::string_view path, FileVersion& out) const;
  int rename(std::string_view from, std::string_view to);
  int link(std::string_view from, std::string_view to);
  int remove(std::string_view path);
  int sync_directory(std::string_view path);

  std::size_t read(const Inode& inode, std::uint64_t offset, base::MutableBytes into) const;
  int write(Inode& inode, std::uint64_t offset, base::ByteView bytes);
  int truncate(Inode& inode, std::uint64_t length);
  // Puts the changes up to `number` on the medium.
  static void sync(Inode& inode, std::uint64_t number);
  // A failed sync: what was pending stays readable and will never be written.
  static void forget_pending(Inode& inode) noexcept;

  // Decay: the bit has changed, both in memory and on the medium. EINVAL past the end.
  int flip_bit(std::string_view path, std::uint64_t offset, unsigned bit);
  // The sector with this byte cannot be read until all of it is written again, or mended.
  int break_sector(std::string_view path, std::uint64_t offset);
  int mend_sectors(std::string_view path);
  static bool unreadable(const Inode& inode, std::uint64_t offset, std::size_t bytes) noexcept;
  static void flip_bit(Inode& inode, std::uint64_t offset, unsigned bit) noexcept;

  // Everything not synced is kept, lost or torn by seed. Returns how many changes were not kept
  // whole.
  std::uint64_t power_cut(FastRandom& random);

  [[nodiscard]] std::uint64_t used() const noexcept { return used_; }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }
  void set_capacity(std::uint64_t bytes) noexcept { capacity_ = bytes; }

 private:
  struct NameChange {
    InodePtr from_directory;  // null: created
    std::string from;
    InodePtr to_directory;  // null: removed
    std::string to;
    InodePtr inode;
  };
  using Place = FilePlace<Inode>;

  int find(std::string_view path, Place& place) const { return find_place(root_, path, place); }
  InodePtr create(const Place& place, bool is_directory);
  void unname(const InodePtr& inode) noexcept;
  void release_if_gone(Inode& inode) noexcept;
  int resize(Inode& inode, std::uint64_t length);
  void record(Inode& inode, Change change);
  static void apply(const NameChange& change);
  static void apply(Inode& inode, const Change& change);
  std::uint64_t lose_unsynced_names(FastRandom& random);
  std::uint64_t lose_unsynced(Inode& inode, FastRandom& random, std::set<const Inode*>& visited);

  std::uint64_t capacity_;
  std::uint64_t used_ = 0;
  std::uint64_t next_id_ = 1;
  InodePtr root_;
  std::vector<NameChange> name_changes_;
};

}  // namespace ron::platform::sim
