// RamStore: verified objects in memory, bounded. Where amnesia mode keeps objects that have one
// piece.
//
// Any thread. Look-ups take one shard's lock for a hash-table probe and a reference count; objects
// are immutable, so nothing is copied and a reader is never disturbed by a writer.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "runtime/lock.h"
#include "services/storage/object.h"

namespace ron::storage {

enum class Adding : std::uint8_t { New, Existing };

// Who stored an object; a small number its owner gives out.
using OwnerNumber = std::uint32_t;

class RamStore {
 public:
  explicit RamStore(std::uint64_t capacity_bytes) noexcept : capacity_bytes_(capacity_bytes) {}
  RamStore(const RamStore&) = delete;
  RamStore& operator=(const RamStore&) = delete;

  // nullptr when it is not there.
  [[nodiscard]] ObjectPtr find(const base::ObjectId& id) const;
  // Amnesia (503) when there is no room: it would have to spill to disk. With `reserved`, that much
  // of what it takes was reserved before; on New the object has taken it over.
  base::Result<Adding> add(ObjectPtr object, OwnerNumber owner = 0, std::uint64_t reserved = 0);
  struct Kept {
    ObjectPtr object;
    OwnerNumber owner = 0;
  };
  // Nothing when it was not there.
  std::optional<Kept> remove(const base::ObjectId& id);

  // Room for what is not an object yet. Amnesia as in add.
  base::Result<void> reserve(std::uint64_t bytes);
  void release(std::uint64_t bytes) noexcept;

  // The `limit` lowest objects above `after`, in order. Looks at everything: for operators.
  [[nodiscard]] std::vector<ObjectPtr> list(const std::optional<base::ObjectId>& after,
                                            std::size_t limit) const;

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
    std::unordered_map<base::ObjectId, Kept, base::ObjectIdHash> objects;  // guarded by lock
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
