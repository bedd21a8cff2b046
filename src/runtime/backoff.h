// Backoff with jitter: exponential from `base` to `cap`, each delay drawn, so that many failing at
// once do not come back at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/units.h"
#include "platform/random.h"

namespace ron::runtime {

// What is drawn.
enum class Jitter : std::uint8_t {
  Half,  // [delay/2, delay]
  Base,  // delay + [0, base]
  None,
};

struct Backoff {
  base::Duration base = std::chrono::milliseconds(50);
  base::Duration cap = std::chrono::seconds(2);
  Jitter jitter = Jitter::Half;

  // The wait before try number `attempt` + 1; attempt counts from 0.
  [[nodiscard]] base::Duration delay(std::uint32_t attempt, platform::FastRandom& random) const {
    const std::uint32_t doublings = std::min<std::uint32_t>(attempt, 62);
    const bool capped = base.count() > (cap.count() >> doublings);
    const std::int64_t full = capped ? cap.count() : base.count() << doublings;
    const auto below = [&random](std::int64_t bound) {
      return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
    };
    switch (jitter) {
      case Jitter::Half:
        return base::Duration(full - below(std::max<std::int64_t>(full / 2, 1)));
      case Jitter::Base:
        return base::Duration(full + below(base.count() + 1));
      case Jitter::None:
        break;
    }
    return base::Duration(full);
  }
};

}  // namespace ron::runtime
