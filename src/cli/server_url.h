// The URL of a server as people give it: `http://HOST:PORT`, by name or address.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ron::cli {

struct ServerUrl {
  std::string host;  // a name or an IP address, without brackets
  std::uint16_t port = 0;

  // `HOST:PORT`, with the brackets that an IPv6 address needs.
  [[nodiscard]] std::string authority() const;
  [[nodiscard]] std::string text() const { return "http://" + authority(); }
  friend bool operator==(const ServerUrl&, const ServerUrl&) = default;
};

// Port 80 where none is written. Malformed says what is wrong with the URL and how to write it; it
// does not repeat one that may hold a password.
base::Result<ServerUrl> parse_server_url(std::string_view url);

// Where that server's operators connect unless its configuration says otherwise: 1000 ports above.
// Malformed where there is no such port.
base::Result<ServerUrl> admin_of(const ServerUrl& server);

}  // namespace ron::cli
