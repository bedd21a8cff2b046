#include "sample_service/config.h"

#include "sample_service/wires.h"

namespace ron::sample {
namespace {

config::Group<SampleConfig> keys() {
  using C = SampleConfig;
  config::Group<C> group;
  group.include(kit::service_keys({.bind = "127.0.0.1:8089", .admin = "127.0.0.1:9089"}));
  group.add(config::duration_key("delay", &C::delay, "0s", {.max = "10m"}, config::Reload::Hot,
                                 "how long an echo takes to come back"));
  group.add(kit::capacity_key(kWork, &C::work_capacity,
                              "requests waiting for the worker before 429 Busy"));
  group.add(kit::capacity_key(kEvents, &C::events_capacity,
                              "events kept for slow listeners before they miss some"));
  return group;
}

}  // namespace

const config::Section<SampleConfig>& sample_section() {
  static const config::Section<SampleConfig> section("sample", "svc-sample: an echo", keys());
  return section;
}

}  // namespace ron::sample
