// BroadcastState: one stream of values to many receivers, keeping the last `capacity` of them.
//
// A send never waits: it overwrites the oldest value. A receiver that falls behind learns how many
// it missed and goes on at the oldest value kept. Receivers start at the next value sent.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/mpsc_state.h"
#include "runtime/sync.h"

namespace ron::runtime {

// How many values a slow receiver missed.
struct Lagged {
  std::uint64_t missed = 0;
};

template <class T, class Sync = RealSync>
class BroadcastState {
 public:
  using Waiter = typename Sync::Waiter;
  // Where a receiver is; owned by the receiver, read and moved under the state's mutex.
  struct Cursor {
    std::uint64_t next = 0;
  };

  explicit BroadcastState(std::size_t capacity) : ring_(capacity) { assert(capacity > 0); }

  Cursor subscribe() {
    const std::lock_guard lock(mutex_);
    return Cursor{sent_};
  }

  // False after close().
  bool send(T value) {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    ring_[sent_ % ring_.size()].emplace(std::move(value));
    ++sent_;
    receivers_.wake_all();
    return true;
  }

  // Ready with a value, or Ready with `lagged.missed` > 0 and no value, or Closed after the last
  // one.
  Poll poll_recv(Cursor& cursor, std::optional<T>& out, Lagged& lagged, Waiter& waiter) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t oldest = sent_ > ring_.size() ? sent_ - ring_.size() : 0;
    if (cursor.next < oldest) {
      lagged.missed = oldest - cursor.next;
      lagged_.fetch_add(lagged.missed, std::memory_order_relaxed);
      cursor.next = oldest;
      return Poll::Ready;
    }
    if (cursor.next < sent_) {
      out = ring_[cursor.next % ring_.size()];
      ++cursor.next;
      return Poll::Ready;
    }
    if (closed_) return Poll::Closed;
    receivers_.push_back(waiter);
    return Poll::Pending;
  }
  // Leaves out what is there: the next value is the next one sent. How many that were.
  std::uint64_t skip(Cursor& cursor) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t skipped = sent_ - std::exchange(cursor.next, sent_);
    lagged_.fetch_add(skipped, std::memory_order_relaxed);
    return skipped;
  }
  // Every receiver is woken by every send, so a forgotten wake-up concerns nobody else.
  void forget(Waiter& waiter) noexcept {
    const std::lock_guard lock(mutex_);
    receivers_.forget(waiter);
  }

  void close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    receivers_.wake_all();
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return ring_.size(); }
  [[nodiscard]] std::uint64_t lagged() const noexcept {
    return lagged_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> lagged_ = 0;

  typename Sync::Mutex mutex_;
  std::vector<std::optional<T>> ring_;  // guarded by mutex_, as the rest
  std::uint64_t sent_ = 0;
  WaitList<Waiter> receivers_;
  bool closed_ = false;
};

}  // namespace ron::runtime
