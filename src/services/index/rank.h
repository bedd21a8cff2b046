// Which provider is the better one, from what is known of it. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.h"
#include "runtime/breaker.h"

namespace ron::index {

struct RankPolicy {
  // A record that was seen this long ago is worth half.
  base::Duration freshness_half_life = std::chrono::hours(1);
  std::string_view region{};  // where whoever asks is; empty: all regions are alike
};

// What is known of a provider.
struct RankFacts {
  std::string_view region{};
  std::int64_t seen_ms = 0;                                       // when it was last heard of
  std::optional<std::uint32_t> latency_ms{};                      // of whoever named it
  runtime::BreakerState breaker = runtime::BreakerState::Closed;  // of whoever named it
};

// How quick somebody is, coarsely: what differs by less is the same.
enum class LatencyClass : std::uint8_t { Near, Regional, Far, Slow, Unknown };
LatencyClass latency_class(std::optional<std::uint32_t> latency_ms) noexcept;

// Above 0 and at most 1; the higher the better. A product, so that whatever speaks against a
// provider counts, and nothing makes up for it. Being in the same region is worth as much as being
// seen a half-life later.
double score(const RankFacts& facts, const RankPolicy& policy, std::int64_t now_ms) noexcept;

}  // namespace ron::index
