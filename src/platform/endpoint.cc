#include <algorithm>
#include <charconv>

#include <arpa/inet.h>
#include <sys/un.h>

#include "platform/net.h"

namespace ron::platform {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

base::Result<Endpoint> bad(std::string_view text) {
  return base::fail(
      base::Code::Malformed,
      "'" + std::string(text) +
          "' is not an address; write HOST:PORT, for example 127.0.0.1:8081 or [::1]:8081, or "
          "unix:PATH");
}

// What fits into sockaddr_un, with its end.
constexpr std::size_t kSocketPathBytes = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::string_view kUnix = "unix:";

bool parse_ip(std::string host, std::array<std::uint8_t, 16>& ip) {
  if (host == "localhost") host = "127.0.0.1";
  if (inet_pton(AF_INET6, host.c_str(), ip.data()) == 1) return true;
  std::ranges::copy(kMapped, ip.begin());
  return inet_pton(AF_INET, host.c_str(), ip.data() + 12) == 1;
}

}  // namespace

base::Result<Endpoint> Endpoint::unix_socket(std::string_view path) {
  if (path.empty() || path.size() > kSocketPathBytes || path.contains('\0')) {
    return base::fail(base::Code::Malformed, "'" + std::string(path) +
                                                 "' is no path of a Unix socket; it may have " +
                                                 std::to_string(kSocketPathBytes) + " bytes");
  }
  Endpoint endpoint;
  endpoint.path = path;
  return endpoint;
}

base::Result<Endpoint> Endpoint::parse(std::string_view text) {
  if (text.starts_with(kUnix)) return unix_socket(text.substr(kUnix.size()));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return bad(text);
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find(':') != std::string_view::npos) return bad(text);

  Endpoint endpoint;
  const auto [end, status] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (status != std::errc{} || end != port.data() + port.size()) return bad(text);
  if (!parse_ip(std::string(host), endpoint.ip)) return bad(text);
  return endpoint;
}

Endpoint Endpoint::loopback(std::uint16_t port) {
  Endpoint endpoint;
  parse_ip("127.0.0.1", endpoint.ip);
  endpoint.port = port;
  return endpoint;
}

bool Endpoint::is_v4() const noexcept {
  return std::equal(kMapped.begin(), kMapped.end(), ip.begin());
}

bool Endpoint::is_loopback() const noexcept {
  if (is_unix()) return false;
  if (is_v4()) return ip[12] == 127;
  return ip.back() == 1 &&
         std::all_of(ip.begin(), ip.end() - 1, [](auto byte) { return byte == 0; });
}

bool Endpoint::is_wildcard() const noexcept {
  if (is_unix()) return false;
  const auto begin = is_v4() ? ip.begin() + kMapped.size() : ip.begin();
  return std::all_of(begin, ip.end(), [](auto byte) { return byte == 0; });
}

std::string Endpoint::text() const {
  if (is_unix()) return std::string(kUnix) + path;
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  const std::string suffix = ":" + std::to_string(port);
  if (is_v4()) return inet_ntop(AF_INET, ip.data() + 12, buffer.data(), buffer.size()) + suffix;
  inet_ntop(AF_INET6, ip.data(), buffer.data(), buffer.size());
  return "[" + std::string(buffer.data()) + "]" + suffix;
}

Task<base::Result<>> Stream::handshake(TimePoint) { co_return base::Result<>(); }

}  // namespace ron::platform
