// Broadcast<T>: events to any number of listeners; slow ones miss the oldest and are told how many.
#pragma once

#include <expected>
#include <optional>
#include <utility>
#include <variant>

#include "runtime/broadcast_state.h"
#include "runtime/metric_names.h"
#include "runtime/topology.h"
#include "runtime/waiting.h"

namespace ron::runtime {

// Any thread may send and subscribe. The owner keeps it alive until every subscription is gone.
template <class T>
class Broadcast {
 public:
  using State = BroadcastState<T>;
  // A value, or how many were missed before the next one.
  using Received = std::variant<T, Lagged>;

  Broadcast(Topology& topology, const ChannelDecl& decl, std::size_t capacity)
      : state_(capacity),
        live_{&decl, capacity, [] { return std::size_t{0}; }},
        registration_(topology.add(live_)),
        meters_(topology.meters()),
        name_(decl.name),
        lagged_(meters_.counter(metrics::kBusLaggedTotal, {name_})),
        dropped_(topology.meters().counter(metrics::kQueueDroppedTotal, {decl.name})) {}
  Broadcast(const Broadcast&) = delete;
  Broadcast& operator=(const Broadcast&) = delete;

  // Never waits; false after close().
  bool send(T value) { return state_.send(std::move(value)); }
  void close() noexcept { state_.close(); }

  // One listener's place in the stream. Used by one task at a time.
  class Subscription {
   public:
    Subscription(Broadcast& owner, Counter& lagged)
        : owner_(&owner), lagged_(&lagged), cursor_(owner.state_.subscribe()) {}

    // Yields like Mpsc::recv. Cancel-safe: an aborted receive has consumed nothing.
    platform::Task<std::expected<Received, Waited>> recv(Deadline deadline = {}) {
      if (turn_is_over()) co_await platform::Yield();
      Slot slot;
      const Waited waited = co_await wait_for(RecvOp{this, &slot}, deadline);
      co_return take(waited, slot);
    }
    // The same, returning Stopped once a stop is requested and nothing is left. Cancel-safe.
    platform::Task<std::expected<Received, Waited>> recv_or_stop(Shutdown shutdown) {
      if (turn_is_over()) co_await platform::Yield();
      Slot slot;
      const Waited waited = co_await wait_for(RecvOp{this, &slot}, Deadline(), std::move(shutdown));
      co_return take(waited, slot);
    }

    // Leaves out what is there, counted as missed: for whoever only wants the latest.
    void skip() { count(owner_->state_.skip(cursor_)); }

   private:
    struct Slot {
      std::optional<T> item;
      Lagged lagged;
    };
    std::expected<Received, Waited> take(Waited waited, Slot& slot) {
      if (waited != Waited::Ready) return std::unexpected(waited);
      count_item();
      if (slot.lagged.missed == 0) return Received(std::move(*slot.item));
      count(slot.lagged.missed);
      return Received(slot.lagged);
    }
    void count(std::uint64_t missed) {
      lagged_->add(missed);
      owner_->dropped_.add(missed);
    }
    struct RecvOp {
      Subscription* self;
      Slot* slot;
      Poll poll(platform::Waiter& waiter) {
        return self->owner_->state_.poll_recv(self->cursor_, slot->item, slot->lagged, waiter);
      }
      void forget(platform::Waiter& waiter) noexcept { self->owner_->state_.forget(waiter); }
    };
    Broadcast* owner_;
    Counter* lagged_;
    typename State::Cursor cursor_;
  };
  Subscription subscribe() { return Subscription(*this, lagged_); }
  // What this one misses is counted under its own name, one of few.
  Subscription subscribe(std::string_view consumer) {
    return Subscription(*this, meters_.counter(metrics::kBusLaggedTotal, {name_, consumer}));
  }

 private:
  State state_;
  Topology::Live live_;
  Topology::Registration registration_;
  Meters& meters_;
  const std::string_view name_;
  Counter& lagged_;
  Counter& dropped_;
};

}  // namespace ron::runtime
