#include "base/rfc3339.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace ron::base {
namespace {

constexpr std::int64_t kDayS = 86'400;
constexpr std::size_t kMaxFractionDigits = 9;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes text from the front; every step either consumes what it asked for or marks the whole
// failed.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  int digits(std::size_t count) {
    if (rest_.size() < count) return give_up();
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_digit(rest_[i])) return give_up();
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return value;
  }

  // One character out of `accepted`; '\0' when it is another.
  char one_of(std::string_view accepted) {
    if (rest_.empty() || accepted.find(rest_.front()) == std::string_view::npos) {
      give_up();
      return '\0';
    }
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  void skip_fraction() {
    if (rest_.empty() || rest_.front() != '.') return;
    rest_.remove_prefix(1);
    const auto end = std::ranges::find_if_not(rest_, is_digit);
    const auto count = static_cast<std::size_t>(end - rest_.begin());
    if (count == 0 || count > kMaxFractionDigits) give_up();
    rest_.remove_prefix(count);
  }

  [[nodiscard]] bool finished() const { return !failed_ && rest_.empty(); }

 private:
  int give_up() {
    failed_ = true;
    return 0;
  }

  std::string_view rest_;
  bool failed_ = false;
};

std::optional<std::int64_t> parse(std::string_view text) {
  Scanner scan(text);
  const int year = scan.digits(4);
  scan.one_of("-");
  const int month = scan.digits(2);
  scan.one_of("-");
  const int day = scan.digits(2);
  scan.one_of("Tt");
  const int hour = scan.digits(2);
  scan.one_of(":");
  const int minute = scan.digits(2);
  scan.one_of(":");
  const int second = scan.digits(2);
  scan.skip_fraction();
  const char zone = scan.one_of("Zz+-");
  int offset_hour = 0;
  int offset_minute = 0;
  if (zone == '+' || zone == '-') {
    offset_hour = scan.digits(2);
    scan.one_of(":");
    offset_minute = scan.digits(2);
  }
  if (!scan.finished()) return std::nullopt;

  const std::chrono::year_month_day date(std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  if (offset_hour > 23 || offset_minute > 59) return std::nullopt;

  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t local = days * kDayS + hour * 3600 + minute * 60 + second;
  const std::int64_t offset = offset_hour * 3600 + offset_minute * 60;
  const std::int64_t unix_s = zone == '-' ? local + offset : local - offset;
  if (unix_s < kMinUnixS || unix_s > kMaxUnixS) return std::nullopt;
  return unix_s;
}

// Digits and their separator, written one behind the other into text of fixed width.
class Writer {
 public:
  explicit Writer(char* out) noexcept : out_(out) {}

  Writer& put(std::int64_t value, std::size_t width, char separator) noexcept {
    for (std::size_t i = width; i-- > 0; value /= 10) {
      out_[i] = static_cast<char>('0' + value % 10);
    }
    out_[width] = separator;
    out_ += width + 1;
    return *this;
  }

 private:
  char* out_;
};

}  // namespace

Result<std::int64_t> parse_rfc3339(std::string_view text) {
  const auto unix_s = parse(text);
  if (!unix_s) {
    return fail(Code::Malformed, "not an RFC 3339 time such as 2030-01-31T12:00:00Z");
  }
  return *unix_s;
}

std::array<char, kRfc3339MsChars> print_rfc3339_ms(std::int64_t unix_ms) noexcept {
  constexpr std::int64_t kDayMs = 1000 * kDayS;
  unix_ms = std::clamp(unix_ms, 1000 * kMinUnixS, 1000 * kMaxUnixS + 999);
  std::int64_t days = unix_ms / kDayMs;
  if (unix_ms % kDayMs < 0) --days;
  const std::int64_t in_day = unix_ms - days * kDayMs;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};

  std::array<char, kRfc3339MsChars> text;
  Writer(text.data())
      .put(static_cast<int>(date.year()), 4, '-')
      .put(static_cast<unsigned>(date.month()), 2, '-')
      .put(static_cast<unsigned>(date.day()), 2, 'T')
      .put(in_day / 3'600'000, 2, ':')
      .put(in_day / 60'000 % 60, 2, ':')
      .put(in_day / 1000 % 60, 2, '.')
      .put(in_day % 1000, 3, 'Z');
  return text;
}

std::string print_rfc3339(std::int64_t unix_s) {
  constexpr std::size_t kSecondsChars = std::string_view("2026-03-01T12:00:00").size();
  const auto text = print_rfc3339_ms(1000 * std::clamp(unix_s, kMinUnixS, kMaxUnixS));
  return std::string(text.data(), kSecondsChars) + 'Z';
}

}  // namespace ron::base
