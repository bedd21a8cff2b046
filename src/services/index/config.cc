#include "services/index/config.h"

#include "auth/ed25519.h"
#include "catalog/name.h"
#include "services/index/targets.h"
#include "services/index/wires.h"

namespace ron::index {
namespace {

using config::Reload;

// One of the three lists of whom to ask.
void check_targets(const base::Result<TargetList>& targets, std::string_view key,
                   config::Problems& problems) {
  if (!targets) problems.add(std::string(key), targets.error().message);
}

config::Group<DhtConfig> dht_keys() {
  using C = DhtConfig;
  config::Group<C> group{
      config::text_list_key("proxies", &C::proxies, "[]", {.max = "32"}, Reload::Restart,
                            "REST proxies of OpenDHT nodes, http://host:port each; every one is a "
                            "lane with keys of its own"),
      config::count_key("alpha", &C::alpha, "3", {.min = "1", .max = "16"}, Reload::Hot,
                        "how many proxies and peers a look-up asks at once"),
      config::count_key("beta", &C::beta, "2", {.max = "16"}, Reload::Hot,
                        "how many more it asks when nobody has answered after hedge_ms"),
      config::count_key("hedge_ms", &C::hedge_ms, "150", {.min = "1", .max = "60000"}, Reload::Hot,
                        "milliseconds before others are asked, too"),
      config::count_key("deadline_ms", &C::deadline_ms, "1200", {.min = "100", .max = "60000"},
                        Reload::Hot, "milliseconds a resolve may take in all; then 504 Timeout"),
      config::count_key(
          "quorum", &C::quorum, "1", {.min = "1", .max = "16"}, Reload::Hot,
          "how many must name a provider before a look-up stops waiting for the others"),
      config::duration_key("republish", &C::republish, "5m", {.min = "1s", .max = "24h"},
                           Reload::Hot, "how often own records are published again"),
      config::count_key("publish_rps", &C::publish_rps, "100", {.min = "1", .max = "100000"},
                        Reload::Hot, "records published per second at most"),
  };
  group.check([](const C& dht, config::Problems& problems) {
    check_targets(TargetList::parse(dht.proxies, {}, {}), "proxies", problems);
    if (dht.hedge_ms >= dht.deadline_ms) {
      problems.add("hedge_ms",
                   "must be below deadline_ms; after that there is no time to ask more servers");
    }
  });
  return group;
}

config::Group<DiscoveryConfig> discovery_keys() {
  using C = DiscoveryConfig;
  config::Group<C> group{
      config::text_list_key("static", &C::fixed, "[]", {.max = "32"}, Reload::Restart,
                            "servers that are asked for every object when nobody else is known"),
      config::choice_key("trust", &C::trust, "known",
                         {{"known", TrustMode::Known}, {"any", TrustMode::Any}}, {}, Reload::Hot,
                         "whose records count: those of known nodes, or of anyone who signs"),
      config::text_list_key("nodes", &C::nodes, "[]", {.max = "1024"}, Reload::Hot,
                            "known nodes: the base64 of each one's public key"),
      config::choice_key(
          "source", &C::source, "config",
          {{"config", NodeSource::Config}, {"registry", NodeSource::Registry}}, {}, Reload::Restart,
          "registry: nodes that the registry of this process describes are known, too"),
      config::duration_key("max_ttl", &C::max_ttl, "48h", {.min = "1m", .max = "30d"}, Reload::Hot,
                           "records that claim to hold for longer do not count"),
  };
  group.check([](const C& discovery, config::Problems& problems) {
    check_targets(TargetList::parse({}, {}, discovery.fixed), "static", problems);
    for (const std::string& node : discovery.nodes) {
      const auto key = auth::parse_public_key(node);
      if (!key) problems.add("nodes", "'" + node + "': " + key.error().message);
    }
  });
  return group;
}

config::Group<CacheConfig> cache_keys() {
  using C = CacheConfig;
  config::Group<C> group{
      config::duration_key("positive_ttl", &C::positive_ttl, "60s", {.min = "0s", .max = "24h"},
                           Reload::Hot, "how long an answer is remembered"),
      config::duration_key("negative_ttl", &C::negative_ttl, "5s", {.min = "0s", .max = "1h"},
                           Reload::Hot, "how long it is remembered that there is no answer"),
      config::count_key("entries", &C::entries, "100000", {.min = "16", .max = "10000000"},
                        Reload::Hot, "answers remembered at most, about 2 KiB each"),
      config::text_list_key("warmup_keys", &C::warmup_keys, "[]", {.max = "1024"}, Reload::Hot,
                            "names and addresses that are resolved at the start"),
  };
  group.check([](const C& cache, config::Problems& problems) {
    for (const std::string& key : cache.warmup_keys) {
      const auto parsed = catalog::parse_key(key);
      if (!parsed) problems.add("warmup_keys", "'" + key + "': " + parsed.error().message);
    }
  });
  return group;
}

config::Group<BreakerConfig> breaker_keys() {
  using C = BreakerConfig;
  return {
      config::count_key("error_window_s", &C::error_window_s, "30", {.min = "1", .max = "3600"},
                        Reload::Restart, "seconds over which the failures of a target are counted"),
      config::number_key(
          "trip_threshold", &C::trip_threshold, "0.5", {.min = "0.01", .max = "1"}, Reload::Restart,
          "a target is not asked for a while when more than this share of its answers fail"),
      config::count_key("cooldown_s", &C::cooldown_s, "10", {.min = "1", .max = "3600"},
                        Reload::Restart, "seconds for which it is then not asked"),
      config::count_key("half_open_probes", &C::half_open_probes, "3", {.min = "1", .max = "100"},
                        Reload::Restart,
                        "look-ups after that which find out whether it answers again"),
  };
}

void add_own_keys(config::Group<IndexConfig>& group) {
  using C = IndexConfig;
  group.add(config::text_key("region", &C::region, "", {.max = "64"}, Reload::Hot,
                             "where this server is; providers of the same region come first"));
  group.include(&C::dht, dht_keys(), "dht.");
  group.add(config::text_list_key("peers", &C::peers, "[]", {.max = "32"}, Reload::Restart,
                                  "other indexes that are asked, http(s)://host:port each"));
  group.include(&C::discovery, discovery_keys(), "discovery.");
  group.include(&C::cache, cache_keys(), "cache.");
  group.include(&C::breaker, breaker_keys(), "breaker.");
  group.add(config::count_key("workers", &C::workers, "64", {.min = "1", .max = "4096"},
                              Reload::Restart,
                              "resolves at work at once; those that wait for others, too"));
  group.add(config::count_key("server.route_concurrency", &C::route_concurrency, "256",
                              {.min = "1", .max = "1000000"}, Reload::Hot,
                              "requests in flight on one route before 429 Busy"));
  group.add(config::count_key("ratelimit.per_ip_rps", &C::per_ip_rps, "0", {.max = "1000000"},
                              Reload::Hot,
                              "requests per second from one address, or network of 64 bits of "
                              "IPv6, before 429 RateLimited; 0: no limit of its own"));
  group.add(config::count_key("quotas.names_per_tenant", &C::names_per_tenant, "0",
                              {.max = "1000000000"}, Reload::Hot,
                              "names one tenant may have before 429 Quota; 0: any number"));
  group.add(config::size_key("storage.map_cache_bytes", &C::map_cache_bytes, "64MiB",
                             {.min = "1MiB", .max = "64GiB"}, Reload::Restart,
                             "memory for what is read from the map on disk"));
  group.add(config::count_key("amnesia_purge_interval_ms", &C::purge_interval_ms, "600000",
                              {.min = "100", .max = "86400000"}, Reload::Hot,
                              "milliseconds after which, in amnesia mode, answers and what others "
                              "announced are forgotten"));
  group.add(kit::capacity_key(kWork, &C::work_capacity,
                              "resolves waiting for a resolver before 429 Busy"));
  group.add(kit::capacity_key(kWrites, &C::writes_capacity,
                              "changes waiting for the writer before 429 Busy"));
  group.add(kit::capacity_key(kCacheUpdates, &C::cache_updates_capacity,
                              "answers waiting to be cached before the oldest is dropped"));
  group.add(kit::capacity_key(kEvents, &C::events_capacity,
                              "events kept for slow listeners before they miss some"));
}

config::Group<IndexConfig> keys() {
  config::Group<IndexConfig> group;
  group.include(kit::service_keys({.bind = "127.0.0.1:8082", .admin = "127.0.0.1:9082"}));
  add_own_keys(group);
  group.check([](const IndexConfig& config, config::Problems& problems) {
    check_targets(TargetList::parse({}, config.peers, {}), "peers", problems);
  });
  return group;
}

}  // namespace

const config::Section<IndexConfig>& index_section() {
  static const config::Section<IndexConfig> section(
      "index", "svc-index: names, trees and providers under one deadline", keys());
  return section;
}

}  // namespace ron::index
