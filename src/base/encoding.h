// Hex, base64 (RFC 4648 §4, with padding) and base64url (§5, without); either is read, padded or
// not.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace ron::base {

// Value of one hex digit of either case, or -1.
constexpr int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string to_hex(ByteView bytes);
// Fills `out` from exactly 2 * out.size() hex digits of either case; false if `text` is anything
// else.
[[nodiscard]] bool from_hex(std::string_view text, MutableBytes out) noexcept;

std::string to_base64(ByteView bytes);
std::string to_base64url(ByteView bytes);
// Accepts the URL-safe and the classic alphabet; nothing on any other byte.
[[nodiscard]] std::optional<std::vector<std::byte>> from_base64(std::string_view text);

// Accepts exactly what to_base64 writes, so that no two texts mean the same bytes.
[[nodiscard]] std::optional<std::vector<std::byte>> from_base64_exact(std::string_view text);

}  // namespace ron::base
