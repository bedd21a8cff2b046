// MpscState: the state machine of a bounded queue, without the waiting.
//
// Any number of producers; consumers compete for items, each from one lane. Lanes share the
// capacity (a GET and a PUT pool drain one `work` queue). Polls that cannot proceed link the
// caller's waiter and answer "pending"; the caller parks and polls again. Every method is atomic
// under one mutex.
//
// Invariants: count_ <= capacity_; an item is delivered exactly once; items accepted before close()
// are delivered after it; a wake-up is never lost: one that reaches a waiter which gave up is
// passed on.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/overflow.h"
#include "runtime/sync.h"

namespace ron::runtime {

// Why a send failed; the value comes back.
template <class T>
struct SendError {
  enum class Kind : std::uint8_t { Full, Closed };
  Kind kind;
  T value;
};

// How a send succeeded.
enum class Sent : std::uint8_t { Accepted, DroppedOldest };

enum class Poll : std::uint8_t { Ready, Pending, Closed };

template <class T, class Sync = RealSync>
class MpscState {
 public:
  using Waiter = typename Sync::Waiter;

  MpscState(std::size_t capacity, Overflow overflow, std::size_t lanes = 1)
      : capacity_(capacity), overflow_(overflow), lanes_(lanes) {
    assert(capacity > 0 && "an empty queue accepts nothing");
    for (Lane& lane : lanes_) lane.ring.resize(capacity);
  }

  // RejectNew: Full hands the value back. DropOldest: makes room by dropping the lane's oldest
  // item. Wait: Full hands the value back; use poll_send to wait.
  std::expected<Sent, SendError<T>> try_send(T value, std::size_t lane = 0) {
    using Kind = typename SendError<T>::Kind;
    const std::lock_guard lock(mutex_);
    if (closed_) return std::unexpected(SendError<T>{Kind::Closed, std::move(value)});
    Sent sent = Sent::Accepted;
    if (count_ == capacity_) {
      if (overflow_ != Overflow::DropOldest || lanes_[lane].count == 0) {
        return std::unexpected(SendError<T>{Kind::Full, std::move(value)});
      }
      take(lanes_[lane]);
      sent = Sent::DroppedOldest;
    }
    put(lanes_[lane], std::move(value));
    return sent;
  }

  // Takes the value when there is room; otherwise links the waiter and leaves the value alone.
  Poll poll_send(T& value, Waiter& waiter, std::size_t lane = 0) {
    const std::lock_guard lock(mutex_);
    if (closed_) return Poll::Closed;
    if (count_ == capacity_) {
      senders_.push_back(waiter);
      return Poll::Pending;
    }
    put(lanes_[lane], std::move(value));
    return Poll::Ready;
  }

  // Fills `out` (Ready), or reports the end after close() and the last item (Closed), or links the
  // waiter (Pending).
  Poll poll_recv(std::optional<T>& out, Waiter& waiter, std::size_t lane = 0) {
    const std::lock_guard lock(mutex_);
    const Poll poll = recv_locked(out, lane);
    if (poll == Poll::Pending) lanes_[lane].receivers.push_back(waiter);
    return poll;
  }
  Poll try_recv(std::optional<T>& out, std::size_t lane = 0) {
    const std::lock_guard lock(mutex_);
    return recv_locked(out, lane);
  }

  // The waiter's owner gives up. A wake-up it had received goes to the next in line.
  void forget_receiver(Waiter& waiter, std::size_t lane = 0) noexcept {
    const std::lock_guard lock(mutex_);
    if (lanes_[lane].receivers.forget(waiter) && lanes_[lane].count > 0) {
      lanes_[lane].receivers.wake_one();
    }
  }
  void forget_sender(Waiter& waiter) noexcept {
    const std::lock_guard lock(mutex_);
    if (senders_.forget(waiter) && count_ < capacity_) senders_.wake_one();
  }

  // No more sends; receivers drain what is there and then see Closed. Idempotent.
  void close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (Lane& lane : lanes_) lane.receivers.wake_all();
    senders_.wake_all();
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] Overflow overflow() const noexcept { return overflow_; }
  // A sample for metrics: exact at the moment of the last change.
  [[nodiscard]] std::size_t depth() const noexcept {
    return depth_.load(std::memory_order_relaxed);
  }

 private:
  struct Lane {
    std::vector<std::optional<T>> ring;
    std::size_t head = 0;
    std::size_t count = 0;
    WaitList<Waiter> receivers;
  };

  void put(Lane& lane, T value) {
    lane.ring[(lane.head + lane.count) % capacity_].emplace(std::move(value));
    ++lane.count;
    set_count(count_ + 1);
    lane.receivers.wake_one();
  }
  T take(Lane& lane) {
    T value = std::move(*lane.ring[lane.head]);
    lane.ring[lane.head].reset();
    lane.head = (lane.head + 1) % capacity_;
    --lane.count;
    set_count(count_ - 1);
    return value;
  }
  Poll recv_locked(std::optional<T>& out, std::size_t lane) {
    if (lanes_[lane].count > 0) {
      out.emplace(take(lanes_[lane]));
      senders_.wake_one();
      return Poll::Ready;
    }
    return closed_ ? Poll::Closed : Poll::Pending;
  }
  void set_count(std::size_t count) noexcept {
    count_ = count;
    depth_.store(count, std::memory_order_relaxed);
  }

  const std::size_t capacity_;
  const Overflow overflow_;
  std::atomic<std::size_t> depth_ = 0;

  typename Sync::Mutex mutex_;
  std::vector<Lane> lanes_;  // guarded by mutex_, as the rest
  std::size_t count_ = 0;
  WaitList<Waiter> senders_;
  bool closed_ = false;
};

}  // namespace ron::runtime
