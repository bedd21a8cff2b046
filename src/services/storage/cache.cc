#include "services/storage/cache.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "services/storage/wires.h"

namespace ron::storage {
namespace {

constexpr std::uint64_t kShardBytes = 16 * base::kMiB;
constexpr std::uint64_t kMaxShards = 64;
constexpr std::uint64_t kSmallShare = 10;  // a tenth
constexpr std::uint8_t kMaxHits = 3;
// Addresses remembered besides one for each object that is kept.
constexpr std::size_t kRememberedAtLeast = 16;
// Map node, bucket and allocation of an object, rounded up.
constexpr std::uint64_t kNodeBytes = 192;

std::size_t shards_for(std::uint64_t capacity) {
  return std::bit_floor(std::clamp<std::uint64_t>(capacity / kShardBytes, 1, kMaxShards));
}

}  // namespace

void ObjectCache::Fifo::push(Node& node) noexcept {
  node.in = this;
  node.newer = nullptr;
  node.older = newest_;
  (newest_ != nullptr ? newest_->newer : oldest_) = &node;
  newest_ = &node;
  bytes_ += node.bytes;
  ++count_;
}

void ObjectCache::Fifo::unlink(Node& node) noexcept {
  (node.older != nullptr ? node.older->newer : oldest_) = node.newer;
  (node.newer != nullptr ? node.newer->older : newest_) = node.older;
  bytes_ -= node.bytes;
  --count_;
  node.in = nullptr;
}

ObjectCache::Shard::Shard() : lock(kObjectsLock) {}

ObjectCache::ObjectCache(std::uint64_t capacity_bytes)
    : shard_count_(shards_for(capacity_bytes)),
      shards_(std::make_unique<Shard[]>(shard_count_)),
      capacity_bytes_(capacity_bytes) {}

ObjectPtr ObjectCache::find(const base::ObjectId& id) const {
  const Shard& shard = shard_of(id);
  const std::lock_guard guard(shard.lock);
  const auto found = shard.nodes.find(id);
  if (found == shard.nodes.end() || !found->second.object) return nullptr;
  Node& node = found->second;
  if (node.hits < kMaxHits) ++node.hits;
  return node.object;
}

ObjectCache::Ticket ObjectCache::ticket(const base::ObjectId& id) const noexcept {
  return shard_of(id).erased.load(std::memory_order_acquire);
}

bool ObjectCache::admits(std::uint64_t bytes) const noexcept {
  return bytes + sizeof(Object) + kNodeBytes <= shard_capacity();
}

bool ObjectCache::insert(ObjectPtr object, Ticket ticket) {
  const std::uint64_t bytes = object->footprint() + kNodeBytes;
  if (bytes > shard_capacity()) return false;
  Shard& shard = shard_of(object->id);
  Evicted evicted;
  const std::lock_guard guard(shard.lock);
  if (shard.erased.load(std::memory_order_relaxed) != ticket) return false;
  const auto [place, is_new] = shard.nodes.try_emplace(object->id);
  Node& node = place->second;
  if (node.object) return true;
  if (!is_new) node.in->unlink(node);
  node.object = std::move(object);
  node.bytes = bytes;
  node.hits = 0;
  node.id = &place->first;
  (is_new ? shard.small : shard.main).push(node);
  used_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  objects_.fetch_add(1, std::memory_order_relaxed);
  make_room(shard, evicted);
  return true;
}

void ObjectCache::erase(const base::ObjectId& id) {
  Shard& shard = shard_of(id);
  Evicted evicted;
  const std::lock_guard guard(shard.lock);
  shard.erased.fetch_add(1, std::memory_order_release);
  const auto found = shard.nodes.find(id);
  if (found == shard.nodes.end()) return;
  found->second.in->unlink(found->second);
  if (found->second.object) drop_object(found->second, evicted);
  shard.nodes.erase(found);
}

void ObjectCache::set_capacity(std::uint64_t bytes) {
  capacity_bytes_.store(bytes, std::memory_order_relaxed);
  for (std::size_t i = 0; i < shard_count_; ++i) {
    Evicted evicted;
    const std::lock_guard guard(shards_[i].lock);
    make_room(shards_[i], evicted);
  }
}

void ObjectCache::make_room(Shard& shard, Evicted& evicted) {
  const std::uint64_t capacity = shard_capacity();
  while (shard.small.bytes() + shard.main.bytes() > capacity) {
    if (shard.main.count() == 0 || shard.small.bytes() > capacity / kSmallShare) {
      evict_small(shard, evicted);
    } else {
      evict_main(shard, evicted);
    }
  }
  while (shard.remembered.count() > kRememberedAtLeast + shard.main.count() + shard.small.count()) {
    forget_oldest(shard);
  }
}

void ObjectCache::evict_small(Shard& shard, Evicted& evicted) {
  Node& node = *shard.small.oldest();
  shard.small.unlink(node);
  if (node.hits > 0) {
    node.hits = 0;
    shard.main.push(node);
    return;
  }
  drop_object(node, evicted);
  shard.remembered.push(node);
}

void ObjectCache::evict_main(Shard& shard, Evicted& evicted) {
  Node& node = *shard.main.oldest();
  shard.main.unlink(node);
  if (node.hits > 0) {
    --node.hits;
    shard.main.push(node);
    return;
  }
  drop_object(node, evicted);
  const base::ObjectId id = *node.id;
  shard.nodes.erase(id);
}

void ObjectCache::drop_object(Node& node, Evicted& evicted) {
  used_bytes_.fetch_sub(node.bytes, std::memory_order_relaxed);
  objects_.fetch_sub(1, std::memory_order_relaxed);
  evicted.push_back(std::move(node.object));
  node.object = nullptr;
}

void ObjectCache::forget_oldest(Shard& shard) {
  Node& node = *shard.remembered.oldest();
  shard.remembered.unlink(node);
  const base::ObjectId id = *node.id;
  shard.nodes.erase(id);
}

}  // namespace ron::storage
