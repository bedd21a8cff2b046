// Shutdown: the token every long-lived task carries. Level-triggered: once set it stays set.
//
// Copies share one state. The supervisor triggers it with a reason; tasks check `requested()` or
// pass the token to a receive, which then returns as soon as a stop is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/watch_core.h"

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
  Shutdown() : core_(std::make_shared<Core>(StopReason::None)) {}

  // The first reason stays. Any thread.
  void trigger(StopReason reason) { core_->set_if(Core::kInitialVersion, reason); }
  [[nodiscard]] bool requested() const { return reason() != StopReason::None; }
  [[nodiscard]] StopReason reason() const { return core_->get().value; }

  // For waits: true when requested, else the waiter is linked.
  bool poll(platform::Waiter& waiter) const {
    return core_->poll_changed(Core::kInitialVersion, waiter) == Poll::Ready;
  }
  void forget(platform::Waiter& waiter) const noexcept { core_->forget(waiter); }

 private:
  using Core = WatchCore<StopReason>;

  std::shared_ptr<Core> core_;
};

}  // namespace ron::runtime
