// Resolver: host names to addresses, for whoever connects. What a server binds to is an address:
// it must not depend on a name service.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "platform/blocking.h"
#include "platform/net.h"
#include "platform/task.h"

namespace ron::platform {

// One question to a name service, which nobody can be asked to leave.
inline constexpr BlockingKind kResolveName{"resolve_name", std::chrono::seconds(30)};

// Any executor of the host. Nothing is remembered: asking again asks the name service again.
class Resolver {
 public:
  Resolver() = default;
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;
  virtual ~Resolver() = default;

  // The addresses of `host` with this port, in the order to try them; at least one. An IP address
  // stands for itself. NotFound if there is no such host, UpstreamFail if nobody can tell now, Busy
  // if too many ask at once. May take many seconds. Cancel-safe: the question goes on unheard.
  virtual Task<base::Result<std::vector<Endpoint>>> resolve(std::string host,
                                                            std::uint16_t port) = 0;
};

}  // namespace ron::platform
