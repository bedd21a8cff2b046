// Mpsc<T>: the bounded queue of a service. See mpsc_state.h for the rules it keeps.
#pragma once

#include <expected>
#include <optional>
#include <utility>

#include "platform/task.h"
#include "runtime/metric_names.h"
#include "runtime/topology.h"
#include "runtime/waiting.h"

namespace ron::runtime {

// Any thread may send; receivers wait on their own executors. Built from a declaration only. The
// owner closes it and keeps it alive until every receiver has returned.
template <class T>
class Mpsc {
 public:
  Mpsc(Topology& topology, const ChannelDecl& decl, std::size_t capacity, std::size_t lanes = 1)
      : state_(capacity, decl.overflow, lanes),
        live_{&decl, capacity, [this] { return state_.depth(); }},
        registration_(topology.add(live_)),
        depth_(topology.meters().gauge_fn(
            metrics::kQueueDepth, {decl.name},
            [this] { return static_cast<std::int64_t>(state_.depth()); })),
        dropped_(topology.meters().counter(metrics::kQueueDroppedTotal, {decl.name})) {}
  Mpsc(const Mpsc&) = delete;
  Mpsc& operator=(const Mpsc&) = delete;

  // Never waits. Full (by the declared policy) and Closed hand the value back; drops are counted.
  std::expected<Sent, SendError<T>> try_send(T value, std::size_t lane = 0) {
    auto sent = state_.try_send(std::move(value), lane);
    const bool dropped =
        sent ? *sent == Sent::DroppedOldest : sent.error().kind == SendError<T>::Kind::Full;
    if (dropped) dropped_.add();
    return sent;
  }

  // True, and counted as a drop, if try_send would be refused now: lets a producer shed load before
  // it has built the value.
  bool refuse_if_full() noexcept {
    if (state_.depth() < state_.capacity()) return false;
    dropped_.add();
    return true;
  }

  // Waits for room under the deadline; running out of time is Full and counts as dropped.
  // Cancel-safe: an aborted send has not happened.
  platform::Task<std::expected<void, SendError<T>>> send(T value, Deadline deadline,
                                                         std::size_t lane = 0) {
    const Waited waited = co_await wait_for(SendOp{&state_, &value, lane}, deadline);
    if (waited == Waited::Ready) co_return std::expected<void, SendError<T>>{};
    using Kind = typename SendError<T>::Kind;
    const Kind kind = waited == Waited::Closed ? Kind::Closed : Kind::Full;
    if (kind == Kind::Full) dropped_.add();
    co_return std::unexpected(SendError<T>{kind, std::move(value)});
  }

  // The next item of the lane, or why there is none: Closed (and drained) or TimedOut. A receiver
  // that never finds the lane empty yields when its core's turn is over. Cancel-safe: no item is
  // lost.
  platform::Task<std::expected<T, Waited>> recv(Deadline deadline = {}, std::size_t lane = 0) {
    if (turn_is_over()) co_await platform::Yield();
    std::optional<T> item;
    const Waited waited = co_await wait_for(RecvOp{&state_, &item, lane}, deadline);
    if (waited != Waited::Ready) co_return std::unexpected(waited);
    count_item();
    co_return std::move(*item);
  }
  // The same, returning Stopped once a stop is requested and nothing is queued. Cancel-safe.
  platform::Task<std::expected<T, Waited>> recv_or_stop(Shutdown shutdown, std::size_t lane = 0) {
    if (turn_is_over()) co_await platform::Yield();
    std::optional<T> item;
    const Waited waited =
        co_await wait_for(RecvOp{&state_, &item, lane}, Deadline(), std::move(shutdown));
    if (waited != Waited::Ready) co_return std::unexpected(waited);
    count_item();
    co_return std::move(*item);
  }

  std::optional<T> try_recv(std::size_t lane = 0) {
    std::optional<T> item;
    state_.try_recv(item, lane);
    return item;
  }

  void close() noexcept { state_.close(); }
  [[nodiscard]] std::size_t depth() const noexcept { return state_.depth(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return state_.capacity(); }

 private:
  using State = MpscState<T>;
  struct SendOp {
    State* state;
    T* value;
    std::size_t lane;
    Poll poll(platform::Waiter& waiter) { return state->poll_send(*value, waiter, lane); }
    void forget(platform::Waiter& waiter) noexcept { state->forget_sender(waiter); }
  };
  struct RecvOp {
    State* state;
    std::optional<T>* item;
    std::size_t lane;
    Poll poll(platform::Waiter& waiter) { return state->poll_recv(*item, waiter, lane); }
    void forget(platform::Waiter& waiter) noexcept { state->forget_receiver(waiter, lane); }
  };

  State state_;
  Topology::Live live_;
  Topology::Registration registration_;
  GaugeRegistration depth_;
  Counter& dropped_;
};

}  // namespace ron::runtime
