// Clock: the only source of time. Monotonic time for deadlines, wall time for people and tokens.
#pragma once

#include <chrono>
#include <cstdint>

#include "platform/executor.h"

namespace ron::platform {

class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  [[nodiscard]] virtual TimePoint monotonic() const noexcept = 0;
  [[nodiscard]] virtual std::int64_t unix_ms() const noexcept = 0;
};

}  // namespace ron::platform
