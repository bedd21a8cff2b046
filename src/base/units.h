// Sizes, durations and rates as people write them: 64KiB, 2GB, 150ms, 24h, 50MiB/s.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ron::base {

using Duration = std::chrono::nanoseconds;

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;

struct Size {
  std::uint64_t bytes = 0;
  friend auto operator<=>(const Size&, const Size&) = default;
};

struct Rate {
  std::uint64_t bytes_per_second = 0;
  friend auto operator<=>(const Rate&, const Rate&) = default;
};

// `1MiB`, `2GB`, `4096`, `4096B`. Fractions, signs and overflow are errors that say what is
// accepted.
Result<Size> parse_size(std::string_view text);
// `150ms`, `5s`, `10m`, `24h`, `30d`, also `us` and `ns`. A bare number is an error: units are part
// of it.
Result<Duration> parse_duration(std::string_view text);
// A size per second: `50MiB/s`.
Result<Rate> parse_rate(std::string_view text);

// The shortest exact form; parse(print(x)) == x.
std::string print(Size size);
std::string print(Duration duration);
std::string print(Rate rate);

}  // namespace ron::base
