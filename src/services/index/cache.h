// Cache: answers in memory, found and not found, for a while.
//
// Many read it on every core; one task writes to it, the cache janitor, to whom everybody else
// hands what it should hold. A look-up takes one shard's lock for a probe and a reference count. It
// is bounded by a number of answers; when a shard is full, a hand goes round it and the first that
// was not asked for since it last came by makes room (CLOCK).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "platform/executor.h"
#include "runtime/lock.h"
#include "services/index/answer.h"
#include "services/index/epochs.h"

namespace ron::index {

class Cache {
 public:
  Cache(const Epochs& epochs, std::size_t entries);
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // nullptr: not there, too old, or made from what has changed since. Any thread.
  [[nodiscard]] AnswerPtr find(std::string_view key, platform::TimePoint now) const;

  // By the janitor alone.
  void put(AnswerPtr answer, platform::TimePoint now);
  // Lets go of what is of no use any more, in one shard after the other; how many went.
  std::size_t sweep(platform::TimePoint now);
  std::size_t purge();
  // Fewer lets answers go at once.
  void set_entries(std::size_t entries);

  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kShards = 16;

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const noexcept {
      return std::hash<std::string_view>{}(key);
    }
  };
  struct Slot {
    AnswerPtr answer;  // none: free
    mutable std::atomic<bool> is_wanted = false;
    Slot() = default;
    Slot(Slot&& other) noexcept
        : answer(std::move(other.answer)), is_wanted(other.is_wanted.load()) {}
  };
  struct alignas(64) Shard {
    Shard();
    mutable runtime::Lock lock;
    // Guarded by lock.
    std::unordered_map<std::string_view, std::size_t, Hash, std::equal_to<>> places;
    std::vector<Slot> slots;
    std::vector<std::size_t> free;
    std::size_t hand = 0;
  };

  [[nodiscard]] static std::size_t shard_of(std::string_view key) noexcept;
  [[nodiscard]] bool is_good(const Answer& answer, platform::TimePoint now) const noexcept {
    return now < answer.expires && answer.basis.holds(epochs_);
  }
  // Frees the slot; the answer is freed by whoever gets it, without the lock.
  AnswerPtr take_out(Shard& shard, std::size_t slot);
  std::size_t make_room(Shard& shard, platform::TimePoint now, std::vector<AnswerPtr>& gone);

  const Epochs& epochs_;
  std::size_t entries_per_shard_;  // of the janitor
  std::unique_ptr<Shard[]> shards_;
  std::atomic<std::size_t> size_ = 0;
};

}  // namespace ron::index
