// Deadline: the moment after which nobody wants the answer. Minted at the edge, passed down,
// composed by minimum; every await on I/O takes one or inherits the request's.
#pragma once

#include <algorithm>

#include "base/units.h"
#include "platform/executor.h"
#include "platform/task.h"
#include "platform/wait.h"
#include "runtime/lock.h"

namespace ron::runtime {

class Deadline {
 public:
  // Never passes.
  constexpr Deadline() = default;
  constexpr explicit Deadline(platform::TimePoint at) : at_(at) {}

  // `after` from now on the current executor.
  static Deadline in(base::Duration after) {
    const platform::TimePoint now = platform::Executor::current()->now();
    return Deadline(after > platform::kNever - now ? platform::kNever : now + after);
  }

  [[nodiscard]] constexpr platform::TimePoint at() const noexcept { return at_; }
  [[nodiscard]] bool passed() const noexcept { return platform::Executor::current()->now() >= at_; }
  [[nodiscard]] constexpr Deadline sooner(Deadline other) const noexcept {
    return Deadline(std::min(at_, other.at_));
  }
  friend auto operator<=>(const Deadline&, const Deadline&) = default;

 private:
  platform::TimePoint at_ = platform::kNever;
};

// Sleeps on the executor's time: real or virtual. Cancel-safe.
inline platform::Task<void> sleep_until(Deadline deadline) {
  platform::Parker parker;
  assert_no_locks_held();
  co_await parker.park(deadline.at());
}
inline platform::Task<void> sleep_for(base::Duration duration) {
  return sleep_until(Deadline::in(duration));
}

}  // namespace ron::runtime
