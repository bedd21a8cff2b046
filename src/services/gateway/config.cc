#include "services/gateway/config.h"

#include <utility>

#include "auth/scope.h"
#include "http/head.h"
#include "services/gateway/client_address.h"
#include "services/gateway/route_table.h"
#include "services/gateway/wires.h"

namespace ron::gateway {
namespace {

using config::Reload;

config::Group<RouteConfig> route_keys() {
  using C = RouteConfig;
  return {config::text_key("prefix", &C::prefix, "", {.min = "1", .max = "256", .required = true},
                           Reload::Hot, "paths that begin with it, in whole segments"),
          config::text_list_key("upstream", &C::upstream, "",
                                {.min = "1", .max = "16", .required = true}, Reload::Hot,
                                "inproc:SERVICE, or http://host:port, https://host, unix:/path, of "
                                "which there may be several"),
          config::text_list_key("methods", &C::methods, "[]", {.max = "16"}, Reload::Hot,
                                "methods that are let through; empty: all that are known"),
          config::duration_key("deadline", &C::deadline, "0s", {.max = "1h"}, Reload::Hot,
                               "time until the answer begins; 0: upstream.deadline"),
          config::count_key("cost", &C::cost, "1", {.min = "1", .max = "100000"}, Reload::Hot,
                            "what a request is charged besides its bytes and time"),
          config::text_key("scope", &C::scope, "", {.max = "64"}, Reload::Hot,
                           "scope a capability must have for anything but reading; empty: any"),
          config::bool_key("open", &C::is_open, "false", {}, Reload::Hot,
                           "no capability is asked for; the upstream decides for itself"),
          config::bool_key("inline", &C::is_inline, "false", {}, Reload::Hot,
                           "cheap: its requests do not wait for their tenant's turn"),
          config::text_list_key("cors", &C::cors, "[]", {.max = "64"}, Reload::Hot,
                                "origins whose pages may use it, or *; empty: none")};
}

config::Group<DrrConfig> drr_keys() {
  using C = DrrConfig;
  return {
      config::count_key("default_quantum", &C::default_quantum, "1", {.min = "1", .max = "1000"},
                        Reload::Hot, "the weight of a tenant when several want more than there is"),
      config::count_map_key("tenant_quanta", &C::tenant_quanta, "{}", {.min = "1", .max = "1000"},
                            Reload::Hot, "tenants with a weight of their own"),
      config::count_key(
          "rate_limit_rps", &C::rate_limit_rps, "500",
          {.min = "1", .max = "100000000", .unit = "requests per second"}, Reload::Hot,
          "requests per second of one tenant before 429 RateLimited; bursts of one second are "
          "let through")};
}

config::Group<UpstreamConfig> upstream_keys() {
  using C = UpstreamConfig;
  return {
      config::duration_key("connect_timeout", &C::connect_timeout, "1s",
                           {.min = "1ms", .max = "1m"}, Reload::Restart,
                           "time to connect to an upstream"),
      config::duration_key("deadline", &C::deadline, "5s", {.min = "10ms", .max = "1h"},
                           Reload::Restart,
                           "time an upstream has to begin its answer, all tries together; then 504 "
                           "Timeout"),
      config::count_key(
          "concurrency", &C::concurrency, "256", {.min = "1", .max = "65536"}, Reload::Hot,
          "most requests an upstream gets at once while several tenants are active; how "
          "many it can do is measured"),
      config::count_key("max_connections", &C::max_connections, "256", {.min = "1", .max = "65536"},
                        Reload::Restart, "connections to one upstream from one core"),
      config::bool_key("keep_host", &C::keep_host, "false", {}, Reload::Hot,
                       "upstreams are told the Host the client asked for instead of their own"),
      config::duration_key("probe_interval", &C::probe_interval, "2s",
                           {.min = "10ms", .max = "10m"}, Reload::Restart,
                           "how often the members of a group are asked how they are"),
      config::duration_key("probe_timeout", &C::probe_timeout, "1s", {.min = "1ms", .max = "1m"},
                           Reload::Restart, "time they have to answer that"),
      config::text_key("probe_path", &C::probe_path, "/", {.min = "1", .max = "256"},
                       Reload::Restart, "what they are asked for; any answer below 500 is well"),
      config::count_key("eject_after", &C::eject_after, "5", {.min = "1", .max = "1000"},
                        Reload::Restart, "failures in a row after which a member is left alone"),
      config::duration_key("eject_for", &C::eject_for, "30s", {.min = "10ms", .max = "1h"},
                           Reload::Restart, "for how long, the first time; then twice as long"),
  };
}

config::Group<RetryConfig> retry_keys() {
  using C = RetryConfig;
  return {
      config::count_key("max_tries", &C::max_tries, "3", {.min = "1", .max = "10"}, Reload::Restart,
                        "of an idempotent request, the first included"),
      config::duration_key("base", &C::base, "50ms", {.min = "1ms", .max = "10s"}, Reload::Restart,
                           "the shortest wait before the first repetition; up to twice as long"),
      config::duration_key("cap", &C::cap, "2s", {.min = "1ms", .max = "1m"}, Reload::Restart,
                           "the longest wait before a repetition"),
      config::number_key("budget", &C::budget, "0.2", {.min = "0", .max = "1"}, Reload::Restart,
                         "repetitions for each request, in the long run")};
}

config::Group<BreakerConfig> breaker_keys() {
  using C = BreakerConfig;
  return {config::count_key("error_percent", &C::error_percent, "50", {.min = "1", .max = "100"},
                            Reload::Restart, "share of failures that opens it"),
          config::count_key("min_volume", &C::min_volume, "20", {.min = "1", .max = "100000"},
                            Reload::Restart, "but not below this many requests in the window"),
          config::duration_key("window", &C::window, "10s", {.min = "100ms", .max = "10m"},
                               Reload::Restart, "over which failures are counted"),
          config::duration_key(
              "open_for", &C::open_for, "5s", {.min = "10ms", .max = "10m"}, Reload::Restart,
              "how long a member has its rest; up to half longer, drawn each time"),
          config::count_key("probes", &C::probes, "3", {.min = "1", .max = "100"}, Reload::Restart,
                            "requests let through after that; all must succeed to close it")};
}

void check_routes(const GatewayConfig& config, config::Problems& problems) {
  if (const auto table = RouteTable::make(config.effective_routes()); !table) {
    problems.add("routes", table.error().message);
  }
  for (const std::string& proxy : config.trusted_proxies) {
    if (!AddressBlock::parse(proxy)) {
      problems.add("trusted_proxies",
                   "'" + proxy + "' is not an address or a block such as 10.0.0.0/8");
    }
  }
}

void add_own_keys(config::Group<GatewayConfig>& group) {
  using C = GatewayConfig;
  group.add(config::records_key("routes", &C::routes, route_keys(), "[]", {.max = "64"},
                                Reload::Hot,
                                "which paths go where; none: every service behind its own paths"));
  group.include(&C::drr, drr_keys(), "drr.");
  group.include(&C::upstream, upstream_keys(), "upstream.");
  group.include(&C::retry, retry_keys(), "retry.");
  group.include(&C::breaker, breaker_keys(), "breaker.");
  group.add(config::text_list_key("hosts", &C::hosts, "[]", {.max = "256"}, Reload::Hot,
                                  "names it answers to, *.example.org included; empty: any"));
  group.add(config::text_list_key(
      "trusted_proxies", &C::trusted_proxies, "[]", {.max = "64"}, Reload::Hot,
      "addresses or blocks whose X-Forwarded-For and X-Forwarded-Proto are taken for true"));
  group.include(&C::streams, http::stream_keys(), "sse.");
  group.add(config::duration_key("hsts_max_age", &C::hsts_max_age, "365d", {.max = "3650d"},
                                 Reload::Hot,
                                 "how long browsers keep to TLS once they saw it; 0: not said"));
  group.add(config::count_key("workers", &C::workers, "0", {.max = "64"}, Reload::Restart,
                              "tasks that hand out turns; 0: one for each core, at most 8"));
  group.add(kit::capacity_key(kWork, &C::work_capacity,
                              "requests waiting for the scheduler before 429 Busy"));
  group.add(kit::capacity_key(kSched, &C::sched_capacity,
                              "turns waiting for a worker before the oldest is dropped"));
  group.add(
      kit::capacity_key(kMetricsTick, &C::tick_capacity, "seconds the accountant may be behind"));
  group.add(kit::capacity_key(kEvents, &C::events_capacity,
                              "events kept for slow listeners before they miss some"));
}

// Set by the build: only one with tests has keys that make the service misbehave for them.
constexpr bool kTestSeams = RON_TEST_SEAMS != 0;

config::Group<GatewayConfig> keys() {
  config::Group<GatewayConfig> group;
  group.include(kit::service_keys({.bind = "127.0.0.1:8080", .admin = "127.0.0.1:9080"}));
  group.with_default("max_conns", "512");
  // Four busy addresses leave room for others.
  group.with_default("max_conns_per_ip", "96");
  // What counts is each tenant's rate; this one is the machine's.
  group.with_default("server.max_rps", "100000");
  add_own_keys(group);
  if (kTestSeams) {
    group.add(config::count_key("debug.fail_workers", &GatewayConfig::debug_fail_workers, "0",
                                {.max = "1000", .safe_max = "0"}, Reload::Hot,
                                "for tests: workers that fail, all since the start together"));
  }
  group.check(check_routes);
  return group;
}

RouteConfig to_service(std::string prefix, const std::string& service) {
  RouteConfig route;
  route.prefix = std::move(prefix);
  route.upstream = {"inproc:" + service};
  return route;
}

// Who is known there may announce without a capability: that is for svc-index to say.
RouteConfig to_providers() {
  RouteConfig route = to_service("/providers", "index");
  route.is_open = true;
  return route;
}

// What it asks of origins has its own deadlines: three tries of 5 s, and the waits between them.
RouteConfig to_edge() {
  RouteConfig route = to_service("/edge", "edge");
  route.deadline = std::chrono::seconds(20);
  return route;
}

}  // namespace

runtime::BreakerPolicy BreakerConfig::policy() const noexcept {
  return {.error_percent = static_cast<std::uint32_t>(error_percent),
          .min_volume = static_cast<std::uint32_t>(min_volume),
          .window = window,
          .open_for = open_for,
          .probes = static_cast<std::uint32_t>(probes)};
}

const std::vector<RouteConfig>& default_routes() {
  static const std::vector<RouteConfig> routes = {
      to_service("/o", "storage"),
      to_service("/uploads", "storage"),
      to_service("/resolve", "index"),
      to_providers(),
      to_service("/names", "index"),
      to_service("/registry", "registry"),
      to_edge(),
  };
  return routes;
}

const std::vector<RouteConfig>& GatewayConfig::effective_routes() const noexcept {
  return routes.empty() ? default_routes() : routes;
}

const config::Section<GatewayConfig>& gateway_section() {
  static const config::Section<GatewayConfig> section(
      "gateway", "svc-gateway: one front door, fair between tenants", keys());
  return section;
}

}  // namespace ron::gateway
