#include "config/value.h"

#include <array>
#include <charconv>

namespace ron::config {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::size_t kMaxHostBytes = 253;  // the longest DNS name

bool is_host_char(char c, bool bracketed) {
  const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  if (bracketed) return word || c == ':' || c == '.' || c == '%';
  return word || c == '-' || c == '.' || c == '_';
}

bool split_address(std::string_view text, Address& out) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const bool bracketed = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.size() > kMaxHostBytes) return false;
  for (const char c : host) {
    if (!is_host_char(c, bracketed)) return false;
  }
  const auto* end = port.data() + port.size();
  const auto [stop, status] = std::from_chars(port.data(), end, out.port);
  if (status != std::errc{} || stop != end) return false;
  out.host = host;
  return true;
}

}  // namespace

base::Result<Address> parse_address(std::string_view text) {
  Address address;
  if (split_address(text, address)) return address;
  return base::fail(base::Code::Malformed,
                    "'" + printable(text) +
                        "' is not an address; write HOST:PORT, for example 127.0.0.1:8080 or "
                        "[::1]:8080");
}

std::string print(const Address& address) {
  if (address.empty()) return "";
  const bool bracketed = address.host.find(':') != std::string::npos;
  const std::string host = bracketed ? "[" + address.host + "]" : address.host;
  return host + ":" + std::to_string(address.port);
}

bool operator==(const Records& a, const Records& b) { return a.rows == b.rows; }
bool operator==(const Value& a, const Value& b) { return a.data == b.data; }

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20 || code == 0x7F) {
      out += "\\u00";
      out += kHex[code >> 4];
      out += kHex[code & 15];
    } else {
      out += c;
    }
  }
  return out += '"';
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (const char c : text.substr(0, limit)) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code < 0x7F) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[code >> 4];
      out += kHex[code & 15];
    }
  }
  if (text.size() > limit) out += "...";
  return out;
}

std::string print(double number) {
  std::array<char, 32> digits;
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  std::string out(digits.data(), result.ptr);
  // TOML tells floats from integers by the point or the exponent.
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

}  // namespace ron::config
