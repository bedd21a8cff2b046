// The kernel's clocks.
#pragma once

#include "platform/clock.h"

namespace ron::platform::posix {

TimePoint read_monotonic() noexcept;

class SystemClock final : public Clock {
 public:
  [[nodiscard]] TimePoint monotonic() const noexcept override { return read_monotonic(); }
  [[nodiscard]] std::int64_t unix_ms() const noexcept override;
};

}  // namespace ron::platform::posix
