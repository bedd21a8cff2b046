#include "services/index/rank.h"

#include <algorithm>
#include <cmath>

namespace ron::index {
namespace {

constexpr double kOtherRegion = 0.5;
constexpr double kOldest = 0.01;  // nobody sinks to nothing by age alone

constexpr double worth(LatencyClass latency) noexcept {
  switch (latency) {
    case LatencyClass::Near:
      return 1.0;
    case LatencyClass::Regional:
      return 0.9;
    case LatencyClass::Far:
      return 0.7;
    case LatencyClass::Slow:
      return 0.4;
    case LatencyClass::Unknown:
      return 0.8;
  }
  return 0.8;
}

constexpr double worth(runtime::BreakerState breaker) noexcept {
  switch (breaker) {
    case runtime::BreakerState::Closed:
      return 1.0;
    case runtime::BreakerState::HalfOpen:
      return 0.5;
    case runtime::BreakerState::Open:
      return 0.1;
  }
  return 1.0;
}

double freshness(std::int64_t age_ms, base::Duration half_life) noexcept {
  const auto half_ms = std::chrono::duration<double, std::milli>(half_life).count();
  if (age_ms <= 0 || half_ms <= 0) return 1.0;  // a clock that runs ahead is no merit
  return std::max(kOldest, std::exp2(-static_cast<double>(age_ms) / half_ms));
}

}  // namespace

LatencyClass latency_class(std::optional<std::uint32_t> latency_ms) noexcept {
  if (!latency_ms) return LatencyClass::Unknown;
  if (*latency_ms <= 10) return LatencyClass::Near;
  if (*latency_ms <= 50) return LatencyClass::Regional;
  if (*latency_ms <= 250) return LatencyClass::Far;
  return LatencyClass::Slow;
}

double score(const RankFacts& facts, const RankPolicy& policy, std::int64_t now_ms) noexcept {
  const bool is_elsewhere = !policy.region.empty() && facts.region != policy.region;
  return (is_elsewhere ? kOtherRegion : 1.0) *
         freshness(now_ms - facts.seen_ms, policy.freshness_half_life) *
         worth(latency_class(facts.latency_ms)) * worth(facts.breaker);
}

}  // namespace ron::index
