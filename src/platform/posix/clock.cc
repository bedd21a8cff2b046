#include "platform/posix/clock.h"

#include <ctime>

namespace ron::platform::posix {
namespace {

std::int64_t read_nanos(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

}  // namespace

TimePoint read_monotonic() noexcept {
  return TimePoint(std::chrono::nanoseconds(read_nanos(CLOCK_MONOTONIC)));
}

std::int64_t SystemClock::unix_ms() const noexcept {
  return read_nanos(CLOCK_REALTIME) / 1'000'000;
}

}  // namespace ron::platform::posix
