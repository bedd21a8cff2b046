// RamStore: verified objects in memory, bounded. Where amnesia mode keeps objects that have one
// piece.
//
// Any thread. Look-ups take one shard's lock for a hash-table probe and a reference count; objects
// are immutable, so nothing is copied and a reader is never disturbed by a writer.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "runtime/lock.h"
#include "services/storage/holder_set.h"
#include "services/storage/object.h"

namespace ron::storage {

// Room in memory, shared with what takes it: an object counts until its last reader is done with
// it, also when it was removed meanwhile or the store is gone. Any thread.
class Room {
 public:
  explicit Room(std::uint64_t capacity_bytes) noexcept : capacity_bytes_(capacity_bytes) {}

  // Amnesia (503) when there is too little.
  base::Result<void> reserve(std::uint64_t bytes);
  void release(std::uint64_t bytes) noexcept;

  void set_capacity(std::uint64_t bytes) noexcept {
    capacity_bytes_.store(bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t capacity() const noexcept {
    return capacity_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t used_bytes() const noexcept {
    return used_bytes_.load(std::memory_order_relaxed);
  }
  // The last reservation failed and nothing has been freed since.
  [[nodiscard]] bool full() const noexcept { return full_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> capacity_bytes_;
  std::atomic<std::uint64_t> used_bytes_ = 0;
  std::atomic<bool> full_ = false;
};
using RoomPtr = std::shared_ptr<Room>;

class RamStore {
 public:
  explicit RamStore(std::uint64_t capacity_bytes) : room_(std::make_shared<Room>(capacity_bytes)) {}
  RamStore(const RamStore&) = delete;
  RamStore& operator=(const RamStore&) = delete;

  // nullptr when it is not there.
  [[nodiscard]] ObjectPtr find(const base::ObjectId& id) const;
  // Amnesia (503) when there is no room: it would have to spill to disk. With `reserved`, that much
  // of what it takes was reserved before; on New the object has taken it over.
  base::Result<Adding> add(ObjectPtr object, OwnerNumber owner = 0, std::uint64_t reserved = 0);
  // The same for an object that may be there; nothing when it is not.
  base::Result<std::optional<Adding>> hold(const base::ObjectId& id, OwnerNumber owner);

  // Without an owner all holds go. Nothing when it was not there, or not held by that one. Its room
  // is free when the last reference goes.
  std::optional<Taken> remove(const base::ObjectId& id, std::optional<OwnerNumber> owner = {});
  // Empty when it is not there.
  [[nodiscard]] std::vector<OwnerNumber> holders(const base::ObjectId& id) const;

  // Room for what is not an object yet. Amnesia as in add.
  base::Result<void> reserve(std::uint64_t bytes) { return room_->reserve(bytes); }
  void release(std::uint64_t bytes) noexcept { room_->release(bytes); }
  [[nodiscard]] const RoomPtr& room() const noexcept { return room_; }

  // The `limit` lowest objects above `after`, in order. Looks at the shards they are in, one at a
  // time.
  [[nodiscard]] std::vector<ObjectPtr> list(const std::optional<base::ObjectId>& after,
                                            std::size_t limit) const;

  void set_capacity(std::uint64_t bytes) noexcept { room_->set_capacity(bytes); }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return room_->capacity(); }
  [[nodiscard]] std::uint64_t used_bytes() const noexcept { return room_->used_bytes(); }
  [[nodiscard]] std::uint64_t objects() const noexcept {
    return objects_.load(std::memory_order_relaxed);
  }
  // As Room::full.
  [[nodiscard]] bool full() const noexcept { return room_->full(); }

 private:
  static constexpr std::size_t kShards = 64;
  struct Kept {
    ObjectPtr object;
    HolderSet holders;
  };
  struct alignas(64) Shard {
    Shard();
    mutable runtime::Lock lock;
    std::unordered_map<base::ObjectId, Kept, base::ObjectIdHash> objects;  // guarded by lock
  };
  base::Result<Adding> add_holder(Kept& kept, OwnerNumber owner);
  // In the order of addresses, so that a page of a list is in few of them.
  [[nodiscard]] static std::size_t shard_of(const base::ObjectId& id) noexcept {
    return std::to_integer<std::size_t>(id.digest()[0]) * kShards / 256;
  }

  RoomPtr room_;
  std::array<Shard, kShards> shards_;
  std::atomic<std::uint64_t> objects_ = 0;
};

}  // namespace ron::storage
