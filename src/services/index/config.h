// The section [index] of ron.toml.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"
#include "config/section.h"
#include "services/kit/config.h"

namespace ron::index {

struct DhtConfig {
  config::TextList proxies;
  std::uint64_t alpha = 0;
  std::uint64_t beta = 0;
  std::uint64_t hedge_ms = 0;
  std::uint64_t deadline_ms = 0;
  std::uint64_t quorum = 0;
  base::Duration republish{};
  std::uint64_t publish_rps = 0;
};

enum class TrustMode : std::uint8_t { Known, Any };
enum class NodeSource : std::uint8_t { Config, Registry };

struct DiscoveryConfig {
  config::TextList fixed;  // `static`: URL=NODE…
  TrustMode trust = TrustMode::Known;
  config::TextList nodes;  // base64 keys
  NodeSource source = NodeSource::Config;
  base::Duration max_ttl{};
};

struct CacheConfig {
  base::Duration positive_ttl{};
  base::Duration negative_ttl{};
  std::uint64_t entries = 0;
  config::TextList warmup_keys;
};

struct BreakerConfig {
  std::uint64_t error_window_s = 0;
  double trip_threshold = 0;
  std::uint64_t cooldown_s = 0;
  std::uint64_t half_open_probes = 0;
};

struct IndexConfig : kit::ServiceConfig {
  std::string region;
  DhtConfig dht;
  config::TextList peers;
  DiscoveryConfig discovery;
  CacheConfig cache;
  BreakerConfig breaker;
  std::uint64_t workers = 0;
  std::uint64_t route_concurrency = 0;
  std::uint64_t per_ip_rps = 0;        // 0: no limit
  std::uint64_t names_per_tenant = 0;  // 0: no limit
  base::Size map_cache_bytes;
  std::uint64_t purge_interval_ms = 0;
  std::uint64_t work_capacity = 0;
  std::uint64_t writes_capacity = 0;
  std::uint64_t cache_updates_capacity = 0;
  std::uint64_t events_capacity = 0;
};

const config::Section<IndexConfig>& index_section();

}  // namespace ron::index
