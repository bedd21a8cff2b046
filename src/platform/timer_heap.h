// TimerHeap: the armed timers of one executor, soonest first. Single-threaded.
#pragma once

#include <vector>

#include "platform/executor.h"

namespace ron::platform {

class TimerHeap {
 public:
  void arm(Timer& timer, TimePoint due);
  void disarm(Timer& timer) noexcept;
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }
  [[nodiscard]] TimePoint next_due() const noexcept {
    return heap_.empty() ? kNever : heap_.front()->due_;
  }
  // Fires the timers due at `now`, at most as many as are armed when it begins: a callback may arm
  // and disarm timers, and one that keeps re-arming must not hold the loop. Returns how many fired.
  std::size_t fire_due(TimePoint now) noexcept;
  // Fires the soonest timer if it is due at `now`; false if none is.
  bool fire_next(TimePoint now) noexcept;

 private:
  static bool before(const Timer& a, const Timer& b) noexcept {
    return a.due_ != b.due_ ? a.due_ < b.due_ : a.sequence_ < b.sequence_;
  }
  void place(std::size_t index, Timer& timer) noexcept;
  void sift_up(std::size_t index) noexcept;
  void sift_down(std::size_t index) noexcept;

  std::vector<Timer*> heap_;
  std::uint64_t sequence_ = 0;
};

}  // namespace ron::platform
