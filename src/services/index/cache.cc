#include "services/index/cache.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "services/index/wires.h"

namespace ron::index {

Cache::Shard::Shard() : lock(kCacheLock) {}

Cache::Cache(const Epochs& epochs, std::size_t entries)
    : epochs_(epochs),
      entries_per_shard_(std::max<std::size_t>(1, entries / kShards)),
      shards_(std::make_unique<Shard[]>(kShards)) {}

// The map of a shard uses the low bits of the same hash.
std::size_t Cache::shard_of(std::string_view key) noexcept { return (Hash{}(key) >> 48) % kShards; }

AnswerPtr Cache::find(std::string_view key, platform::TimePoint now) const {
  const Shard& shard = shards_[shard_of(key)];
  AnswerPtr answer;
  {
    const std::lock_guard guard(shard.lock);
    const auto found = shard.places.find(key);
    if (found == shard.places.end()) return nullptr;
    const Slot& slot = shard.slots[found->second];
    if (!slot.is_wanted.load(std::memory_order_relaxed)) {
      slot.is_wanted.store(true, std::memory_order_relaxed);
    }
    answer = slot.answer;
  }
  return is_good(*answer, now) ? answer : nullptr;
}

AnswerPtr Cache::take_out(Shard& shard, std::size_t slot) {
  shard.places.erase(std::string_view(shard.slots[slot].answer->key));
  shard.free.push_back(slot);
  size_.fetch_sub(1, std::memory_order_relaxed);
  return std::move(shard.slots[slot].answer);
}

// A free slot. Two rounds of the hand suffice: the first takes every wish away.
std::size_t Cache::make_room(Shard& shard, platform::TimePoint now, std::vector<AnswerPtr>& gone) {
  if (shard.free.empty() && shard.slots.size() < entries_per_shard_) {
    shard.slots.emplace_back();
    return shard.slots.size() - 1;
  }
  while (shard.free.empty()) {
    const std::size_t slot = shard.hand++ % shard.slots.size();
    Slot& candidate = shard.slots[slot];
    if (!candidate.answer) continue;
    const bool is_spared = candidate.is_wanted.exchange(false, std::memory_order_relaxed) &&
                           is_good(*candidate.answer, now);
    if (!is_spared) gone.push_back(take_out(shard, slot));
  }
  const std::size_t slot = shard.free.back();
  shard.free.pop_back();
  return slot;
}

void Cache::put(AnswerPtr answer, platform::TimePoint now) {
  if (!is_good(*answer, now)) return;
  std::vector<AnswerPtr> gone;
  Shard& shard = shards_[shard_of(answer->key)];
  const std::lock_guard guard(shard.lock);
  const auto known = shard.places.find(std::string_view(answer->key));
  if (known != shard.places.end()) gone.push_back(take_out(shard, known->second));
  const std::size_t slot = make_room(shard, now, gone);
  shard.slots[slot].answer = std::move(answer);
  shard.slots[slot].is_wanted.store(false, std::memory_order_relaxed);
  shard.places.emplace(shard.slots[slot].answer->key, slot);
  size_.fetch_add(1, std::memory_order_relaxed);
}

std::size_t Cache::sweep(platform::TimePoint now) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kShards; ++i) {
    Shard& shard = shards_[i];
    std::vector<AnswerPtr> gone;
    const std::lock_guard guard(shard.lock);
    for (std::size_t slot = 0; slot < shard.slots.size(); ++slot) {
      const AnswerPtr& answer = shard.slots[slot].answer;
      if (answer && !is_good(*answer, now)) gone.push_back(take_out(shard, slot));
    }
    count += gone.size();
  }
  return count;
}

std::size_t Cache::purge() {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kShards; ++i) {
    Shard& shard = shards_[i];
    std::vector<AnswerPtr> gone;
    const std::lock_guard guard(shard.lock);
    for (std::size_t slot = 0; slot < shard.slots.size(); ++slot) {
      if (shard.slots[slot].answer) gone.push_back(take_out(shard, slot));
    }
    shard.slots.clear();
    shard.free.clear();
    shard.hand = 0;
    count += gone.size();
  }
  return count;
}

void Cache::set_entries(std::size_t entries) {
  const std::size_t next = std::max<std::size_t>(1, entries / kShards);
  const bool is_less = next < entries_per_shard_;
  entries_per_shard_ = next;
  if (is_less) purge();
}

}  // namespace ron::index
