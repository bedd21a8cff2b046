#include "services/storage/ram_store.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/about.h"
#include "services/storage/wires.h"

namespace ron::storage {

namespace {

// The object, giving its room back when the last reference goes.
ObjectPtr counted(ObjectPtr object, RoomPtr room, std::uint64_t cost) {
  const Object* const raw = object.get();
  auto give_back = [object = std::move(object), room = std::move(room),
                    cost](const Object*) mutable {
    object.reset();
    room->release(cost);
  };
  return {raw, std::move(give_back)};
}

}  // namespace

RamStore::Shard::Shard() : lock(kObjectsLock) {}

ObjectPtr RamStore::find(const base::ObjectId& id) const {
  const Shard& shard = shards_[shard_of(id)];
  const std::lock_guard guard(shard.lock);
  const auto found = shard.objects.find(id);
  return found == shard.objects.end() ? nullptr : found->second.object;
}

base::Result<void> Room::reserve(std::uint64_t bytes) {
  // Reserve first: concurrent ones must not overrun the bound together.
  if (used_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= capacity()) return {};
  used_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  full_.store(true, std::memory_order_relaxed);
  return base::fail(base::Error(base::Code::Amnesia, "memory is full: storage.cache_bytes allows " +
                                                         base::about(capacity()) +
                                                         ", and amnesia mode never spills to disk")
                        .with("used_bytes", std::to_string(used_bytes()))
                        .with("capacity_bytes", std::to_string(capacity())));
}

void Room::release(std::uint64_t bytes) noexcept {
  used_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  full_.store(false, std::memory_order_relaxed);
}

base::Result<Adding> RamStore::add(ObjectPtr object, OwnerNumber owner, std::uint64_t reserved) {
  const std::uint64_t cost = object->footprint();
  Shard& shard = shards_[shard_of(object->id)];
  const std::lock_guard guard(shard.lock);
  const auto there = shard.objects.find(object->id);
  if (there != shard.objects.end()) return add_holder(there->second, owner);
  if (cost > reserved) {
    const base::Result<void> room = reserve(cost - reserved);
    if (!room) return base::fail(room.error());
  } else {
    release(reserved - cost);
  }
  const base::ObjectId id = object->id;
  shard.objects.emplace(id, Kept{counted(std::move(object), room_, cost), HolderSet(owner)});
  objects_.fetch_add(1, std::memory_order_relaxed);
  return Adding::New;
}

base::Result<Adding> RamStore::add_holder(Kept& kept, OwnerNumber owner) {
  if (kept.holders.has(owner)) return Adding::Existing;
  const base::Result<void> room = reserve(HolderSet::kHolderBytes);
  if (!room) return base::fail(room.error());
  kept.holders.add(owner);
  return Adding::Held;
}

base::Result<std::optional<Adding>> RamStore::hold(const base::ObjectId& id, OwnerNumber owner) {
  Shard& shard = shards_[shard_of(id)];
  const std::lock_guard guard(shard.lock);
  const auto found = shard.objects.find(id);
  if (found == shard.objects.end()) return std::nullopt;
  return add_holder(found->second, owner);
}

std::optional<Taken> RamStore::remove(const base::ObjectId& id, std::optional<OwnerNumber> owner) {
  Shard& shard = shards_[shard_of(id)];
  const std::lock_guard guard(shard.lock);
  const auto found = shard.objects.find(id);
  if (found == shard.objects.end()) return std::nullopt;
  Kept& kept = found->second;
  const std::uint64_t extra_bytes = kept.holders.extra_bytes();
  Taken taken{kept.object, kept.object->bytes().size(), kept.holders.take(owner)};
  if (taken.holders.empty()) return std::nullopt;
  if (extra_bytes > 0) release(extra_bytes - kept.holders.extra_bytes());
  taken.gone = kept.holders.empty();
  if (!taken.gone) return taken;
  shard.objects.erase(found);
  objects_.fetch_sub(1, std::memory_order_relaxed);
  return taken;
}

std::vector<OwnerNumber> RamStore::holders(const base::ObjectId& id) const {
  const Shard& shard = shards_[shard_of(id)];
  const std::lock_guard guard(shard.lock);
  const auto found = shard.objects.find(id);
  return found == shard.objects.end() ? std::vector<OwnerNumber>() : found->second.holders.all();
}

std::vector<ObjectPtr> RamStore::list(const std::optional<base::ObjectId>& after,
                                      std::size_t limit) const {
  const auto lower = [](const ObjectPtr& a, const ObjectPtr& b) { return a->id < b->id; };
  std::vector<ObjectPtr> listed;
  std::vector<ObjectPtr> lowest;  // of a shard: a heap with the highest of them in front
  const std::size_t first = after ? shard_of(*after) : 0;
  for (std::size_t i = first; i < kShards && listed.size() < limit; ++i) {
    const std::size_t wanted = limit - listed.size();
    {
      const std::lock_guard guard(shards_[i].lock);
      for (const auto& [id, kept] : shards_[i].objects) {
        if (after && id <= *after) continue;
        if (lowest.size() == wanted) {
          if (id >= lowest.front()->id) continue;
          std::ranges::pop_heap(lowest, lower);
          lowest.pop_back();
        }
        lowest.push_back(kept.object);
        std::ranges::push_heap(lowest, lower);
      }
    }
    std::ranges::sort_heap(lowest, lower);
    std::ranges::move(lowest, std::back_inserter(listed));
    lowest.clear();
  }
  return listed;
}

}  // namespace ron::storage
