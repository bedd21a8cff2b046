// WorkerFaults: workers that can be counted, and that fail when a test wants them to.
//
// A seam for tests: as many fail on purpose as `debug.fail_workers` says, all since the start
// together; a build without tests does not know the key.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "platform/task.h"
#include "runtime/watch_state.h"

namespace ron::kit {

class WorkerFaults {
 public:
  // This many in all, those of before included.
  void ask_for(std::uint64_t total) { wanted_.set(total); }

  // The body of a worker: `work`, until that ends or this one is to fail, which it does by an
  // exception, wherever it waits. Cancel-safe.
  platform::Task<void> run(platform::Task<void> work);
  // How many are at it.
  [[nodiscard]] std::size_t running() const noexcept { return running_.load(); }

  // True: the caller is one of those who fail.
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
  // Counts a worker for as long as it runs.
  class Running {
   public:
    explicit Running(std::atomic<std::size_t>& count) noexcept : count_(count) { ++count_; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { --count_; }

   private:
    std::atomic<std::size_t>& count_;
  };

  runtime::WatchState<std::uint64_t> wanted_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::size_t> running_ = 0;
};

}  // namespace ron::kit
