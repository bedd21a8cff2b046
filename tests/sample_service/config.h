// The [sample] section of ron.toml.
#pragma once

#include "base/units.h"
#include "config/section.h"
#include "services/kit/config.h"

namespace ron::sample {

struct SampleConfig : kit::ServiceConfig {
  base::Duration delay{};
  std::uint64_t work_capacity = 0;
  std::uint64_t events_capacity = 0;
};
const config::Section<SampleConfig>& sample_section();

}  // namespace ron::sample
