// UpstreamPolicy: when a group of upstreams tries again, and when it leaves a member alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/units.h"
#include "runtime/breaker.h"

namespace ron::http {

struct UpstreamRetry {
  std::uint32_t max_tries = 3;                          // the first one included
  base::Duration base = std::chrono::milliseconds(50);  // the first wait: base to 2 * base
  base::Duration cap = std::chrono::seconds(2);         // of a wait
  double budget = 0.2;                                  // retries per request, over time
};

// Active health: what the caller's task asks each member for with UpstreamGroup::probe().
struct UpstreamProbe {
  std::string path;                                   // empty: members are not probed
  base::Duration interval = std::chrono::seconds(5);  // between the caller's rounds
  base::Duration timeout = std::chrono::seconds(1);
  std::uint32_t fall = 2;  // failures in a row that make a member down
  std::uint32_t rise = 2;  // successes in a row that bring it back
};

// What the caller of one request grants its upstream.
struct AnswerTime {
  // Until the answer begins, as configured: a deadline that passes sooner is no failure of the
  // upstream's. Zero: the deadline is the caller's own, and never one.
  base::Duration within{};
  // The caller's client asked for less than that.
  bool is_hurried = false;
};

struct UpstreamPolicy {
  UpstreamRetry retry{};
  runtime::BreakerPolicy breaker{};  // one for each member
  std::uint32_t eject_after = 5;     // failures in a row; 0: never
  // The first time; twice as long each time after, up to kLongestEjection times this, until a
  // success after the return.
  base::Duration eject_for = std::chrono::seconds(30);
  UpstreamProbe probe{};

  static constexpr std::int64_t kLongestEjection = 10;
};

}  // namespace ron::http
