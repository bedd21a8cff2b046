#include "runtime/pacer.h"

#include <algorithm>
#include <cassert>
#include <chrono>

#include "platform/wait.h"
#include "runtime/lock.h"

namespace ron::runtime {
namespace {

constexpr std::int64_t kNanos = 1'000'000'000;
// No sleep is longer; whoever needs more simply looks again.
constexpr base::Duration kLongestSleep = std::chrono::hours(24);

}  // namespace

// A place in the queue, in the frame of the waiting coroutine.
class Pacer::Turn {
 public:
  Turn(Pacer& pacer, platform::Parker& parker, std::uint64_t bytes)
      : pacer_(pacer), waiter_(parker), cost_(static_cast<Credit>(bytes) * kNanos) {
    const std::lock_guard lock(pacer_.mutex_);
    pacer_.turns_.push_back(waiter_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    const std::lock_guard lock(pacer_.mutex_);
    const bool was_head = pacer_.turns_.front() == &waiter_;
    pacer_.turns_.forget(waiter_);
    if (!was_head) return;
    pacer_.most_ = pacer_.burst_;
    if (!pacer_.turns_.empty()) pacer_.turns_.front()->wake();
  }

  // At or before `now`: granted. Later: when to look again. kNever: others are ahead.
  platform::TimePoint poll(platform::TimePoint now) {
    const std::lock_guard lock(pacer_.mutex_);
    if (pacer_.turns_.front() != &waiter_) return platform::kNever;
    // What accrued before this turn came is capped at the burst; from then on it is saved up.
    pacer_.accrue(now);
    pacer_.most_ = std::max(pacer_.burst_, cost_);
    const Credit missing = cost_ - pacer_.credit_;
    if (missing > 0) {
      const Credit nanos = (missing + pacer_.rate_ - 1) / pacer_.rate_;
      return now + base::Duration(
                       static_cast<std::int64_t>(std::min<Credit>(nanos, kLongestSleep.count())));
    }
    pacer_.credit_ -= cost_;
    return now;
  }

 private:
  Pacer& pacer_;
  platform::Waiter waiter_;
  const Credit cost_;
};

Pacer::Pacer(base::Rate rate, base::Size burst, Histogram& waited)
    : waited_(waited),
      rate_(rate.bytes_per_second),
      burst_(static_cast<Credit>(burst.bytes) * kNanos),
      credit_(burst_),
      most_(burst_) {
  assert(rate_ > 0 && burst.bytes > 0);
}

platform::Task<base::Result<void>> Pacer::acquire(std::uint64_t bytes, Deadline deadline) {
  platform::Parker parker;
  const platform::Executor& executor = parker.executor();
  const platform::TimePoint asked = executor.now();
  Turn turn(*this, parker, bytes);
  for (;;) {
    const platform::TimePoint now = executor.now();
    const platform::TimePoint due = turn.poll(now);
    if (due <= now) {
      waited_.observe(now - asked);
      co_return base::Result<void>{};
    }
    const bool hopeless = due != platform::kNever && due > deadline.at();
    if (hopeless || now >= deadline.at()) {
      co_return base::fail(base::Code::Timeout, "the pacing budget does not allow it in time");
    }
    assert_no_locks_held();
    co_await parker.park(std::min(due, deadline.at()));
  }
}

void Pacer::set_rate(platform::TimePoint now, base::Rate rate) {
  assert(rate.bytes_per_second > 0);
  const std::lock_guard lock(mutex_);
  accrue(now);
  rate_ = rate.bytes_per_second;
  if (!turns_.empty()) turns_.front()->wake();
}

void Pacer::accrue(platform::TimePoint now) noexcept {
  if (now > accrued_until_) {
    credit_ += static_cast<Credit>((now - accrued_until_).count()) * rate_;
    accrued_until_ = now;
  }
  credit_ = std::min(credit_, most_);
}

}  // namespace ron::runtime
