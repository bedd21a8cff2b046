// What the primitives synchronise with. They take it as a policy, so that model tests can run the
// same code under an explorer that enumerates every interleaving (models/explorer.h).
//
// A policy names a Mutex (lock, unlock) and a Waiter (wake, take_back, and the hook
// previous/next/linked).
#pragma once

#include <mutex>

#include "platform/wait.h"

namespace ron::runtime {

struct RealSync {
  using Mutex = std::mutex;
  using Waiter = platform::Waiter;
};

// Waiters in order of arrival. Guarded by the owner's mutex.
template <class Waiter>
class WaitList {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
  [[nodiscard]] Waiter* front() const noexcept { return head_; }

  void push_back(Waiter& waiter) noexcept {
    if (waiter.linked) return;
    waiter.linked = true;
    waiter.previous = tail_;
    waiter.next = nullptr;
    (tail_ != nullptr ? tail_->next : head_) = &waiter;
    tail_ = &waiter;
  }
  void remove(Waiter& waiter) noexcept {
    (waiter.previous != nullptr ? waiter.previous->next : head_) = waiter.next;
    (waiter.next != nullptr ? waiter.next->previous : tail_) = waiter.previous;
    waiter.linked = false;
  }
  // Call under the owner's lock: a popped waiter must be woken before the lock is let go.
  void wake_one() noexcept {
    if (head_ == nullptr) return;
    Waiter& waiter = *head_;
    remove(waiter);
    waiter.wake();
  }
  void wake_all() noexcept {
    while (head_ != nullptr) wake_one();
  }
  // The waiter gives up. True if it had been woken already: that wake-up is now the caller's to
  // pass on. A waiter that polled again before its wake-up ran is linked and queued at once; that
  // wake-up is spent, but it must not stay queued when the waiter dies.
  bool forget(Waiter& waiter) noexcept {
    const bool woken = waiter.take_back();
    if (!waiter.linked) return woken;
    remove(waiter);
    return false;
  }

 private:
  Waiter* head_ = nullptr;
  Waiter* tail_ = nullptr;
};

}  // namespace ron::runtime
