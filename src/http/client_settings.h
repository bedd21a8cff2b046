// ClientSettings: the bounds and timeouts of one HTTP client. All bounds but the total one hold per
// endpoint and per client, and a client belongs to one executor.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>

#include "base/units.h"
#include "platform/clock.h"
#include "platform/net.h"
#include "platform/resolver.h"
#include "platform/tls.h"

namespace ron::http {

struct ClientSettings {
  // For requests with a tls_host; none: those are refused.
  std::shared_ptr<const platform::TlsClient> tls{};
  const platform::Clock* clock = nullptr;  // by which certificates are judged
  // For requests that name a host; none: those are refused.
  platform::Resolver* resolver = nullptr;
  base::Duration name_ttl = std::chrono::seconds(30);         // how long its addresses hold
  base::Duration name_failure_ttl = std::chrono::seconds(1);  // the same for "no such host"
  // Every address is put to it, also those that a name stands for, before it is connected to. No
  // means NotAllowed. None: all are allowed.
  std::function<bool(const platform::Endpoint&)> allow_address{};
  // Connections.
  std::size_t max_connections = 64;  // in use, idle and being opened
  std::size_t max_idle = 16;         // kept for the next request
  // Kept for all endpoints together; a further one takes the place of the longest idle. For clients
  // whose endpoints others choose.
  std::size_t max_idle_total = std::numeric_limits<std::size_t>::max();
  std::size_t max_waiting = 256;  // requests waiting for a connection; further ones are Busy
  base::Duration idle_timeout = std::chrono::seconds(30);
  base::Duration connect_timeout = std::chrono::seconds(1);  // all addresses of a name together
  // Requests. The deadline given to send() holds as well; the sooner one counts.
  base::Duration write_timeout = std::chrono::seconds(5);     // without progress
  base::Duration read_timeout = std::chrono::seconds(30);     // for a head, and between body parts
  base::Duration continue_timeout = std::chrono::seconds(1);  // for an answer to Expect
};

}  // namespace ron::http
