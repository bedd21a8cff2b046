// OneshotState: one value from one sender to one receiver; the reply to a queued job.
//
// The sender learns when nobody waits any more (the value comes back); the receiver learns when the
// sender went away without answering (Closed).
#pragma once

#include <mutex>
#include <optional>
#include <utility>

#include "runtime/mpsc_state.h"
#include "runtime/sync.h"

namespace ron::runtime {

template <class T, class Sync = RealSync>
class OneshotState {
 public:
  using Waiter = typename Sync::Waiter;

  // Hands the value back when the receiver is gone.
  std::optional<T> send(T value) {
    const std::lock_guard lock(mutex_);
    if (receiver_gone_) return value;
    value_.emplace(std::move(value));
    receivers_.wake_all();
    return std::nullopt;
  }
  void sender_gone() noexcept {
    const std::lock_guard lock(mutex_);
    sender_gone_ = true;
    receivers_.wake_all();
  }
  void receiver_gone() noexcept {
    const std::lock_guard lock(mutex_);
    receiver_gone_ = true;
    senders_.wake_all();
  }
  [[nodiscard]] bool abandoned() const noexcept {
    const std::lock_guard lock(mutex_);
    return receiver_gone_;
  }

  Poll poll_recv(std::optional<T>& out, Waiter& waiter) {
    const std::lock_guard lock(mutex_);
    if (value_) {
      out.emplace(std::move(*value_));
      value_.reset();
      sender_gone_ = true;
      return Poll::Ready;
    }
    if (sender_gone_) return Poll::Closed;
    receivers_.push_back(waiter);
    return Poll::Pending;
  }
  void forget(Waiter& waiter) noexcept {
    const std::lock_guard lock(mutex_);
    receivers_.forget(waiter);
  }
  // Ready when the receiver is gone.
  Poll poll_abandoned(Waiter& waiter) {
    const std::lock_guard lock(mutex_);
    if (receiver_gone_) return Poll::Ready;
    senders_.push_back(waiter);
    return Poll::Pending;
  }
  void forget_sender(Waiter& waiter) noexcept {
    const std::lock_guard lock(mutex_);
    senders_.forget(waiter);
  }

 private:
  mutable typename Sync::Mutex mutex_;
  std::optional<T> value_;  // guarded by mutex_, as the rest
  WaitList<Waiter> receivers_;
  WaitList<Waiter> senders_;
  bool sender_gone_ = false;
  bool receiver_gone_ = false;
};

}  // namespace ron::runtime
