// The section [gateway] of ron.toml.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "config/section.h"
#include "http/stream_places.h"
#include "runtime/breaker.h"
#include "services/kit/config.h"

namespace ron::gateway {

// One row of [[gateway.routes]].
struct RouteConfig {
  std::string prefix;
  config::TextList upstream;  // `inproc:storage`, `http://host:port`, `https://…`, `unix:/path`
  config::TextList methods;   // empty: all of them
  base::Duration deadline{};  // zero: upstream.deadline
  std::uint64_t cost = 1;     // what a request is worth besides its bytes and time
  std::string scope;          // what anything but reading needs; empty: any good capability
  bool is_open = false;       // no capability at all
  bool is_inline = false;     // cheap: never waits for its turn
  config::TextList cors;      // origins whose pages may use it
};

struct DrrConfig {
  std::uint64_t default_quantum = 1;
  config::CountMap tenant_quanta;
  std::uint64_t rate_limit_rps = 0;  // of each tenant
};

struct UpstreamConfig {
  base::Duration connect_timeout{};
  base::Duration deadline{};
  std::uint64_t concurrency = 0;      // requests at once while several tenants are active
  std::uint64_t max_connections = 0;  // to one member, from one core
  bool keep_host = false;
  base::Duration probe_interval{};
  base::Duration probe_timeout{};
  std::string probe_path;
  std::uint64_t eject_after = 0;  // failures in a row
  base::Duration eject_for{};     // the first time; longer each time after
};

struct RetryConfig {
  std::uint64_t max_tries = 0;
  base::Duration base{};
  base::Duration cap{};
  double budget = 0;  // retries for each request
};

struct BreakerConfig {
  std::uint64_t error_percent = 0;
  std::uint64_t min_volume = 0;
  base::Duration window{};
  base::Duration open_for{};
  std::uint64_t probes = 0;

  [[nodiscard]] runtime::BreakerPolicy policy() const noexcept;
};

struct GatewayConfig : kit::ServiceConfig {
  GatewayConfig() { server.larger_body_advice = "store it in parts: POST /uploads, or ron put"; }

  std::vector<RouteConfig> routes;  // empty: the default table
  DrrConfig drr;
  UpstreamConfig upstream;
  RetryConfig retry;
  BreakerConfig breaker;
  config::TextList hosts;            // names it answers to; empty: any
  config::TextList trusted_proxies;  // whose word about their clients is taken
  http::StreamSettings streams;
  base::Duration hsts_max_age{};
  std::uint64_t workers = 0;  // zero: min(cores, 8)
  std::uint64_t work_capacity = 0;
  std::uint64_t sched_capacity = 0;
  std::uint64_t tick_capacity = 0;
  std::uint64_t events_capacity = 0;
  std::uint64_t debug_fail_workers = 0;  // a seam for tests: 0 in a build without them

  // The rows, or what is served if there are none.
  [[nodiscard]] const std::vector<RouteConfig>& effective_routes() const noexcept;
};

// Every service behind its own paths.
const std::vector<RouteConfig>& default_routes();

const config::Section<GatewayConfig>& gateway_section();

}  // namespace ron::gateway
