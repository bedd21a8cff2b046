// Backoff with jitter: exponential from `base` to `cap`, each delay drawn from [delay/2, delay], so
// that many failing at once do not come back at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/units.h"
#include "platform/random.h"

namespace ron::runtime {

struct Backoff {
  base::Duration base = std::chrono::milliseconds(50);
  base::Duration cap = std::chrono::seconds(2);

  // The wait before try number `attempt` + 1; attempt counts from 0.
  [[nodiscard]] base::Duration delay(std::uint32_t attempt, platform::FastRandom& random) const {
    const std::uint32_t doublings = std::min<std::uint32_t>(attempt, 62);
    const bool capped = base.count() > (cap.count() >> doublings);
    const std::int64_t full = capped ? cap.count() : base.count() << doublings;
    const auto half = static_cast<std::uint64_t>(std::max<std::int64_t>(full / 2, 1));
    return base::Duration(full - static_cast<std::int64_t>(random.below(half)));
  }
};

}  // namespace ron::runtime
