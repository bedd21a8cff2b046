// The section [gateway] of ron.toml.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "config/section.h"
#include "runtime/breaker.h"
#include "services/kit/config.h"

namespace ron::gateway {

// One row of [[gateway.routes]].
struct RouteConfig {
  std::string prefix;
  config::TextList upstream;      // `inproc:storage`, `http://host:port`, `https://…`, `unix:/path`
  config::TextList methods;       // empty: all of them
  base::Duration deadline{};      // zero: upstream.deadline
  std::uint64_t cost = 1;         // what a request is worth besides its bytes and time
  std::string scope;              // what writing needs; empty: any good capability
  bool is_open = false;           // no capability for writes either
  bool is_inline = false;         // cheap: never waits for its turn
  config::TextList cors_origins;  // who may use it from a page of another origin
};

struct DrrConfig {
  std::uint32_t default_quantum = 1;
  config::CountMap tenant_quanta;
  std::uint64_t rate_limit_rps = 0;  // per tenant
};

struct UpstreamConfig {
  base::Duration connect_timeout{};
  base::Duration deadline{};
  std::uint64_t concurrency = 0;      // requests at once while several tenants are active
  std::uint64_t max_connections = 0;  // to one member, from one core
  std::string ca_path;                // whom https upstreams are trusted by; empty: the system's
  base::Duration probe_interval{};
  base::Duration probe_timeout{};
  std::string probe_path;
  std::uint32_t eject_after = 0;  // failures in a row
  base::Duration eject_for{};     // the first time; twice as long each time after
};

struct RetryConfig {
  std::uint32_t max_tries = 0;
  base::Duration base{};
  base::Duration cap{};
  double budget = 0;  // retries per request
};

struct GatewayConfig : kit::ServiceConfig {
  std::vector<RouteConfig> routes;  // empty: the default table
  DrrConfig drr;
  UpstreamConfig upstream;
  RetryConfig retry;
  runtime::BreakerPolicy breaker;
  config::TextList hosts;            // names it answers to; empty: any
  config::TextList trusted_proxies;  // whose Forwarded fields are believed
  base::Duration hsts_max_age{};
  std::uint64_t workers = 0;  // zero: min(cores, 8)
  std::uint64_t work_capacity = 0;
  std::uint64_t sched_capacity = 0;
  std::uint64_t tick_capacity = 0;
  std::uint64_t events_capacity = 0;
};

// The services that can stand behind the gateway, and what is theirs if no route is configured.
const std::vector<RouteConfig>& default_routes();

const config::Section<GatewayConfig>& gateway_section();

}  // namespace ron::gateway
