// The section `registry` of ron.toml.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"
#include "chain/signers.h"
#include "config/section.h"
#include "http/stream_places.h"
#include "services/kit/config.h"

namespace ron::registry {

struct LogConfig {
  base::Duration checkpoint_interval{};
  std::uint64_t checkpoint_versions = 0;
  base::Size segment_bytes;
  base::Duration slow_after{};
};

struct OtelConfig {
  bool enabled = false;
  std::string endpoint;
};

struct RegistryConfig : kit::ServiceConfig {
  LogConfig storage;
  config::TextList genesis_signers;  // NAME=BASE64
  std::uint64_t genesis_threshold = 0;
  base::Duration proposals_ttl{};
  std::uint64_t proposals_max = 0;
  std::uint64_t proposals_max_per_tenant = 0;  // 0: a quarter of them
  std::uint64_t keep_versions = 0;             // 0: all
  base::Duration verify_slice{};
  base::Duration verify_pause{};
  http::StreamSettings streams;
  OtelConfig otel;
  std::uint64_t proposals_capacity = 0;
  std::uint64_t approvals_capacity = 0;
  std::uint64_t committed_capacity = 0;
  std::uint64_t cfg_reload_capacity = 0;
  std::uint64_t retention_capacity = 0;
  std::uint64_t events_capacity = 0;
};

const config::Section<RegistryConfig>& registry_section();

// Who is to sign first, as configured; nothing: the registry makes keys.
std::optional<chain::SignerSet> genesis_signers(const RegistryConfig& config);

}  // namespace ron::registry
