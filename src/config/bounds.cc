#include "config/bounds.h"

#include <charconv>
#include <limits>

#include "config/print.h"

namespace ron::config {
namespace {

// Every comparable kind fits one type: 64 bits of mantissa hold all counts, sizes, durations in
// nanoseconds and rates exactly.
using Magnitude = long double;
static_assert(std::numeric_limits<Magnitude>::digits >= 64);

template <class Number>
std::optional<Magnitude> whole(std::string_view text) {
  Number number{};
  const auto* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, number);
  if (status != std::errc{} || stop != end) return std::nullopt;
  return static_cast<Magnitude>(number);
}

std::optional<Magnitude> parse_bound(Kind kind, const std::string& text) {
  switch (kind) {
    case Kind::Bool:
      if (text == "true" || text == "false") return text == "true" ? 1 : 0;
      return std::nullopt;
    case Kind::Number:
      return whole<double>(text);
    case Kind::Size:
      if (const auto size = base::parse_size(text)) return size->bytes;
      return std::nullopt;
    case Kind::Duration:
      if (const auto duration = base::parse_duration(text)) return duration->count();
      return std::nullopt;
    case Kind::Rate:
      if (const auto rate = base::parse_rate(text)) return rate->bytes_per_second;
      return std::nullopt;
    case Kind::Count:
    case Kind::Text:
    case Kind::TextList:
    case Kind::CountMap:
    case Kind::Records:
      return whole<std::uint64_t>(text);
    case Kind::Address:
    case Kind::Choice:
      break;
  }
  return std::nullopt;
}

// One thing to hold against the bounds, and how a message names it.
struct Measure {
  Magnitude magnitude;
  std::string name;
};

Measure length_of(std::size_t size, const char* unit) {
  return {static_cast<Magnitude>(size), std::to_string(size) + " " + unit};
}

std::vector<Measure> measures(const KeyDecl& decl, const Value& value) {
  const std::string shown = decl.options.secret ? "the value" : plain_text(decl, value);
  switch (decl.kind) {
    case Kind::Bool:
      return {{value.as<bool>() ? Magnitude{1} : Magnitude{0}, shown}};
    case Kind::Count:
      return {{static_cast<Magnitude>(value.as<std::uint64_t>()), shown}};
    case Kind::Number:
      return {{static_cast<Magnitude>(value.as<double>()), shown}};
    case Kind::Size:
      return {{static_cast<Magnitude>(value.as<base::Size>().bytes), shown}};
    case Kind::Duration:
      return {{static_cast<Magnitude>(value.as<base::Duration>().count()), shown}};
    case Kind::Rate:
      return {{static_cast<Magnitude>(value.as<base::Rate>().bytes_per_second), shown}};
    case Kind::Text:
      return {length_of(value.as<std::string>().size(), "bytes of text")};
    case Kind::TextList:
      return {length_of(value.as<TextList>().size(), "items")};
    case Kind::Records:
      return {length_of(value.as<Records>().rows.size(), "entries")};
    case Kind::CountMap:
    case Kind::Address:
    case Kind::Choice:
      break;
  }
  std::vector<Measure> all;
  if (decl.kind == Kind::CountMap) {
    for (const auto& [name, count] : value.as<CountMap>()) {
      const std::string entry = name + " = " + std::to_string(count);
      all.push_back({static_cast<Magnitude>(count), decl.options.secret ? "an entry" : entry});
    }
  }
  return all;
}

// -1 below `low`, 1 above `high`, 0 between; an empty bound does not bind.
int side(Kind kind, Magnitude magnitude, const std::string& low, const std::string& high) {
  const auto floor = parse_bound(kind, low);
  const auto ceiling = parse_bound(kind, high);
  if (floor && magnitude < *floor) return -1;
  if (ceiling && magnitude > *ceiling) return 1;
  return 0;
}

}  // namespace

std::optional<Violation> check_bounds(const KeyDecl& decl, const Value& value, bool danger_ok) {
  const KeyOptions& o = decl.options;
  const std::vector<Measure> all = measures(decl, value);
  for (const Measure& one : all) {
    int hard = side(decl.kind, one.magnitude, o.min, o.max);
    const bool fits = decl.kind != Kind::Count || value.as<std::uint64_t>() <= decl.member_max;
    if (!fits) hard = 1;
    if (hard != 0) {
      return Violation{Problem::Kind::OutOfBounds,
                       one.name + (hard < 0 ? " is too small" : " is too large")};
    }
  }
  if (danger_ok) return std::nullopt;
  for (const Measure& one : all) {
    const int safe = side(decl.kind, one.magnitude, o.safe_min, o.safe_max);
    if (safe != 0) {
      return Violation{Problem::Kind::NeedsDangerOk,
                       one.name + " is beyond the safety bound " +
                           (safe < 0 ? o.safe_min : o.safe_max) +
                           "; only safety.danger_ok = true accepts it"};
    }
  }
  return std::nullopt;
}

bool is_bound(const KeyDecl& decl, const std::string& text) {
  return parse_bound(decl.kind, text).has_value();
}

bool bounds_ordered(const KeyDecl& decl, const std::string& low, const std::string& high) {
  const auto floor = parse_bound(decl.kind, low);
  const auto ceiling = parse_bound(decl.kind, high);
  return !floor || !ceiling || *floor <= *ceiling;
}

std::string allowed_text(const KeyDecl& decl) {
  const KeyOptions& o = decl.options;
  std::string out;
  if (decl.kind == Kind::Choice) {
    for (const std::string& choice : decl.choices) {
      out += (out.empty() ? "one of " : ", ") + choice;
    }
    return out;
  }
  std::string max = o.max;
  if (max.empty() && decl.kind == Kind::Count && decl.member_max < INT64_MAX) {
    max = std::to_string(decl.member_max);
  }
  if (!o.min.empty() && !max.empty()) {
    out = o.min + " to " + max;
  } else if (!o.min.empty()) {
    out = "at least " + o.min;
  } else if (!max.empty()) {
    out = "at most " + max;
  }
  const bool sized = decl.kind == Kind::Text;
  const bool listed = decl.kind == Kind::TextList || decl.kind == Kind::Records;
  const std::string unit = sized ? "bytes" : listed ? "items" : "";
  if (!out.empty() && !unit.empty()) out += " " + unit;
  std::string danger;
  if (!o.safe_min.empty()) danger = "below " + o.safe_min;
  if (!o.safe_max.empty()) danger += (danger.empty() ? "" : " or ") + ("above " + o.safe_max);
  if (danger.empty()) return out;
  return out + (out.empty() ? "" : " ") + "(" + danger + " only with safety.danger_ok)";
}

}  // namespace ron::config
