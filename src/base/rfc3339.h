// RFC 3339 times as Unix seconds: `2026-03-01T12:00:00Z`, `2026-03-01T13:00:00.5+01:00`.
//
// Pure functions; years 0000 to 9999. A fraction is dropped, which only ever makes an expiry
// earlier. Leap seconds (`:60`) are refused: Unix time cannot name them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ron::base {

inline constexpr std::int64_t kMinUnixS = -62'167'219'200;  // 0000-01-01T00:00:00Z
inline constexpr std::int64_t kMaxUnixS = 253'402'300'799;  // 9999-12-31T23:59:59Z

// Malformed unless `text` is a complete date-time that exists in the calendar and lies in the range
// above once its offset is applied.
Result<std::int64_t> parse_rfc3339(std::string_view text);

// In UTC with `Z`; times outside the range above print as its nearest end.
std::string print_rfc3339(std::int64_t unix_s);

// The same with milliseconds, always 24 characters: `2026-03-01T12:00:00.000Z`.
inline constexpr std::size_t kRfc3339MsChars = 24;
std::array<char, kRfc3339MsChars> print_rfc3339_ms(std::int64_t unix_ms) noexcept;

}  // namespace ron::base
