// The [storage] section of ron.toml.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "config/section.h"
#include "http/settings.h"

namespace ron::storage {

struct StorageConfig {
  config::Address bind;
  config::Address admin;
  http::ServerSettings server;
  base::Duration drain_deadline{};
  bool amnesia = false;
  base::Size cache_bytes{};
  std::uint64_t put_workers = 0;
  std::uint64_t work_capacity = 0;
  std::uint64_t events_capacity = 0;
  base::Duration debug_work_delay{};
};

const config::Section<StorageConfig>& storage_section();

}  // namespace ron::storage
