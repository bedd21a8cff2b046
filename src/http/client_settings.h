// ClientSettings: the bounds and timeouts of one HTTP client. All bounds hold per endpoint and per
// client, and a client belongs to one executor.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "base/units.h"
#include "platform/clock.h"
#include "platform/tls.h"

namespace ron::http {

struct ClientSettings {
  // For requests with a tls_host; none: those are refused.
  std::shared_ptr<const platform::TlsClient> tls{};
  const platform::Clock* clock = nullptr;  // by which certificates are judged
  // Connections.
  std::size_t max_connections = 64;  // in use, idle and being opened
  std::size_t max_idle = 16;         // kept for the next request
  std::size_t max_waiting = 256;     // requests waiting for a connection; further ones are Busy
  base::Duration idle_timeout = std::chrono::seconds(30);
  base::Duration connect_timeout = std::chrono::seconds(1);
  // Requests. The deadline given to send() holds as well; the sooner one counts.
  base::Duration write_timeout = std::chrono::seconds(5);     // without progress
  base::Duration read_timeout = std::chrono::seconds(30);     // for a head, and between body parts
  base::Duration continue_timeout = std::chrono::seconds(1);  // for an answer to Expect
};

}  // namespace ron::http
