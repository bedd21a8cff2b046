// Watch<T>: the latest snapshot of something read-mostly (configuration, readiness), swapped whole.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/topology.h"
#include "runtime/waiting.h"
#include "runtime/watch_state.h"

namespace ron::runtime {

// Any thread may set and get. T is cheap to copy: a shared_ptr<const Snapshot> or a few words.
template <class T>
class Watch {
 public:
  Watch(Topology& topology, const ChannelDecl& decl, T initial)
      : state_(std::move(initial)),
        live_{&decl, 1, [] { return std::size_t{1}; }},
        registration_(topology.add(live_)) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void set(T value) { state_.set(std::move(value)); }
  [[nodiscard]] T get() const { return state_.get().value; }
  void close() noexcept { state_.close(); }

  // One reader's memory of what it has seen.
  class Receiver {
   public:
    explicit Receiver(Watch& owner) : owner_(&owner) { see(); }

    // Waits for a version newer than the last one seen here. Ready, Closed, TimedOut or Stopped.
    // Cancel-safe.
    platform::Task<Waited> changed(Deadline deadline, Shutdown shutdown) {
      return wait_for(ChangedOp{&owner_->state_, seen_}, deadline, std::move(shutdown));
    }
    // The latest value, which counts as seen.
    T see() {
      auto versioned = owner_->state_.get();
      seen_ = versioned.version;
      return std::move(versioned.value);
    }

   private:
    Watch* owner_;
    std::uint64_t seen_ = 0;
  };
  Receiver subscribe() { return Receiver(*this); }

 private:
  struct ChangedOp {
    WatchState<T>* state;
    std::uint64_t seen;
    Poll poll(platform::Waiter& waiter) { return state->poll_changed(seen, waiter); }
    void forget(platform::Waiter& waiter) noexcept { state->forget(waiter); }
  };

  WatchState<T> state_;
  Topology::Live live_;
  Topology::Registration registration_;
};

}  // namespace ron::runtime
