// The wait loops of src/runtime in terms of the model: poll, park, poll again, and forget the
// waiter at the end whatever happened. Giving up stands for a deadline and for an aborted frame.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "explorer.h"
#include "runtime/mpsc_state.h"

namespace ron::models {

enum class Waited : std::uint8_t { Ready, Closed, GaveUp, Stopped };

// An operation is a small value with `Poll poll(Waiter&)` and `void forget(Waiter&)`.
template <class Op, class Waiter>
class WaiterGuard {
 public:
  WaiterGuard(Op& op, Parker& parker) : op_(op), waiter_(parker) {}
  WaiterGuard(const WaiterGuard&) = delete;
  WaiterGuard& operator=(const WaiterGuard&) = delete;
  ~WaiterGuard() { op_.forget(waiter_); }

  Waiter& get() noexcept { return waiter_; }

 private:
  Op& op_;
  Waiter waiter_;
};

// One waiter for any number of waits in a row.
template <class Op>
class Wait {
 public:
  explicit Wait(Op op) : op_(op), waiter_(op_, parker_) {}

  Waited operator()(Patience patience = Patience::Forever) {
    for (;;) {
      const runtime::Poll poll = op_.poll(waiter_.get());
      if (poll == runtime::Poll::Ready) return Waited::Ready;
      if (poll == runtime::Poll::Closed) return Waited::Closed;
      if (!parker_.park(patience)) return Waited::GaveUp;
    }
  }

 private:
  Op op_;
  Parker parker_;
  WaiterGuard<Op, typename Op::Waiter> waiter_;
};

template <class Op>
Waited wait_for(Op op, Patience patience = Patience::Forever) {
  return Wait<Op>(op)(patience);
}

// The same, also ending when `stop` is ready. What is ready is taken first.
template <class Op, class Stop>
Waited wait_for(Op op, Stop stop) {
  Parker parker;
  WaiterGuard<Op, typename Op::Waiter> waiter(op, parker);
  WaiterGuard<Stop, typename Stop::Waiter> stop_waiter(stop, parker);
  for (;;) {
    const runtime::Poll poll = op.poll(waiter.get());
    if (poll == runtime::Poll::Ready) return Waited::Ready;
    if (poll == runtime::Poll::Closed) return Waited::Closed;
    if (stop.poll(stop_waiter.get()) == runtime::Poll::Ready) return Waited::Stopped;
    parker.park();
  }
}

template <class State, class T>
struct SendOp {
  using Waiter = typename State::Waiter;
  State& state;
  T& value;
  std::size_t lane = 0;

  runtime::Poll poll(Waiter& waiter) { return state.poll_send(value, waiter, lane); }
  void forget(Waiter& waiter) { state.forget_sender(waiter); }
};

template <class State, class T>
struct RecvOp {
  using Waiter = typename State::Waiter;
  State& state;
  std::optional<T>& out;
  std::size_t lane = 0;

  runtime::Poll poll(Waiter& waiter) { return state.poll_recv(out, waiter, lane); }
  void forget(Waiter& waiter) { state.forget_receiver(waiter, lane); }
};

// Ready once the watch has a version other than `seen`.
template <class State>
struct ChangedOp {
  using Waiter = typename State::Waiter;
  State& state;
  std::uint64_t seen = 1;  // the version a watch starts with

  runtime::Poll poll(Waiter& waiter) { return state.poll_changed(seen, waiter); }
  void forget(Waiter& waiter) { state.forget(waiter); }
};

}  // namespace ron::models
