// ServerSettings: the limits and timeouts of one HTTP server, the same keys in every service.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/limits.h"
#include "base/units.h"
#include "config/key.h"

namespace ron::http {

// What a request's body may be.
struct BodyLimits {
  std::uint64_t max_body_bytes = 0;
  std::uint64_t decode_abs_cap_bytes = 0;
  std::uint64_t decode_ratio_max = 0;
  std::string_view larger_body_advice{};
};

struct ServerSettings {
  // Connections.
  std::uint64_t max_conns = 0;
  std::uint64_t max_conns_per_ip = 0;
  base::Duration read_timeout{};
  base::Duration write_timeout{};
  base::Duration idle_timeout{};
  // Requests.
  std::uint64_t max_inflight = 0;
  std::uint64_t max_rps = 0;
  base::Duration request_deadline{};
  base::Size max_body_bytes{};
  base::Size decode_abs_cap_bytes{};
  std::uint64_t decode_ratio_max = 0;
  // What a client can do whose body is too large; a literal of the service, not a key.
  std::string_view larger_body_advice{};

  [[nodiscard]] BodyLimits body_limits() const noexcept {
    return {max_body_bytes.bytes, decode_abs_cap_bytes.bytes, decode_ratio_max, larger_body_advice};
  }
};

// BodyCap: what a client is told whose body is too large.
base::Error body_too_large(const BodyLimits& limits);

// `limits.max_body_bytes`, `server.max_inflight`, `read_timeout` and so on, to include in a
// service's section. All of them are hot: the next request or connection sees a change.
config::Group<ServerSettings> server_keys();

}  // namespace ron::http
