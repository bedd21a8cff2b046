// Shutdown: the token every long-lived task carries. Level-triggered: once set it stays set.
//
// Copies share one state. The supervisor triggers it with a reason; tasks check `requested()` or
// pass the token to a receive, which then returns as soon as a stop is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/watch_state.h"

namespace ron::runtime {

enum class StopReason : std::uint8_t { None, Signal, Rebind, ParentStopped, Failure };

constexpr std::string_view name(StopReason reason) noexcept {
  switch (reason) {
    case StopReason::None:
      return "none";
    case StopReason::Signal:
      return "signal";
    case StopReason::Rebind:
      return "rebind";
    case StopReason::ParentStopped:
      return "parent_stopped";
    case StopReason::Failure:
      return "failure";
  }
  return "";
}

class Shutdown {
 public:
  Shutdown() : state_(std::make_shared<State>(StopReason::None)) {}

  // The first reason stays. Any thread.
  void trigger(StopReason reason) { state_->set_if(State::kInitialVersion, reason); }
  [[nodiscard]] bool requested() const { return reason() != StopReason::None; }
  [[nodiscard]] StopReason reason() const { return state_->get().value; }

  // For waits: true when requested, else the waiter is linked.
  bool poll(platform::Waiter& waiter) const {
    return state_->poll_changed(State::kInitialVersion, waiter) == Poll::Ready;
  }
  void forget(platform::Waiter& waiter) const noexcept { state_->forget(waiter); }

 private:
  using State = WatchState<StopReason>;

  std::shared_ptr<State> state_;
};

}  // namespace ron::runtime
