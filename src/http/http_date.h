// HTTP dates (RFC 9110, 5.6.7) as Unix seconds. Pure functions; nothing allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ron::http {

// `Sun, 06 Nov 1994 08:49:37 GMT`, and the two forms that are obsolete and still have to be
// understood: `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`. Nothing for anything
// else, for days that do not exist and for a weekday that is not the day's. A year of two digits is
// the latest one that is not more than 50 years after `now_s`. Leap seconds are the second before.
std::optional<std::int64_t> parse_http_date(std::string_view text, std::int64_t now_s) noexcept;

// IMF-fixdate. Years 0001 to 9999; times outside print as the nearest end.
inline constexpr std::size_t kHttpDateChars = 29;
std::array<char, kHttpDateChars> print_http_date(std::int64_t unix_s) noexcept;

}  // namespace ron::http
