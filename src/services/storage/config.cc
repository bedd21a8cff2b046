#include "services/storage/config.h"

#include "services/storage/wires.h"

namespace ron::storage {
namespace {

using config::Reload;

config::Group<StorageConfig> keys() {
  using C = StorageConfig;
  config::Group<C> group{
      config::address_key("bind", &C::bind, "127.0.0.1:8081", {}, Reload::Rebind,
                          "where clients connect; port 0 picks a free one"),
      config::address_key("admin", &C::admin, "127.0.0.1:9081", {}, Reload::Rebind,
                          "where operators connect: metrics, topology, configuration"),
  };
  group.include(&C::server, http::server_keys());
  group.add(config::duration_key("drain_deadline", &C::drain_deadline, "3s",
                                 {.min = "10ms", .max = "5m"}, Reload::Hot,
                                 "time for requests in flight to finish after a stop signal"));
  group.add(config::bool_key("amnesia", &C::amnesia, "false", {}, Reload::Restart,
                             "keep everything in memory; not a byte on disk"));
  group.add(config::size_key("cache_bytes", &C::cache_bytes, "256MiB", {.min = "1MiB"}, Reload::Hot,
                             "memory for objects; in amnesia mode all there is"));
  group.add(config::count_key("put_workers", &C::put_workers, "4", {.min = "1", .max = "256"},
                              Reload::Restart, "tasks that verify and store new objects"));
  group.add(config::count_key("channels.work", &C::work_capacity, std::to_string(kWork.capacity),
                              {.min = "1", .max = "65536"}, Reload::Restart,
                              "requests waiting for a worker before 429 Busy"));
  group.add(config::count_key("channels.events", &C::events_capacity,
                              std::to_string(kEvents.capacity), {.min = "1", .max = "65536"},
                              Reload::Restart,
                              "events kept for slow listeners before they miss some"));
  group.add(config::duration_key("debug.work_delay", &C::debug_work_delay, "0s",
                                 {.max = "10m", .safe_max = "0s"}, Reload::Hot,
                                 "for tests: every worker waits this long before each job"));
  return group;
}

}  // namespace

const config::Section<StorageConfig>& storage_section() {
  static const config::Section<StorageConfig> section(
      "storage", "svc-storage: content-addressed objects", keys());
  return section;
}

}  // namespace ron::storage
