// ObjectCache: the memory tier over volumes. Verified objects, bounded, scan-resistant.
//
// S3-FIFO in shards: what is new waits in a small queue (a tenth); what was asked for again there
// moves to the main queue, the rest leaves and only its address is remembered for a while. An
// object that comes back while it is remembered goes to the main queue at once. So a scan of many
// objects passes through the small queue and what is wanted again and again stays.
//
// Any thread. A look-up takes one shard's lock for a probe and a reference count. An object that
// was removed never comes back through a slow reader: whoever loads one takes a ticket before it
// looks the object up, and the ticket is void once anything was erased from that shard.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/object_id.h"
#include "runtime/lock.h"
#include "services/storage/object.h"

namespace ron::storage {

class ObjectCache {
 public:
  using Ticket = std::uint64_t;

  // The number of shards is chosen for this capacity and stays.
  explicit ObjectCache(std::uint64_t capacity_bytes);
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  // nullptr when it is not there.
  [[nodiscard]] ObjectPtr find(const base::ObjectId& id) const;

  // Taken before the object is looked up on a volume.
  [[nodiscard]] Ticket ticket(const base::ObjectId& id) const noexcept;
  // False when it was not taken: the ticket is void or the object too large.
  bool insert(ObjectPtr object, Ticket ticket);
  // After the object is gone from the volume and before anyone is told.
  void erase(const base::ObjectId& id);

  // An object of that many bytes would be taken.
  [[nodiscard]] bool admits(std::uint64_t bytes) const noexcept;
  [[nodiscard]] bool enabled() const noexcept { return capacity() > 0; }

  // 0 turns it off; less evicts at once.
  void set_capacity(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t capacity() const noexcept {
    return capacity_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t used_bytes() const noexcept {
    return used_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t objects() const noexcept {
    return objects_.load(std::memory_order_relaxed);
  }

 private:
  class Fifo;
  struct Node {
    ObjectPtr object;  // empty: only remembered
    std::uint64_t bytes = 0;
    std::uint8_t hits = 0;
    Fifo* in = nullptr;
    const base::ObjectId* id = nullptr;
    Node* older = nullptr;
    Node* newer = nullptr;
  };
  // An intrusive queue of nodes of the shard's map.
  class Fifo {
   public:
    void push(Node& node) noexcept;
    void unlink(Node& node) noexcept;
    [[nodiscard]] Node* oldest() const noexcept { return oldest_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

   private:
    Node* oldest_ = nullptr;
    Node* newest_ = nullptr;
    std::uint64_t bytes_ = 0;
    std::size_t count_ = 0;
  };
  using Evicted = std::vector<ObjectPtr>;  // freed after the lock is let go

  struct alignas(64) Shard {
    Shard();
    mutable runtime::Lock lock;
    std::atomic<Ticket> erased = 0;  // changed under the lock
    // The rest is guarded by lock.
    mutable std::unordered_map<base::ObjectId, Node, base::ObjectIdHash> nodes;
    Fifo small;
    Fifo main;
    Fifo remembered;
  };

  // The map uses the low bits of the hash; the shard takes the high ones.
  [[nodiscard]] Shard& shard_of(const base::ObjectId& id) const noexcept {
    return shards_[(id.hash() >> 32) & (shard_count_ - 1)];
  }
  [[nodiscard]] std::uint64_t shard_capacity() const noexcept { return capacity() / shard_count_; }
  void make_room(Shard& shard, Evicted& evicted);
  void evict_small(Shard& shard, Evicted& evicted);
  void evict_main(Shard& shard, Evicted& evicted);
  void drop_object(Node& node, Evicted& evicted);
  void forget_oldest(Shard& shard);

  std::size_t shard_count_;
  std::unique_ptr<Shard[]> shards_;
  std::atomic<std::uint64_t> capacity_bytes_;
  std::atomic<std::uint64_t> used_bytes_ = 0;
  std::atomic<std::uint64_t> objects_ = 0;
};

}  // namespace ron::storage
