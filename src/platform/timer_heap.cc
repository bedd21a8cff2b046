#include "platform/timer_heap.h"

namespace ron::platform {

thread_local constinit Executor* Executor::current_ = nullptr;

void TimerHeap::arm(Timer& timer, TimePoint due) {
  disarm(timer);
  timer.due_ = due;
  timer.sequence_ = sequence_++;
  heap_.push_back(&timer);
  timer.heap_index_ = static_cast<std::uint32_t>(heap_.size() - 1);
  sift_up(heap_.size() - 1);
}

void TimerHeap::disarm(Timer& timer) noexcept {
  if (!timer.armed()) return;
  const std::size_t index = timer.heap_index_;
  timer.heap_index_ = Timer::kIdle;
  Timer* last = heap_.back();
  heap_.pop_back();
  if (last == &timer) return;
  place(index, *last);
  sift_up(index);
  sift_down(last->heap_index_);
}

std::size_t TimerHeap::fire_due(TimePoint now) noexcept {
  std::size_t fired = 0;
  for (std::size_t budget = heap_.size(); budget > 0 && fire_next(now); --budget) ++fired;
  return fired;
}

bool TimerHeap::fire_next(TimePoint now) noexcept {
  if (heap_.empty() || heap_.front()->due_ > now) return false;
  Timer& timer = *heap_.front();
  disarm(timer);
  timer.fire_(timer);
  return true;
}

void TimerHeap::place(std::size_t index, Timer& timer) noexcept {
  heap_[index] = &timer;
  timer.heap_index_ = static_cast<std::uint32_t>(index);
}

void TimerHeap::sift_up(std::size_t index) noexcept {
  Timer& timer = *heap_[index];
  while (index > 0) {
    const std::size_t parent = (index - 1) / 2;
    if (!before(timer, *heap_[parent])) break;
    place(index, *heap_[parent]);
    index = parent;
  }
  place(index, timer);
}

void TimerHeap::sift_down(std::size_t index) noexcept {
  Timer& timer = *heap_[index];
  for (;;) {
    std::size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && before(*heap_[child + 1], *heap_[child])) ++child;
    if (!before(*heap_[child], timer)) break;
    place(index, *heap_[child]);
    index = child;
  }
  place(index, timer);
}

}  // namespace ron::platform
