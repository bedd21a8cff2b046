// A server as commands name it (http/server_url.h), and what is known of where it listens.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "http/server_url.h"

namespace ron::cli {

using http::parse_server_url;
using http::ServerUrl;

// Where `ron up` listens unless it is told otherwise: on ports that are known for their purpose.
inline constexpr std::uint16_t kUpPort = 8080;
inline constexpr std::uint16_t kUpAdminPort = 9090;

// Where that server's operators connect unless its configuration says otherwise: 1000 ports above,
// and for the port of `ron up` 9090. Malformed where there is no such port.
base::Result<ServerUrl> admin_of(const ServerUrl& server);

}  // namespace ron::cli
