#include "catalog/name.h"

#include <algorithm>
#include <charconv>

#include "catalog/segments.h"

namespace ron::catalog {
namespace {

using base::Code;
using base::fail;
using base::Result;

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_lower_or_digit(char c) noexcept { return (c >= 'a' && c <= 'z') || is_digit(c); }
constexpr bool is_unreserved(char c) noexcept {
  return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_' ||
         c == '~';
}

bool is_namespace(std::string_view text) noexcept {
  if (text.empty() || text.size() > kMaxNamespaceBytes || !is_lower_or_digit(text.front())) {
    return false;
  }
  return std::ranges::all_of(
      text, [](char c) { return is_lower_or_digit(c) || c == '.' || c == '_' || c == '-'; });
}

// Where the `@` of a version stands in a text that ends in `@` and digits.
std::optional<std::size_t> find_version(std::string_view text) noexcept {
  const std::string_view segment = last_segment(text);
  const std::size_t at = segment.rfind('@');
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = segment.substr(at + 1);
  if (digits.empty() || !std::ranges::all_of(digits, is_digit)) return std::nullopt;
  return text.size() - digits.size() - 1;
}

}  // namespace

Result<Name> parse_name(std::string_view text) {
  if (text.size() > kMaxNameBytes) {
    return fail(Code::Malformed,
                "the name is longer than " + std::to_string(kMaxNameBytes) + " bytes");
  }
  if (!is_namespace(text.substr(0, text.find('/')))) {
    return fail(Code::Malformed,
                "a name begins with a namespace: 1 to 63 of a-z 0-9 . _ -, the first a letter or "
                "a digit");
  }
  if (auto sound = check_segments(text, "the name"); !sound) return fail(std::move(sound.error()));
  // No path of a URL can have one, so nobody could ask for the name.
  if (text.contains('\\')) return fail(Code::Malformed, "the name has a backslash");
  if (find_version(text)) {
    return fail(Code::Malformed, "the name ends in '@' and digits, which stand for a version");
  }
  return Name(std::string(text));
}

std::string NameRef::text() const {
  return version ? name.text() + "@" + std::to_string(*version) : name.text();
}

Result<NameRef> parse_name_ref(std::string_view text) {
  const auto at = find_version(text);
  auto name = parse_name(text.substr(0, at.value_or(text.size())));
  if (!name) return fail(std::move(name.error()));
  if (!at) return NameRef{std::move(*name), std::nullopt};
  const std::string_view digits = text.substr(*at + 1);
  std::uint64_t version = 0;
  const auto [end, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), version);
  if (problem != std::errc() || digits.front() == '0') {
    return fail(Code::Malformed, "a version is a number from 1 on, without zeros in front");
  }
  return NameRef{std::move(*name), version};
}

Result<Key> parse_key(std::string_view text) {
  if (text.starts_with("b3:")) {
    auto address = base::ObjectId::parse(text);
    if (!address) return fail(std::move(address.error()));
    return Key(*address);
  }
  auto ref = parse_name_ref(text);
  if (!ref) return fail(std::move(ref.error()));
  return Key(std::move(*ref));
}

std::string print(const Key& key) {
  const auto* const ref = std::get_if<NameRef>(&key);
  return ref != nullptr ? ref->text() : std::get<base::ObjectId>(key).text();
}

bool is_below(const Name& name, std::string_view prefix) noexcept {
  const std::string& text = name.text();
  if (prefix.empty()) return true;
  return text.starts_with(prefix) && (text.size() == prefix.size() || text[prefix.size()] == '/');
}

bool is_site_name(std::string_view text) noexcept {
  constexpr std::size_t kMostChars = 64;
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= kMostChars && is_alphanumeric(text.front()) &&
         std::ranges::all_of(
             text, [&](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

std::string encode_in_path(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c) || c == '/') {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kHex[byte >> 4U];
    encoded += kHex[byte & 0xFU];
  }
  return encoded;
}

}  // namespace ron::catalog
