// The [storage] section of ron.toml.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "config/section.h"
#include "services/kit/config.h"

namespace ron::storage {

// What one tenant may store; 0: no limit.
struct TenantQuota {
  std::string name;
  base::Size bytes{};
  std::uint64_t objects = 0;
};

struct QuotaConfig {
  base::Size bytes{};  // of every tenant without a row of its own
  std::uint64_t objects = 0;
  std::vector<TenantQuota> tenants;
};

struct UploadsConfig {
  base::Duration expire_after{};
  std::uint64_t max_open = 0;
};

struct ScrubConfig {
  base::Rate rate{};
  base::Duration every{};
};

// What is told to an index (announcer.h).
struct AnnounceConfig {
  bool enabled = false;
  std::string index;  // empty: the one of this process, if it has one
  std::string token_path;
  std::string url;  // empty: where the process listens
  std::string region;
  std::uint64_t rps = 0;
  base::Duration ttl{};
};

struct StorageConfig : kit::ServiceConfig {
  StorageConfig() {
    server.larger_body_advice =
        "larger objects are stored in parts of 1MiB: POST /uploads, or ron put";
  }

  config::TextList data_dirs;
  base::Size cache_bytes{};
  base::Size chunk_size{};
  base::Size segment_bytes{};
  base::Size index_cache_bytes{};
  base::Size fingerprint_bytes{};
  base::Duration commit_window{};
  base::Size min_free_bytes{};
  std::uint64_t get_workers = 0;
  std::uint64_t put_workers = 0;
  UploadsConfig uploads;
  QuotaConfig quota;
  ScrubConfig scrub;
  AnnounceConfig announce;
  std::uint64_t work_capacity = 0;
  std::uint64_t commit_capacity = 0;
  std::uint64_t events_capacity = 0;
  base::Duration debug_work_delay{};  // a seam for tests: 0 in a build without them
};

const config::Section<StorageConfig>& storage_section();

// Where objects are: as configured, else in the service's part of the data directory.
std::vector<std::string> object_directories(const StorageConfig& config, std::string directory);

}  // namespace ron::storage
