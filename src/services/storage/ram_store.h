// RamStore: verified objects in memory, bounded. The whole store in amnesia mode.
//
// Any thread. Look-ups take one shard's lock for a hash-table probe and a reference count; objects
// are immutable, so nothing is copied and a reader is never disturbed by a writer.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "base/object_id.h"
#include "base/result.h"
#include "runtime/lock.h"
#include "services/storage/object.h"

namespace ron::storage {

enum class Added : std::uint8_t { New, Existing };

class RamStore {
 public:
  explicit RamStore(std::uint64_t capacity_bytes) noexcept : capacity_bytes_(capacity_bytes) {}
  RamStore(const RamStore&) = delete;
  RamStore& operator=(const RamStore&) = delete;

  // nullptr when it is not there.
  [[nodiscard]] ObjectPtr find(const base::ObjectId& id) const;
  // Amnesia (503) when there is no room: it would have to spill to disk.
  base::Result<Added> add(ObjectPtr object);
  // False when it was not there.
  bool remove(const base::ObjectId& id);

  void set_capacity(std::uint64_t bytes) noexcept {
    capacity_bytes_.store(bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t capacity() const noexcept {
    return capacity_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t used_bytes() const noexcept {
    return used_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t objects() const noexcept {
    return objects_.load(std::memory_order_relaxed);
  }
  // The last add failed for lack of room and nothing has been freed since.
  [[nodiscard]] bool full() const noexcept { return full_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kShards = 64;
  struct alignas(64) Shard {
    Shard();
    mutable runtime::Lock lock;
    std::unordered_map<base::ObjectId, ObjectPtr, base::ObjectIdHash> objects;  // guarded by lock
  };
  // The map uses the low bits of the hash; the shard takes the high ones.
  [[nodiscard]] static std::size_t shard_of(const base::ObjectId& id) noexcept {
    return id.hash() >> 58;
  }

  std::array<Shard, kShards> shards_;
  std::atomic<std::uint64_t> capacity_bytes_;
  std::atomic<std::uint64_t> used_bytes_ = 0;
  std::atomic<std::uint64_t> objects_ = 0;
  std::atomic<bool> full_ = false;
};

}  // namespace ron::storage
