#include "base/units.h"

#include <array>
#include <charconv>
#include <limits>

namespace ron::base {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// Largest first within a family, so that printing finds the shortest exact form.
constexpr std::array kSizeUnits = {
    Unit{"TiB", 1024 * kGiB},
    Unit{"TB", 1'000'000'000'000},
    Unit{"GiB", kGiB},
    Unit{"GB", 1'000'000'000},
    Unit{"MiB", kMiB},
    Unit{"MB", 1'000'000},
    Unit{"KiB", kKiB},
    Unit{"KB", 1'000},
    Unit{"B", 1},
};

constexpr std::array kDurationUnits = {
    Unit{"d", 86'400'000'000'000},
    Unit{"h", 3'600'000'000'000},
    Unit{"m", 60'000'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"ms", 1'000'000},
    Unit{"us", 1'000},
    Unit{"ns", 1},
};

struct Split {
  std::uint64_t number;
  std::string_view unit;
};

// Digits, then whatever follows; false when there is no leading number or it overflows.
bool split(std::string_view text, Split& out) {
  const auto* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, out.number);
  if (status != std::errc{}) return false;
  out.unit = text.substr(static_cast<std::size_t>(stop - text.data()));
  return true;
}

bool scale(std::uint64_t number, std::uint64_t factor, std::uint64_t limit, std::uint64_t& out) {
  if (number > limit / factor) return false;
  out = number * factor;
  return true;
}

template <std::size_t N>
const Unit* find(const std::array<Unit, N>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

template <std::size_t N>
std::string print_with(const std::array<Unit, N>& units, std::uint64_t value) {
  for (const Unit& unit : units) {
    if (value % unit.factor == 0 && (value != 0 || unit.factor == 1)) {
      return std::to_string(value / unit.factor) + std::string(unit.name);
    }
  }
  return std::to_string(value);
}

}  // namespace

Result<Size> parse_size(std::string_view text) {
  Split parts{};
  std::uint64_t bytes = 0;
  if (split(text, parts)) {
    const Unit* unit = parts.unit.empty() ? &kSizeUnits.back() : find(kSizeUnits, parts.unit);
    if (unit != nullptr &&
        scale(parts.number, unit->factor, std::numeric_limits<std::uint64_t>::max(), bytes)) {
      return Size{bytes};
    }
  }
  return fail(Code::Malformed, "'" + std::string(text) +
                                   "' is not a size; write for example 64KiB, 1MiB, 2GB or 4096");
}

Result<Duration> parse_duration(std::string_view text) {
  Split parts{};
  std::uint64_t nanos = 0;
  if (split(text, parts)) {
    const Unit* unit = find(kDurationUnits, parts.unit);
    if (unit != nullptr &&
        scale(parts.number, unit->factor, std::numeric_limits<std::int64_t>::max(), nanos)) {
      return Duration(static_cast<std::int64_t>(nanos));
    }
  }
  return fail(Code::Malformed,
              "'" + std::string(text) +
                  "' is not a duration; write for example 150ms, 5s, 10m, 24h or 30d");
}

Result<Rate> parse_rate(std::string_view text) {
  if (text.ends_with("/s")) {
    const Result<Size> size = parse_size(text.substr(0, text.size() - 2));
    if (size) return Rate{size->bytes};
  }
  return fail(Code::Malformed,
              "'" + std::string(text) + "' is not a rate; write for example 50MiB/s");
}

std::string print(Size size) { return print_with(kSizeUnits, size.bytes); }

std::string print(Duration duration) {
  if (duration.count() == 0) return "0s";
  return print_with(kDurationUnits, static_cast<std::uint64_t>(duration.count()));
}

std::string print(Rate rate) { return print(Size{rate.bytes_per_second}) + "/s"; }

}  // namespace ron::base
