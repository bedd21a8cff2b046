// The one wait loop of the runtime: poll, park, poll again.
//
// `Op` is a small value with `Poll poll(Waiter&)` and `void forget(Waiter&)`. The loop owns the
// waiter and forgets it when the frame dies, so every operation built on it is cancel-safe: an
// aborted caller has consumed nothing, and a wake-up it had been given is passed on to the next.
#pragma once

#include <cstdint>
#include <utility>

#include "platform/task.h"
#include "platform/wait.h"
#include "runtime/deadline.h"
#include "runtime/lock.h"
#include "runtime/mpsc_state.h"
#include "runtime/shutdown.h"

namespace ron::runtime {

// How a wait ended.
enum class Waited : std::uint8_t { Ready, Closed, TimedOut, Stopped };

template <class Op>
class WaiterGuard {
 public:
  WaiterGuard(Op& op, platform::Parker& parker) noexcept : op_(op), waiter_(parker) {}
  WaiterGuard(const WaiterGuard&) = delete;
  WaiterGuard& operator=(const WaiterGuard&) = delete;
  ~WaiterGuard() { op_.forget(waiter_); }

  platform::Waiter& get() noexcept { return waiter_; }

 private:
  Op& op_;
  platform::Waiter waiter_;
};

// Before the next item is taken, by whoever takes item after item: one that always finds something
// lets its core's others have their turn after a bounded number of them. Cancel-safe.
//
//   if (turn_is_over()) co_await platform::Yield();
//
// And after one was taken.
inline bool turn_is_over() noexcept { return platform::Executor::current()->turn_is_over(); }
inline void count_item() noexcept {
  platform::Executor::current()->spend(platform::Executor::kItemBytes);
}

// Waits until the operation is ready or closed, or the deadline passes. Cancel-safe.
template <class Op>
platform::Task<Waited> wait_for(Op op, Deadline deadline) {
  platform::Parker parker;
  WaiterGuard<Op> waiter(op, parker);
  for (;;) {
    const Poll poll = op.poll(waiter.get());
    if (poll != Poll::Pending) co_return poll == Poll::Ready ? Waited::Ready : Waited::Closed;
    assert_no_locks_held();
    const bool in_time = co_await parker.park(deadline.at());
    if (!in_time) co_return Waited::TimedOut;
  }
}

// The same, also ending when a stop is requested. What is ready is taken first: a stop never hides
// it.
template <class Op>
platform::Task<Waited> wait_for(Op op, Deadline deadline, Shutdown shutdown) {
  platform::Parker parker;
  WaiterGuard<Op> waiter(op, parker);
  WaiterGuard<Shutdown> stop(shutdown, parker);
  for (;;) {
    const Poll poll = op.poll(waiter.get());
    if (poll != Poll::Pending) co_return poll == Poll::Ready ? Waited::Ready : Waited::Closed;
    if (shutdown.poll(stop.get())) co_return Waited::Stopped;
    assert_no_locks_held();
    const bool in_time = co_await parker.park(deadline.at());
    if (!in_time) co_return Waited::TimedOut;
  }
}

// Waits for a stop request. Cancel-safe.
struct StopOp {
  Shutdown shutdown;
  Poll poll(platform::Waiter& waiter) const {
    return shutdown.poll(waiter) ? Poll::Ready : Poll::Pending;
  }
  void forget(platform::Waiter& waiter) const noexcept { shutdown.forget(waiter); }
};
inline platform::Task<Waited> wait_stop(Shutdown shutdown, Deadline deadline = {}) {
  return wait_for(StopOp{std::move(shutdown)}, deadline);
}

}  // namespace ron::runtime
