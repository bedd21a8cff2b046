#include "http/request_deadline.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/rfc3339.h"
#include "http/field_list.h"

namespace ron::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMaxDigits = 12;  // of whole seconds: thirty thousand years

// What the digits behind a point come to; they count down to milliseconds.
milliseconds fraction(std::string_view digits) noexcept {
  milliseconds sum{};
  milliseconds step(100);
  for (const char c : digits.substr(0, 3)) {
    sum += step * (c - '0');
    step /= 10;
  }
  return sum;
}

// `2`, `2.5`, `.5` is none.
std::optional<milliseconds> parse_seconds(std::string_view text) noexcept {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view behind = text.substr(std::min(point + 1, text.size()));
  if (whole.size() > kMaxDigits || !std::ranges::all_of(behind, is_digit)) return std::nullopt;
  if (point < text.size() && behind.empty()) return std::nullopt;
  const auto number = parse_decimal(whole);
  if (!number) return std::nullopt;
  return seconds(static_cast<std::int64_t>(*number)) + fraction(behind);
}

// Since 1970.
std::optional<milliseconds> parse_time(std::string_view text) {
  if (const auto plain = parse_seconds(text)) return plain;
  const base::Result<std::int64_t> at = base::parse_rfc3339(text);
  if (!at) return std::nullopt;
  milliseconds time = seconds(*at);
  if (const std::size_t point = text.find('.'); point != std::string_view::npos) {
    const std::string_view behind = text.substr(point + 1);
    const auto end = std::ranges::find_if_not(behind, is_digit);
    time += fraction(behind.substr(0, static_cast<std::size_t>(end - behind.begin())));
  }
  return time;
}

}  // namespace

std::optional<base::Duration> requested_time(const FieldTable& head, const platform::Clock& clock) {
  std::optional<milliseconds> soonest;
  const auto take = [&soonest](std::optional<milliseconds> time) {
    if (time) soonest = std::min(soonest.value_or(*time), *time);
  };
  head.for_each(KnownField::RequestTimeout,
                [&](std::string_view value) { take(parse_seconds(value)); });
  head.for_each(KnownField::Deadline, [&](std::string_view value) {
    if (const auto at = parse_time(value)) take(*at - milliseconds(clock.unix_ms()));
  });
  if (!soonest) return std::nullopt;
  // Beyond a day nobody's deadline is sooner than the server's.
  return std::clamp<milliseconds>(*soonest, milliseconds(0), std::chrono::hours(24));
}

}  // namespace ron::http
