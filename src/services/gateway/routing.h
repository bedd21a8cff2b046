// Routing: everything a request is judged by on its way in, as one immutable snapshot. Each core
// has a copy of its own, so that counting who uses it stays on that core.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/gateway/client_address.h"
#include "services/gateway/config.h"
#include "services/gateway/route_table.h"
#include "services/gateway/upstream.h"

namespace ron::gateway {

struct Routing {
  RouteTable table;
  std::vector<std::shared_ptr<Upstream>> upstreams;  // as table.upstreams()
  AddressBlocks trusted_proxies;
  std::vector<std::string> hosts;  // without ports, whatever their case; empty: any
  std::string hsts;                // the value; empty: not said
  base::Duration deadline{};
  bool keep_host = false;

  // `host` as the request has it, port included.
  [[nodiscard]] bool answers_to(std::string_view host) const noexcept;
};

// Without its upstreams. The configuration was checked.
Routing routing_of(const GatewayConfig& config);

}  // namespace ron::gateway
