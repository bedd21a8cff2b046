// Loop: the posix executor. One thread, one epoll set, edge-triggered; jobs, timers and descriptors
// all run here. Bounded work per turn, so that a busy queue cannot starve the sockets.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "platform/executor.h"
#include "platform/timer_heap.h"

namespace ron::platform::posix {

// A descriptor registered with a loop. `on_events` runs on the loop's thread and must only set
// events: no user code runs while the kernel's list of ready descriptors is being walked.
class IoSource {
 public:
  using OnEvents = void (*)(IoSource&, std::uint32_t events) noexcept;
  explicit IoSource(OnEvents on_events) noexcept : on_events_(on_events) {}
  IoSource(const IoSource&) = delete;
  IoSource& operator=(const IoSource&) = delete;

  void notify(std::uint32_t events) noexcept { on_events_(*this, events); }

 private:
  OnEvents on_events_;

 protected:
  ~IoSource() = default;
};

class Loop final : public Executor {
 public:
  Loop();
  ~Loop() override;

  // Runs until stop(), and then sees what its caller wrote before. The calling thread becomes the
  // loop's thread.
  void run();
  // Any thread. The loop ends after its current turn.
  void stop() noexcept;

  // Registers for input, output and hang-up, edge-triggered. Removal is by closing the descriptor.
  // Returns an errno, 0 on success.
  int add(int descriptor, IoSource& source) noexcept;

  void post(Job& job) noexcept override;
  void defer(Job& job) noexcept override;
  bool unpost(Job& job) noexcept override;
  void arm(Timer& timer, TimePoint due) noexcept override { timers_.arm(timer, due); }
  void disarm(Timer& timer) noexcept override { timers_.disarm(timer); }
  [[nodiscard]] TimePoint now() const noexcept override { return now_; }

 private:
  void run_jobs() noexcept;
  void poll_descriptors() noexcept;
  [[nodiscard]] int sleep_ms() const noexcept;
  bool collect_inbox(bool about_to_sleep) noexcept;
  void kick() noexcept;

  int epoll_ = -1;
  int wake_ = -1;  // eventfd that ends a sleep
  TimePoint now_;
  JobList ready_;
  JobList deferred_;  // for the next turn
  TimerHeap timers_;
  std::atomic<bool> stopping_ = false;

  std::mutex inbox_mutex_;
  JobList inbox_;        // guarded by inbox_mutex_
  bool asleep_ = false;  // guarded by inbox_mutex_
};

}  // namespace ron::platform::posix
