#include "http/upstream_member.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ron::http {

std::string_view name(UpstreamState state) noexcept {
  static constexpr std::array<std::string_view, 4> kNames = {"healthy", "down", "ejected",
                                                             "drained"};
  return kNames[static_cast<std::size_t>(state)];
}

UpstreamMeters::UpstreamMeters(runtime::Meters& meters, std::string_view upstream)
    : answered(meters.counter(metrics::kUpstreamRequestsTotal, {upstream, "answered"})),
      unavailable(meters.counter(metrics::kUpstreamRequestsTotal, {upstream, "unavailable"})),
      failed(meters.counter(metrics::kUpstreamRequestsTotal, {upstream, "failed"})),
      abandoned(meters.counter(metrics::kUpstreamRequestsTotal, {upstream, "abandoned"})),
      ejections(meters.counter(metrics::kUpstreamEjectionsTotal, {upstream})),
      returns(meters.counter(metrics::kUpstreamReturnsTotal, {upstream})),
      healthy(meters.gauge(metrics::kUpstreamHealthy, {upstream})),
      probe_failures(meters.counter(metrics::kUpstreamProbeFailuresTotal, {upstream})),
      retries_denied(meters.counter(metrics::kUpstreamRetriesDeniedTotal, {upstream})) {}

bool EjectionPlaces::take() noexcept {
  std::uint32_t free = free_.load(std::memory_order_relaxed);
  while (free > 0) {
    if (free_.compare_exchange_weak(free, free - 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

UpstreamMember::UpstreamMember(std::size_t position, std::string name, UpstreamAddress address,
                               const UpstreamPolicy& policy, EjectionPlaces& places,
                               runtime::Meters& meters, platform::Random& random)
    : position_(position),
      name_(std::move(name)),
      address_(std::move(address)),
      policy_(policy),
      places_(places),
      meters_(meters, name_),
      breaker_(meters, name_, policy.breaker, random) {
  show_health();
}

UpstreamState UpstreamMember::state(platform::TimePoint now) const noexcept {
  if (drained_.load(std::memory_order_relaxed)) return UpstreamState::Drained;
  if (holds(down_until_, now)) return UpstreamState::Down;
  return holds(ejected_until_, now) ? UpstreamState::Ejected : UpstreamState::Healthy;
}

UpstreamStatus UpstreamMember::status(platform::TimePoint now) const {
  UpstreamStatus status{.name = name_,
                        .url = address_.url(),
                        .state = state(now),
                        .breaker = breaker_.state(),
                        .in_flight = in_flight()};
  const std::lock_guard lock(mutex_);
  status.failures = failures_;
  status.ejections = ejections_;
  if (holds(ejected_until_, now)) {
    const base::Duration until(ejected_until_.load(std::memory_order_relaxed));
    status.returns_in = until - now.time_since_epoch();
  }
  return status;
}

void UpstreamMember::show_health() noexcept {
  meters_.healthy.set(is_set(ejected_until_) || is_set(down_until_) ? 0 : 1);
}

void UpstreamMember::lapse(platform::TimePoint now) noexcept {
  const std::lock_guard lock(mutex_);
  if (is_over(ejected_until_, now)) {
    unset(ejected_until_);
    failures_ = 0;
    places_.give_back();
    meters_.returns.add();
  }
  if (is_over(down_until_, now)) {
    unset(down_until_);
    good_probes_ = bad_probes_ = 0;
  }
  show_health();
}

// A success of a request that was sent before an ejection says nothing about the return.
void UpstreamMember::clear() noexcept {
  const std::lock_guard lock(mutex_);
  failures_ = 0;
  if (is_set(ejected_until_)) return;
  ejected_again_ = 0;
  is_suspect_.store(false, std::memory_order_relaxed);
}

void UpstreamMember::note_failure(platform::TimePoint now) noexcept {
  const std::lock_guard lock(mutex_);
  ++failures_;
  is_suspect_.store(true, std::memory_order_relaxed);
  const bool is_outlier = policy_.eject_after > 0 && failures_ >= policy_.eject_after;
  if (is_outlier && !is_set(ejected_until_) && places_.take()) eject(now);
}

void UpstreamMember::eject(platform::TimePoint now) noexcept {
  constexpr std::uint32_t kDoublings = 4;
  static_assert(std::int64_t{1} << kDoublings >= UpstreamPolicy::kLongestEjection);
  const std::int64_t times = std::int64_t{1} << std::min(ejected_again_, kDoublings);
  set(ejected_until_, now + policy_.eject_for * std::min(times, UpstreamPolicy::kLongestEjection));
  ++ejected_again_;
  ++ejections_;
  meters_.ejections.add();
  show_health();
}

void UpstreamMember::note_probe(bool healthy, platform::TimePoint now) noexcept {
  const std::lock_guard lock(mutex_);
  if (!healthy) meters_.probe_failures.add();
  good_probes_ = healthy ? good_probes_ + 1 : 0;
  bad_probes_ = healthy ? 0 : bad_probes_ + 1;
  const UpstreamProbe& probe = policy_.probe;
  const bool is_down = is_set(down_until_) ? good_probes_ < probe.rise : bad_probes_ >= probe.fall;
  if (is_down) {
    set(down_until_, now + kVerdictRounds * (probe.interval + probe.timeout));
  } else {
    unset(down_until_);
  }
  show_health();
}

}  // namespace ron::http
