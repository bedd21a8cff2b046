// Pacer: shares a budget of bytes per second between workers on any core, first come first served.
//
// The worker at the head of the queue waits for its bytes to accrue; the others wait for their
// turn, so a large request cannot be starved by small ones. In any span t at most rate * t + burst
// bytes are granted; a single request above the burst waits until all of it has accrued, and then
// the burst is that request.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/result.h"
#include "base/units.h"
#include "platform/executor.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/meter.h"
#include "runtime/sync.h"

namespace ron::runtime {

// Any thread may acquire, each waiting on its own executor. Outlives every waiter. Starts full.
class Pacer {
 public:
  // `waited` observes how long each grant took: repair_wait_seconds for repair work. Rate above
  // zero.
  Pacer(base::Rate rate, base::Size burst, Histogram& waited);
  Pacer(const Pacer&) = delete;
  Pacer& operator=(const Pacer&) = delete;

  // Returns when the bytes may be moved; Timeout when the deadline passes first, or at once when
  // the head of the queue can tell that it will. Cancel-safe: an aborted or timed-out wait has
  // taken nothing and its turn passes on.
  platform::Task<base::Result<void>> acquire(std::uint64_t bytes, Deadline deadline);

  // Takes effect at once, also for the one waiting at the head.
  void set_rate(platform::TimePoint now, base::Rate rate);

 private:
  class Turn;
  // Bytes times 1e9, so that a nanosecond at any rate is a whole number.
  using Credit = __int128;

  void accrue(platform::TimePoint now) noexcept;

  Histogram& waited_;

  std::mutex mutex_;
  std::uint64_t rate_;  // bytes per second; guarded by mutex_, as the rest
  const Credit burst_;
  Credit credit_;
  Credit most_;  // what may be saved up: the burst, or all the head needs
  platform::TimePoint accrued_until_{};
  WaitList<platform::Waiter> turns_;  // the head stays linked until it is served or gives up
};

}  // namespace ron::runtime
