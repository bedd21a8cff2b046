// ChildGate: decides, atomically, whether a supervised child may start (again) or must stay down.
//
// The supervisor restarts failed children while a stop may arrive from elsewhere at any moment. The
// gate guarantees: after request_stop() returned no start is admitted, and a child that was
// admitted before it sees the stop (it is told through its shutdown token by whoever called
// request_stop).
#pragma once

#include <cstdint>
#include <mutex>

#include "runtime/sync.h"

namespace ron::runtime {

template <class Sync = RealSync>
class ChildGate {
 public:
  // True: the child counts as running until finished(). False: a stop was requested.
  bool try_start() noexcept {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    running_ = true;
    return true;
  }
  void finished() noexcept {
    const std::lock_guard lock(mutex_);
    running_ = false;
    idle_.wake_all();
  }
  // True if the child is running and has to be told.
  bool request_stop() noexcept {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (!running_) idle_.wake_all();
    return running_;
  }
  // Ready when stopped and not running.
  bool poll_stopped(typename Sync::Waiter& waiter) noexcept {
    const std::lock_guard lock(mutex_);
    if (stopping_ && !running_) return true;
    idle_.push_back(waiter);
    return false;
  }
  void forget(typename Sync::Waiter& waiter) noexcept {
    const std::lock_guard lock(mutex_);
    idle_.forget(waiter);
  }
  [[nodiscard]] bool stopping() const noexcept {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }

 private:
  mutable typename Sync::Mutex mutex_;
  bool stopping_ = false;  // guarded by mutex_, as the rest
  bool running_ = false;
  WaitList<typename Sync::Waiter> idle_;
};

}  // namespace ron::runtime
