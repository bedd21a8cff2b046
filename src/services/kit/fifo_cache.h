// FifoCache: a memory tier. Immutable values under keys, bounded in bytes, scan-resistant: S3-FIFO
// (fifo_order.h) in shards.
//
// Any thread. A look-up takes one shard's lock for a probe and a reference count. What was erased
// never comes back through a slow reader: whoever loads something takes a ticket before it looks it
// up, and the ticket is void once anything was erased from that shard.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/units.h"
#include "runtime/lock.h"
#include "services/kit/fifo_order.h"

namespace ron::kit {

// `Value` says by footprint() what it costs in memory. The high half of `Hash` chooses the shard.
template <class Key, class Value, class Hash>
class FifoCache {
 public:
  using Ptr = std::shared_ptr<const Value>;
  using Ticket = std::uint64_t;

  // The number of shards is chosen for this capacity and stays.
  FifoCache(const runtime::LockDecl& lock, std::uint64_t capacity_bytes)
      : shard_count_(shards_for(capacity_bytes)), capacity_bytes_(capacity_bytes) {
    shards_.reserve(shard_count_);
    for (std::size_t i = 0; i < shard_count_; ++i) {
      shards_.push_back(std::make_unique<Shard>(lock));
    }
  }
  FifoCache(const FifoCache&) = delete;
  FifoCache& operator=(const FifoCache&) = delete;

  // nullptr when it is not there.
  [[nodiscard]] Ptr find(const Key& key) const {
    const Shard& shard = shard_of(key);
    const std::lock_guard guard(shard.lock);
    const auto found = shard.nodes.find(key);
    if (found == shard.nodes.end() || !found->second.value) return nullptr;
    Node& node = found->second;
    if (node.hits < Order::kMaxHits) ++node.hits;
    return node.value;
  }

  // Taken before the value is looked up where it comes from.
  [[nodiscard]] Ticket ticket(const Key& key) const noexcept {
    return shard_of(key).erased.load(std::memory_order_acquire);
  }

  // False when it was not taken: the ticket is void or the value too large.
  bool insert(const Key& key, Ptr value, Ticket ticket) {
    const std::uint64_t bytes = value->footprint() + kNodeBytes;
    if (bytes > shard_capacity()) return false;
    Shard& shard = shard_of(key);
    Evicted evicted;
    const std::lock_guard guard(shard.lock);
    if (shard.erased.load(std::memory_order_relaxed) != ticket) return false;
    const auto [place, is_new] = shard.nodes.try_emplace(key);
    Node& node = place->second;
    if (node.value) return true;
    if (!is_new) node.in->unlink(node);
    node.value = std::move(value);
    node.bytes = bytes;
    node.key = &place->first;
    shard.order.add(node, !is_new);
    used_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_relaxed);
    make_room(shard, evicted);
    return true;
  }

  // After it is gone where it comes from and before anyone is told.
  void erase(const Key& key) {
    Shard& shard = shard_of(key);
    Evicted evicted;
    const std::lock_guard guard(shard.lock);
    shard.erased.fetch_add(1, std::memory_order_release);
    const auto found = shard.nodes.find(key);
    if (found == shard.nodes.end()) return;
    found->second.in->unlink(found->second);
    if (found->second.value) drop_value(found->second, evicted);
    shard.nodes.erase(found);
  }

  // A value of that many bytes would be taken.
  [[nodiscard]] bool admits(std::uint64_t bytes) const noexcept {
    return bytes + sizeof(Value) + kNodeBytes <= shard_capacity();
  }
  [[nodiscard]] bool enabled() const noexcept { return capacity() > 0; }

  // 0 turns it off; less evicts at once.
  void set_capacity(std::uint64_t bytes) {
    capacity_bytes_.store(bytes, std::memory_order_relaxed);
    for (const auto& shard : shards_) {
      Evicted evicted;
      const std::lock_guard guard(shard->lock);
      make_room(*shard, evicted);
    }
  }
  [[nodiscard]] std::uint64_t capacity() const noexcept {
    return capacity_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t used_bytes() const noexcept {
    return used_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t count() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t kShardBytes = 16 * base::kMiB;
  static constexpr std::uint64_t kMaxShards = 64;
  // Keys remembered besides one for each value that is kept.
  static constexpr std::size_t kRememberedAtLeast = 16;
  // Map node, bucket and allocation of a value, rounded up.
  static constexpr std::uint64_t kNodeBytes = 192;

  static std::size_t shards_for(std::uint64_t capacity) {
    return std::bit_floor(std::clamp<std::uint64_t>(capacity / kShardBytes, 1, kMaxShards));
  }

  struct Node : FifoLink<Node> {
    Ptr value;  // empty: only remembered
    std::uint8_t hits = 0;
    const Key* key = nullptr;
  };
  using Order = FifoOrder<Node>;
  using Evicted = std::vector<Ptr>;  // freed after the lock is let go

  struct alignas(64) Shard {
    explicit Shard(const runtime::LockDecl& decl) : lock(decl) {}
    mutable runtime::Lock lock;
    std::atomic<Ticket> erased = 0;  // changed under the lock
    // The rest is guarded by lock.
    mutable std::unordered_map<Key, Node, Hash> nodes;
    Order order;
    FifoQueue<Node> remembered;
  };

  // The map uses the low bits of the hash; the shard takes the high ones.
  [[nodiscard]] Shard& shard_of(const Key& key) const noexcept {
    return *shards_[(Hash{}(key) >> 32) & (shard_count_ - 1)];
  }
  [[nodiscard]] std::uint64_t shard_capacity() const noexcept { return capacity() / shard_count_; }

  void make_room(Shard& shard, Evicted& evicted) {
    const std::uint64_t capacity = shard_capacity();
    while (shard.order.bytes() > capacity) {
      const auto [node, was_new] = shard.order.next(capacity);
      drop_value(*node, evicted);
      if (was_new) {
        shard.remembered.push(*node);
      } else {
        const Key key = *node->key;
        shard.nodes.erase(key);
      }
    }
    while (shard.remembered.count() > kRememberedAtLeast + shard.order.count()) {
      forget_oldest(shard);
    }
  }

  void drop_value(Node& node, Evicted& evicted) {
    used_bytes_.fetch_sub(node.bytes, std::memory_order_relaxed);
    count_.fetch_sub(1, std::memory_order_relaxed);
    evicted.push_back(std::move(node.value));
    node.value = nullptr;
  }

  void forget_oldest(Shard& shard) {
    Node& node = *shard.remembered.oldest();
    shard.remembered.unlink(node);
    const Key key = *node.key;
    shard.nodes.erase(key);
  }

  std::size_t shard_count_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::atomic<std::uint64_t> capacity_bytes_;
  std::atomic<std::uint64_t> used_bytes_ = 0;
  std::atomic<std::uint64_t> count_ = 0;
};

}  // namespace ron::kit
