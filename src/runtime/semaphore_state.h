// SemaphoreState: a number of permits, and waiting for one.
//
// Invariant: permits out + permits free == the initial number. A permit freed while a waiter gives
// up is offered to the next waiter.
#pragma once

#include <cstddef>
#include <mutex>

#include "runtime/mpsc_state.h"
#include "runtime/sync.h"

namespace ron::runtime {

template <class Sync = RealSync>
class SemaphoreState {
 public:
  using Waiter = typename Sync::Waiter;

  explicit SemaphoreState(std::size_t permits) : free_(permits) {}

  bool try_acquire() noexcept {
    const std::lock_guard lock(mutex_);
    if (free_ == 0) return false;
    --free_;
    return true;
  }
  Poll poll_acquire(Waiter& waiter) noexcept {
    const std::lock_guard lock(mutex_);
    if (free_ > 0) {
      --free_;
      return Poll::Ready;
    }
    waiters_.push_back(waiter);
    return Poll::Pending;
  }
  void release() noexcept {
    const std::lock_guard lock(mutex_);
    ++free_;
    waiters_.wake_one();
  }
  void forget(Waiter& waiter) noexcept {
    const std::lock_guard lock(mutex_);
    if (waiters_.forget(waiter) && free_ > 0) waiters_.wake_one();
  }
  [[nodiscard]] std::size_t free() const noexcept {
    const std::lock_guard lock(mutex_);
    return free_;
  }

 private:
  mutable typename Sync::Mutex mutex_;
  std::size_t free_;  // guarded by mutex_, as the list
  WaitList<Waiter> waiters_;
};

}  // namespace ron::runtime
