#include "services/storage/ram_store.h"

#include <string>
#include <utility>

#include "services/storage/wires.h"

namespace ron::storage {

RamStore::Shard::Shard() : lock(kObjectsLock) {}

ObjectPtr RamStore::find(const base::ObjectId& id) const {
  const Shard& shard = shards_[shard_of(id)];
  const std::lock_guard guard(shard.lock);
  const auto found = shard.objects.find(id);
  return found == shard.objects.end() ? nullptr : found->second;
}

base::Result<Added> RamStore::add(ObjectPtr object) {
  const std::uint64_t cost = object->footprint();
  Shard& shard = shards_[shard_of(object->id)];
  const std::lock_guard guard(shard.lock);
  if (shard.objects.contains(object->id)) return Added::Existing;
  // Reserve first: concurrent adds on other shards must not overrun the bound together.
  if (used_bytes_.fetch_add(cost, std::memory_order_relaxed) + cost > capacity()) {
    used_bytes_.fetch_sub(cost, std::memory_order_relaxed);
    full_.store(true, std::memory_order_relaxed);
    return base::fail(
        base::Error(base::Code::Amnesia, "memory is full and amnesia mode never spills to disk")
            .with("used_bytes", std::to_string(used_bytes()))
            .with("capacity_bytes", std::to_string(capacity())));
  }
  const base::ObjectId id = object->id;
  shard.objects.emplace(id, std::move(object));
  objects_.fetch_add(1, std::memory_order_relaxed);
  return Added::New;
}

bool RamStore::remove(const base::ObjectId& id) {
  Shard& shard = shards_[shard_of(id)];
  ObjectPtr removed;  // freed after the lock is let go
  const std::lock_guard guard(shard.lock);
  const auto found = shard.objects.find(id);
  if (found == shard.objects.end()) return false;
  removed = std::move(found->second);
  shard.objects.erase(found);
  used_bytes_.fetch_sub(removed->footprint(), std::memory_order_relaxed);
  objects_.fetch_sub(1, std::memory_order_relaxed);
  full_.store(false, std::memory_order_relaxed);
  return true;
}

}  // namespace ron::storage
