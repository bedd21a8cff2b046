#include "runtime/breaker.h"

#include <algorithm>
#include <cassert>

#include "runtime/metric_names.h"

namespace ron::runtime {

std::string_view name(BreakerState state) noexcept {
  return metrics::kBreakerStates[static_cast<std::size_t>(state)];
}

Breaker::Breaker(Meters& meters, std::string_view target, BreakerPolicy policy,
                 platform::Random& random)
    : policy_(policy),
      target_(target),
      gauges_{&meters.gauge(metrics::kBreakerState, {target, name(BreakerState::Closed)}),
              &meters.gauge(metrics::kBreakerState, {target, name(BreakerState::Open)}),
              &meters.gauge(metrics::kBreakerState, {target, name(BreakerState::HalfOpen)})},
      refused_(meters.counter(metrics::kBreakerOpenTotal, {target})),
      jitter_(random.next()) {
  assert(policy.error_percent > 0 && policy.error_percent <= 100);
  assert(policy.min_volume > 0 && policy.probes > 0);
  assert(policy.window.count() >= kBuckets && policy.open_for.count() > 1);
  enter(BreakerState::Closed);
}

base::Result<Breaker::Permit> Breaker::admit(platform::TimePoint now) {
  if (std::optional<Permit> permit = admit_closed()) return std::move(*permit);
  const std::lock_guard lock(mutex_);
  if (std::optional<Permit> permit = admit_locked(now)) return std::move(*permit);
  const bool rests = state_ == BreakerState::Open;
  return base::fail(refusal(rests ? open_until_ - now : std::chrono::seconds(1)));
}

std::optional<Breaker::Permit> Breaker::try_admit(platform::TimePoint now) {
  if (std::optional<Permit> permit = admit_closed()) return permit;
  const std::lock_guard lock(mutex_);
  return admit_locked(now);
}

// One that opens at this moment makes the permit void, as it does with those given before.
std::optional<Breaker::Permit> Breaker::admit_closed() noexcept {
  const std::uint64_t era = closed_era_.load(std::memory_order_relaxed);
  if (era == 0) return std::nullopt;
  return Permit(*this, era, false);
}

std::optional<Breaker::Permit> Breaker::admit_locked(platform::TimePoint now) noexcept {
  if (state_ == BreakerState::Open) {
    if (now < open_until_) return std::nullopt;
    enter(BreakerState::HalfOpen);
  }
  const bool probe = state_ == BreakerState::HalfOpen;
  if (probe) {
    if (probing_ + proven_ >= policy_.probes) return std::nullopt;
    ++probing_;
  }
  return Permit(*this, era_, probe);
}

BreakerState Breaker::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

base::Error Breaker::refusal(base::Duration wait) {
  refused_.add();
  base::Error error(base::Code::BreakerOpen, "the circuit breaker for " + target_ + " is open");
  error.retry_after_s =
      static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(wait).count());
  return error;
}

void Breaker::record(std::uint64_t era, Outcome outcome, platform::TimePoint now) noexcept {
  const std::lock_guard lock(mutex_);
  if (era != era_) return;
  if (state_ == BreakerState::HalfOpen) {
    if (outcome.has_place) --probing_;
    if (!outcome.good) {
      open(now);
    } else if (++proven_ == policy_.probes) {
      enter(BreakerState::Closed);
    }
    return;
  }
  count(outcome.good, now);
  if (!outcome.good && too_many_errors(now)) open(now);
}

void Breaker::free_place(std::uint64_t era) noexcept {
  const std::lock_guard lock(mutex_);
  if (era == era_ && state_ == BreakerState::HalfOpen) --probing_;
}

void Breaker::count(bool good, platform::TimePoint now) noexcept {
  const std::int64_t number = bucket_number(now);
  Bucket& bucket = buckets_[static_cast<std::size_t>(number % kBuckets)];
  if (bucket.number < number) bucket = {number, 0, 0};
  ++(good ? bucket.good : bucket.bad);
}

bool Breaker::too_many_errors(platform::TimePoint now) const noexcept {
  const std::int64_t oldest = bucket_number(now) - kBuckets + 1;
  std::uint64_t good = 0;
  std::uint64_t bad = 0;
  for (const Bucket& bucket : buckets_) {
    if (bucket.number < oldest) continue;
    good += bucket.good;
    bad += bucket.bad;
  }
  const std::uint64_t volume = good + bad;
  const std::uint64_t allowed = policy_.error_percent * volume;
  if (volume < policy_.min_volume) return false;
  return policy_.above_only ? bad * 100 > allowed : bad * 100 >= allowed;
}

std::int64_t Breaker::bucket_number(platform::TimePoint now) const noexcept {
  return now.time_since_epoch().count() / (policy_.window.count() / kBuckets);
}

void Breaker::open(platform::TimePoint now) noexcept {
  const std::int64_t most = policy_.open_for.count() / 100 * policy_.open_jitter_percent;
  const auto spread = static_cast<std::uint64_t>(most + 1);
  const auto extra = static_cast<std::int64_t>(jitter_.below(spread));
  open_until_ = now + policy_.open_for + base::Duration(extra);
  enter(BreakerState::Open);
}

// A new state starts from nothing: no outcomes, no probes, and permits of the old one are void.
void Breaker::enter(BreakerState state) noexcept {
  state_ = state;
  ++era_;
  closed_era_.store(state == BreakerState::Closed ? era_ : 0, std::memory_order_relaxed);
  buckets_ = {};
  probing_ = 0;
  proven_ = 0;
  for (std::size_t i = 0; i < gauges_.size(); ++i) {
    gauges_[i]->set(i == static_cast<std::size_t>(state) ? 1 : 0);
  }
}

}  // namespace ron::runtime
