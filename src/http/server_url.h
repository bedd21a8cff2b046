// The URL of a server as people give it: `http://HOST:PORT` or `https://HOST:PORT`, by name or
// address, or `unix:PATH`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ron::http {

struct ServerUrl {
  enum class Scheme : std::uint8_t { Http, Https, Unix };

  Scheme scheme = Scheme::Http;
  std::string host;  // a name or an IP address, without brackets; the path of a Unix socket
  std::uint16_t port = 0;

  // `HOST:PORT`, with the brackets that an IPv6 address needs; of a Unix socket `localhost`.
  [[nodiscard]] std::string authority() const;
  [[nodiscard]] std::string text() const;
  friend bool operator==(const ServerUrl&, const ServerUrl&) = default;
};

// Port 80 or 443 where none is written. Malformed says what is wrong with the URL and how to write
// it; it does not repeat one that may hold a password.
base::Result<ServerUrl> parse_server_url(std::string_view url);

}  // namespace ron::http
