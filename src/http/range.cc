#include "http/range.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "http/field_list.h"

namespace ron::http {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// Digits only; a number beyond 64 bits is the largest one.
std::optional<std::uint64_t> parse_saturating(std::string_view digits) noexcept {
  if (digits.empty() || !std::ranges::all_of(digits, is_digit)) return std::nullopt;
  return parse_decimal(digits).value_or(kMax);
}

// One element of the set, before it meets an object.
struct Spec {
  bool suffix = false;
  std::uint64_t first = 0;    // or the length of the suffix
  std::uint64_t last = kMax;  // kMax: to the end
};

std::optional<Spec> parse_spec(std::string_view text) noexcept {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_saturating(text.substr(0, dash));
  const auto last = parse_saturating(text.substr(dash + 1));
  if (dash == 0) {
    if (!last) return std::nullopt;
    return Spec{.suffix = true, .first = *last};
  }
  if (!first) return std::nullopt;
  if (dash + 1 == text.size()) return Spec{.first = *first};
  if (!last || *last < *first) return std::nullopt;
  return Spec{.first = *first, .last = *last};
}

RangeOutcome resolve(const Spec& spec, std::uint64_t size) noexcept {
  if (spec.suffix) {
    if (spec.first == 0) return {RangeKind::Unsatisfiable, {}};
    if (size == 0) return {RangeKind::None, {}};
    return {RangeKind::Satisfiable, {size - std::min(spec.first, size), size - 1}};
  }
  if (spec.first >= size) return {RangeKind::Unsatisfiable, {}};
  return {RangeKind::Satisfiable, {spec.first, std::min(spec.last, size - 1)}};
}

char* append(char* at, std::string_view text) noexcept {
  return std::copy(text.begin(), text.end(), at);
}
char* append(char* at, char* end, std::uint64_t number) noexcept {
  return std::to_chars(at, end, number).ptr;
}

}  // namespace

RangeOutcome parse_range(std::string_view value, std::uint64_t size) noexcept {
  const std::size_t equals = value.find('=');
  if (equals == std::string_view::npos || !is_token(value.substr(0, equals))) {
    return {RangeKind::Malformed, {}};
  }
  if (!iequals(value.substr(0, equals), "bytes")) return {RangeKind::None, {}};

  std::optional<Spec> only;
  std::size_t count = 0;
  ListReader specs(value.substr(equals + 1));
  while (const auto text = specs.next()) {
    if (text->empty()) continue;
    only = parse_spec(*text);
    if (!only) return {RangeKind::Malformed, {}};
    ++count;
  }
  if (count == 0) return {RangeKind::Malformed, {}};
  if (count > 1) return {RangeKind::None, {}};
  return resolve(*only, size);
}

// Three numbers of at most 20 digits and the fixed text around them.
static_assert(std::tuple_size_v<ContentRangeText> >= 3 * 20 + 8);

std::string_view print_content_range(ByteRange range, std::uint64_t size,
                                     ContentRangeText& out) noexcept {
  char* const end = out.data() + out.size();
  char* at = append(out.data(), "bytes ");
  at = append(at, end, range.first);
  at = append(at, "-");
  at = append(at, end, range.last);
  at = append(at, "/");
  at = append(at, end, size);
  return {out.data(), static_cast<std::size_t>(at - out.data())};
}

std::string_view print_unsatisfied_range(std::uint64_t size, ContentRangeText& out) noexcept {
  char* at = append(out.data(), "bytes */");
  at = append(at, out.data() + out.size(), size);
  return {out.data(), static_cast<std::size_t>(at - out.data())};
}

}  // namespace ron::http
