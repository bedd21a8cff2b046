// Broadcast<T>: events to any number of listeners; slow ones miss the oldest and are told how many.
#pragma once

#include <expected>
#include <optional>
#include <utility>
#include <variant>

#include "runtime/broadcast_core.h"
#include "runtime/metric_names.h"
#include "runtime/topology.h"
#include "runtime/waiting.h"

namespace ron::runtime {

// Any thread may send and subscribe. The owner keeps it alive until every subscription is gone.
template <class T>
class Broadcast {
 public:
  using Core = BroadcastCore<T>;
  // A value, or how many were missed before the next one.
  using Received = std::variant<T, Lagged>;

  Broadcast(Topology& topology, const ChannelDecl& decl, std::size_t capacity)
      : core_(capacity),
        live_{&decl, capacity, [] { return std::size_t{0}; }},
        registration_(topology.add(live_)),
        lagged_(topology.meters().counter(metrics::kBusLaggedTotal, {decl.name})),
        dropped_(topology.meters().counter(metrics::kQueueDroppedTotal, {decl.name})) {}
  Broadcast(const Broadcast&) = delete;
  Broadcast& operator=(const Broadcast&) = delete;

  // Never waits; false after close().
  bool send(T value) { return core_.send(std::move(value)); }
  void close() noexcept { core_.close(); }

  // One listener's place in the stream. Used by one task at a time.
  class Subscription {
   public:
    explicit Subscription(Broadcast& owner) : owner_(&owner), cursor_(owner.core_.subscribe()) {}

    // Cancel-safe: an aborted receive has consumed nothing.
    platform::Task<std::expected<Received, Waited>> recv(Deadline deadline = {}) {
      std::optional<T> item;
      Lagged lagged;
      const Waited waited = co_await wait_for(RecvOp{this, &item, &lagged}, deadline);
      if (waited != Waited::Ready) co_return std::unexpected(waited);
      if (lagged.missed > 0) {
        owner_->lagged_.add(lagged.missed);
        owner_->dropped_.add(lagged.missed);
        co_return Received(lagged);
      }
      co_return Received(std::move(*item));
    }

   private:
    struct RecvOp {
      Subscription* self;
      std::optional<T>* item;
      Lagged* lagged;
      Poll poll(platform::Waiter& waiter) {
        return self->owner_->core_.poll_recv(self->cursor_, *item, *lagged, waiter);
      }
      void forget(platform::Waiter& waiter) noexcept { self->owner_->core_.forget(waiter); }
    };
    Broadcast* owner_;
    typename Core::Cursor cursor_;
  };
  Subscription subscribe() { return Subscription(*this); }

 private:
  Core core_;
  Topology::Live live_;
  Topology::Registration registration_;
  Counter& lagged_;
  Counter& dropped_;
};

}  // namespace ron::runtime
