// WatchState: the latest value of something, and a way to wait for the next one.
//
// Last write wins. A receiver sees every *latest* value at least once: a change that happens
// between its look and its wait wakes it. Values are copied whole under the mutex, so none is ever
// seen torn; keep them small (a shared_ptr to an immutable snapshot).
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "runtime/mpsc_state.h"
#include "runtime/sync.h"

namespace ron::runtime {

template <class T, class Sync = RealSync>
class WatchState {
 public:
  using Waiter = typename Sync::Waiter;
  static constexpr std::uint64_t kInitialVersion = 1;
  struct Versioned {
    T value;
    std::uint64_t version;
  };

  explicit WatchState(T initial) : value_(std::move(initial)) {}

  void set(T value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
    ++version_;
    receivers_.wake_all();
  }
  // Sets only if nobody has since the version `seen`; false otherwise.
  bool set_if(std::uint64_t seen, T value) {
    const std::lock_guard lock(mutex_);
    if (version_ != seen) return false;
    value_ = std::move(value);
    ++version_;
    receivers_.wake_all();
    return true;
  }
  [[nodiscard]] Versioned get() const {
    const std::lock_guard lock(mutex_);
    return {value_, version_};
  }

  // Ready when the version differs from `seen`; Closed only if closed and there is nothing newer.
  Poll poll_changed(std::uint64_t seen, Waiter& waiter) {
    const std::lock_guard lock(mutex_);
    if (version_ != seen) return Poll::Ready;
    if (closed_) return Poll::Closed;
    receivers_.push_back(waiter);
    return Poll::Pending;
  }
  void forget(Waiter& waiter) noexcept {
    const std::lock_guard lock(mutex_);
    receivers_.forget(waiter);
  }
  void close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    receivers_.wake_all();
  }

 private:
  mutable typename Sync::Mutex mutex_;
  T value_;  // guarded by mutex_, as the rest
  std::uint64_t version_ = kInitialVersion;
  WaitList<Waiter> receivers_;
  bool closed_ = false;
};

}  // namespace ron::runtime
