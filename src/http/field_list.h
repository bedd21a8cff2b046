// The small tokenisers every header parser needs: character classes, trimming, comma lists,
// case-insensitive comparison, decimal numbers. Pure functions over views; nothing allocates.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ron::http {

// Character classes, as bits so that one table serves all.
enum CharClass : std::uint8_t {
  kTchar = 1,       // RFC 9110 token
  kValueChar = 2,   // field value: visible, space, tab, obs-text; no other control byte
  kTargetChar = 4,  // request target: visible ASCII without '#'
  kHostChar = 8,    // registered name or IPv4 literal
  kEtagChar = 16,   // inside an entity-tag's quotes
};

namespace detail {

// Without branches, so that a loop over them becomes vector code.
constexpr bool value_byte(unsigned char c) noexcept {
  return static_cast<bool>((c >= 0x20) & (c != 0x7f)) | (c == '\t');
}
constexpr bool target_byte(unsigned char c) noexcept {
  return static_cast<bool>((c > 0x20) & (c < 0x7f)) & (c != '#');
}

constexpr std::array<std::uint8_t, 256> make_char_classes() {
  std::array<std::uint8_t, 256> table{};
  for (unsigned c = 0; c < 256; ++c) {
    const bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool visible = c > 0x20 && c < 0x7f;
    const bool obs_text = c >= 0x80;
    unsigned bits = 0;
    if (alnum || (visible && std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) !=
                                 std::string_view::npos)) {
      bits |= kTchar;
    }
    if (value_byte(static_cast<unsigned char>(c))) bits |= kValueChar;
    if (target_byte(static_cast<unsigned char>(c))) bits |= kTargetChar;
    if (alnum || c == '.' || c == '-' || c == '_' || c == '~') bits |= kHostChar;
    if ((visible && c != '"') || obs_text) bits |= kEtagChar;
    table[c] = static_cast<std::uint8_t>(bits);
  }
  return table;
}

inline constexpr std::array<std::uint8_t, 256> kCharClasses = make_char_classes();

}  // namespace detail

constexpr bool is(char c, CharClass wanted) noexcept {
  return (detail::kCharClasses.data()[static_cast<unsigned char>(c)] & wanted) != 0;
}

// How many leading bytes belong to the class.
constexpr std::size_t span_of(std::string_view text, CharClass wanted) noexcept {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end && is(*at, wanted)) ++at;
  return static_cast<std::size_t>(at - text.data());
}

constexpr bool all_are(std::string_view text, CharClass wanted) noexcept {
  return span_of(text, wanted) == text.size();
}

// The same for the long texts of every message, many bytes at a time.
constexpr bool is_field_value(std::string_view text) noexcept {
  bool fine = true;
  for (const char c : text) fine &= detail::value_byte(static_cast<unsigned char>(c));
  return fine;
}
constexpr bool is_target(std::string_view text) noexcept {
  bool fine = true;
  for (const char c : text) fine &= detail::target_byte(static_cast<unsigned char>(c));
  return fine && !text.empty();
}

constexpr bool is_token(std::string_view text) noexcept {
  return !text.empty() && all_are(text, kTchar);
}

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

constexpr bool iequals(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  const char* left = a.data();
  const char* right = b.data();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(left[i]) != lower(right[i])) return false;
  }
  return true;
}

constexpr std::string_view trim_ows(std::string_view text) noexcept {
  const char* first = text.data();
  const char* last = first + text.size();
  while (first != last && (*first == ' ' || *first == '\t')) ++first;
  while (first != last && (last[-1] == ' ' || last[-1] == '\t')) --last;
  return {first, static_cast<std::size_t>(last - first)};
}

// Decimal digits only, without sign or space; nothing when empty or above 64 bits.
inline std::optional<std::uint64_t> parse_decimal(std::string_view text) noexcept {
  std::uint64_t value = 0;
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  const char* const end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

// Splits a comma list and trims each element. Empty elements are handed out too: whether they are
// tolerated is each field's own rule. Lists with quoted strings need their own reader
// (conditional.cc).
class ListReader {
 public:
  explicit constexpr ListReader(std::string_view list) noexcept : rest_(list) {}

  constexpr std::optional<std::string_view> next() noexcept {
    if (finished_) return std::nullopt;
    const std::size_t comma = rest_.find(',');
    const std::string_view element = rest_.substr(0, comma);
    finished_ = comma == std::string_view::npos;
    if (!finished_) rest_.remove_prefix(comma + 1);
    return trim_ows(element);
  }

 private:
  std::string_view rest_;
  bool finished_ = false;
};

}  // namespace ron::http
