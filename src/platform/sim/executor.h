// CoreExecutor: one simulated core. Its ready jobs wait in the world's pool, where the seed picks
// the next one: jobs of one core may run in any order, so nothing can come to rely on one.
//
// Single-threaded like the whole world; post() from outside any job is fine.
#pragma once

#include <cstdint>

#include "platform/executor.h"
#include "platform/timer_heap.h"

namespace ron::platform::sim {

class World;

class CoreExecutor final : public Executor {
 public:
  CoreExecutor(World& world, std::uint32_t id) noexcept : world_(world), id_(id) {}

  void post(Job& job) noexcept override;
  bool unpost(Job& job) noexcept override;
  void arm(Timer& timer, TimePoint due) noexcept override { timers_.arm(timer, due); }
  void disarm(Timer& timer) noexcept override { timers_.disarm(timer); }
  [[nodiscard]] TimePoint now() const noexcept override;

  // Unique in the world; cores are numbered in the order they were made.
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  [[nodiscard]] TimePoint next_timer() const noexcept { return timers_.next_due(); }

 private:
  friend class World;
  void run(Job& job) noexcept {
    const Entered entered(*this);
    set_place(job, Place::Nowhere);
    job.run();
  }
  void fire_one(TimePoint now) noexcept {
    const Entered entered(*this);
    timers_.fire_next(now);
  }

  World& world_;
  std::uint32_t id_;
  TimerHeap timers_;
};

}  // namespace ron::platform::sim
