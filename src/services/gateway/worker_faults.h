// WorkerFaults: a seam for tests. As many workers fail on purpose as `debug.fail_workers` says, all
// since the start together; a build without tests does not know the key.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/watch_state.h"

namespace ron::gateway {

class WorkerFaults {
 public:
  // This many in all, those of before included.
  void ask_for(std::uint64_t total) { wanted_.set(total); }

  // True: the caller is one of them.
  [[nodiscard]] bool take() {
    const std::uint64_t wanted = wanted_.get().value;
    std::uint64_t failed = failed_.load(std::memory_order_relaxed);
    while (failed < wanted) {
      if (failed_.compare_exchange_weak(failed, failed + 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }

  // For a wait: ready when somebody has asked since it was made. Made before take() says no, it
  // misses nobody.
  class Asked {
   public:
    explicit Asked(WorkerFaults& faults) : state_(&faults.wanted_), seen_(state_->get().version) {}
    runtime::Poll poll(platform::Waiter& waiter) { return state_->poll_changed(seen_, waiter); }
    void forget(platform::Waiter& waiter) noexcept { state_->forget(waiter); }

   private:
    runtime::WatchState<std::uint64_t>* state_;
    std::uint64_t seen_;
  };
  [[nodiscard]] Asked asked() { return Asked(*this); }

 private:
  runtime::WatchState<std::uint64_t> wanted_{0};
  std::atomic<std::uint64_t> failed_{0};
};

}  // namespace ron::gateway
