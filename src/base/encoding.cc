#include "base/encoding.h"

#include <array>
#include <cstdint>

namespace ron::base {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<std::int8_t, 256> kBase64Value = [] {
  std::array<std::int8_t, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < kBase64Url.size(); ++i) {
    table[static_cast<unsigned char>(kBase64Url[i])] = static_cast<std::int8_t>(i);
  }
  table['+'] = 62;
  table['/'] = 63;
  return table;
}();

std::string without_padding(ByteView bytes, std::string_view alphabet) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t window = 0;
  int bits = 0;
  for (const std::byte b : bytes) {
    window = (window << 8) | static_cast<std::uint32_t>(b);
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      out.push_back(alphabet[(window >> bits) & 63U]);
    }
  }
  if (bits > 0) out.push_back(alphabet[(window << (6 - bits)) & 63U]);
  return out;
}

}  // namespace

std::string to_hex(ByteView bytes) {
  std::string out(bytes.size() * 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto value = static_cast<unsigned>(bytes[i]);
    out[2 * i] = kHex[value >> 4];
    out[2 * i + 1] = kHex[value & 15U];
  }
  return out;
}

bool from_hex(std::string_view text, MutableBytes out) noexcept {
  if (text.size() != out.size() * 2) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::byte>(high * 16 + low);
  }
  return true;
}

std::string to_base64(ByteView bytes) {
  std::string out = without_padding(bytes, kBase64);
  out.append((4 - out.size() % 4) % 4, '=');
  return out;
}

std::string to_base64url(ByteView bytes) { return without_padding(bytes, kBase64Url); }

std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
  std::size_t padding = 0;
  while (padding < 2 && !text.empty() && text.back() == '=') {
    text.remove_suffix(1);
    ++padding;
  }
  if (text.size() % 4 == 1) return std::nullopt;
  std::vector<std::byte> out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t window = 0;
  int bits = 0;
  for (const char c : text) {
    const int value = kBase64Value[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    window = (window << 6) | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out.push_back(static_cast<std::byte>((window >> bits) & 255U));
    }
  }
  return out;
}

std::optional<std::vector<std::byte>> from_base64_exact(std::string_view text) {
  auto bytes = from_base64(text);
  if (bytes && to_base64(*bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace ron::base
