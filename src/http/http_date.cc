#include "http/http_date.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>

#include "http/field_list.h"

namespace ron::http {
namespace {

constexpr std::int64_t kDayS = 86'400;
constexpr std::int64_t kMinPrintedS = -62'135'596'800;  // 0001-01-01T00:00:00Z
constexpr std::int64_t kMaxPrintedS = 253'402'300'799;  // 9999-12-31T23:59:59Z
constexpr int kCentury = 100;
constexpr int kFutureYears = 50;

constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 7> kLongDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// Takes text from the front; every step either takes what it asked for or fails the whole.
class Scanner {
 public:
  explicit Scanner(std::string_view text) noexcept : rest_(text) {}

  Scanner& exactly(std::string_view text) noexcept {
    if (rest_.starts_with(text)) {
      rest_.remove_prefix(text.size());
    } else {
      failed_ = true;
    }
    return *this;
  }
  // Its position among `names`, which are told apart by their case, as the grammar has it.
  int one_of(std::span<const std::string_view> names) noexcept {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!rest_.starts_with(names[i])) continue;
      rest_.remove_prefix(names[i].size());
      return static_cast<int>(i);
    }
    failed_ = true;
    return 0;
  }
  int digits(std::size_t count) noexcept {
    if (rest_.size() < count || !std::ranges::all_of(rest_.substr(0, count), is_digit)) {
      failed_ = true;
      return 0;
    }
    int value = 0;
    for (const char c : rest_.substr(0, count)) value = value * 10 + (c - '0');
    rest_.remove_prefix(count);
    return value;
  }
  // Two digits, or a space and one.
  int padded_day() noexcept {
    if (!rest_.starts_with(' ')) return digits(2);
    rest_.remove_prefix(1);
    return digits(1);
  }
  [[nodiscard]] bool finished() const noexcept { return !failed_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

struct Parts {
  int weekday = 0;
  int year = 0;
  int month = 0;  // from 0
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

void read_time(Scanner& scan, Parts& parts) noexcept {
  parts.hour = scan.digits(2);
  parts.minute = scan.exactly(":").digits(2);
  parts.second = scan.exactly(":").digits(2);
}

std::optional<Parts> read_imf_fixdate(std::string_view text) noexcept {
  Scanner scan(text);
  Parts parts;
  parts.weekday = scan.one_of(kDays);
  parts.day = scan.exactly(", ").digits(2);
  scan.exactly(" ");
  parts.month = scan.one_of(kMonths);
  parts.year = scan.exactly(" ").digits(4);
  scan.exactly(" ");
  read_time(scan, parts);
  return scan.exactly(" GMT").finished() ? std::optional(parts) : std::nullopt;
}

std::optional<Parts> read_asctime(std::string_view text) noexcept {
  Scanner scan(text);
  Parts parts;
  parts.weekday = scan.one_of(kDays);
  scan.exactly(" ");
  parts.month = scan.one_of(kMonths);
  parts.day = scan.exactly(" ").padded_day();
  scan.exactly(" ");
  read_time(scan, parts);
  parts.year = scan.exactly(" ").digits(4);
  return scan.finished() ? std::optional(parts) : std::nullopt;
}

// The year is that of the century still.
std::optional<Parts> read_rfc850(std::string_view text) noexcept {
  Scanner scan(text);
  Parts parts;
  parts.weekday = scan.one_of(kLongDays);
  parts.day = scan.exactly(", ").digits(2);
  scan.exactly("-");
  parts.month = scan.one_of(kMonths);
  parts.year = scan.exactly("-").digits(2);
  scan.exactly(" ");
  read_time(scan, parts);
  return scan.exactly(" GMT").finished() ? std::optional(parts) : std::nullopt;
}

std::chrono::sys_days day_of(std::int64_t unix_s) noexcept {
  return std::chrono::floor<std::chrono::days>(
      std::chrono::sys_seconds(std::chrono::seconds(unix_s)));
}

std::optional<std::int64_t> resolve(const Parts& parts) noexcept {
  const std::chrono::year_month_day date(std::chrono::year(parts.year),
                                         std::chrono::month(static_cast<unsigned>(parts.month) + 1),
                                         std::chrono::day(static_cast<unsigned>(parts.day)));
  if (!date.ok() || parts.hour > 23 || parts.minute > 59 || parts.second > 60) return std::nullopt;
  const std::chrono::sys_days day(date);
  if (std::chrono::weekday(day).c_encoding() != static_cast<unsigned>(parts.weekday)) {
    return std::nullopt;
  }
  return day.time_since_epoch().count() * kDayS + parts.hour * 3600 + parts.minute * 60 +
         std::min(parts.second, 59);
}

// RFC 9110: one that appears to be more than 50 years ahead is the most recent year in the past
// that has the same last two digits.
void set_century(Parts& parts, std::int64_t now_s) noexcept {
  const std::chrono::year_month_day today(day_of(std::clamp(now_s, std::int64_t{0}, kMaxPrintedS)));
  const int latest = static_cast<int>(today.year()) + kFutureYears;
  const int year = latest - latest % kCentury + parts.year;
  parts.year = year > latest ? year - kCentury : year;
}

}  // namespace

std::optional<std::int64_t> parse_http_date(std::string_view text, std::int64_t now_s) noexcept {
  if (const auto parts = read_imf_fixdate(text)) return resolve(*parts);
  if (const auto parts = read_asctime(text)) return resolve(*parts);
  auto parts = read_rfc850(text);
  if (!parts) return std::nullopt;
  set_century(*parts, now_s);
  return resolve(*parts);
}

std::array<char, kHttpDateChars> print_http_date(std::int64_t unix_s) noexcept {
  unix_s = std::clamp(unix_s, kMinPrintedS, kMaxPrintedS);
  const std::chrono::sys_days day = day_of(unix_s);
  const std::chrono::year_month_day date(day);
  const auto in_day = static_cast<int>(unix_s - day.time_since_epoch().count() * kDayS);
  std::array<char, kHttpDateChars + 1> text{};
  std::snprintf(text.data(), text.size(), "%s, %02u %s %04d %02d:%02d:%02d GMT",
                kDays[std::chrono::weekday(day).c_encoding()].data(),
                static_cast<unsigned>(date.day()),
                kMonths[static_cast<unsigned>(date.month()) - 1].data(),
                static_cast<int>(date.year()), in_day / 3600, in_day / 60 % 60, in_day % 60);
  std::array<char, kHttpDateChars> out;
  std::copy_n(text.begin(), out.size(), out.begin());
  return out;
}

}  // namespace ron::http
