// A small schema with every kind of key, for the tests and the fuzz target of this folder.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"
#include "config/section.h"

namespace ron::config::testing {

struct ServerConfig {
  std::uint64_t max_inflight = 0;
  std::uint32_t max_rps = 0;
  base::Duration read_timeout{};
};

enum class Mode { Offline, Live };

struct Route {
  std::string prefix;
  TextList upstream;
  base::Duration deadline{};
};

struct StorageConfig {
  ServerConfig server;
  base::Size max_body_bytes;
  double decode_ratio_max = 0;
  std::uint64_t cores = 0;
  bool amnesia = false;
  TextList data_dirs;
  base::Rate repair_pacing;
  std::string region;
  Address bind;
  Address admin;
};

struct GatewayConfig {
  Mode mode = Mode::Offline;
  CountMap tenant_quanta;
  std::vector<Route> routes;
  std::string root_key;
  base::Duration hedge_delay{};
  base::Duration deadline{};
};

inline Group<ServerConfig> server_keys() {
  return {
      count_key("server.max_inflight", &ServerConfig::max_inflight, "512", {.min = "1"},
                Reload::Hot, "requests at once before 429"),
      count_key("server.max_rps", &ServerConfig::max_rps, "500",
                {.min = "1", .unit = "requests per second"}, Reload::Hot, "rate before 429"),
      duration_key("read_timeout", &ServerConfig::read_timeout, "5s",
                   {.min = "100ms", .max = "10m", .safe_max = "1m"}, Reload::Rebind,
                   "longest wait for a request"),
  };
}

inline const Section<StorageConfig>& storage_section() {
  using C = StorageConfig;
  static const Section<C> section(
      "storage", "Objects by content.",
      Group<C>{
          size_key("limits.max_body_bytes", &C::max_body_bytes, "1MiB",
                   {.min = "1KiB", .max = "1MiB"}, Reload::Hot, "largest request body"),
          number_key("limits.decode_ratio_max", &C::decode_ratio_max, "10",
                     {.min = "1", .max = "1000", .safe_max = "10"}, Reload::Hot,
                     "largest expansion of a body"),
          count_key("cores", &C::cores, "1", {.min = "1", .max = "64"}, Reload::Restart,
                    "cores to drive"),
          bool_key("amnesia", &C::amnesia, "false", {}, Reload::Restart, "keep nothing on disk"),
          text_list_key("data_dirs", &C::data_dirs, "", {.max = "16"}, Reload::Restart,
                        "directories for objects"),
          rate_key("durability.repair_pacing", &C::repair_pacing, "50MiB/s", {.min = "1MiB/s"},
                   Reload::Hot, "repair speed"),
          text_key("placement.region", &C::region, "", {.max = "64"}, Reload::Hot,
                   "where this node stands"),
          address_key("bind", &C::bind, "127.0.0.1:8081", {}, Reload::Rebind, "listener"),
          address_key("admin", &C::admin, "", {.allow_empty = true}, Reload::Rebind,
                      "admin listener, empty for none"),
      }
          .include(&C::server, server_keys().with_default("server.max_inflight", "256"))
          .check([](const C& config, Problems& problems) {
            if (config.amnesia && !config.data_dirs.empty()) {
              problems.add("data_dirs", "must be empty with amnesia");
            }
          }));
  return section;
}

inline Group<Route> route_keys() {
  return Group<Route>{
      text_key("prefix", &Route::prefix, "", {.min = "1", .required = true}, Reload::Hot,
               "path prefix"),
      text_list_key("upstream", &Route::upstream, "", {.min = "1", .required = true}, Reload::Hot,
                    "where to send it"),
      duration_key("deadline", &Route::deadline, "5s", {.min = "1ms"}, Reload::Hot, "time limit"),
  }
      .check([](const Route& route, Problems& problems) {
        if (!route.prefix.starts_with('/')) problems.add("prefix", "must start with /");
      });
}

inline const Section<GatewayConfig>& gateway_section() {
  using C = GatewayConfig;
  static const Section<C> section(
      "gateway", "Ingress.",
      Group<C>{
          choice_key("mode", &C::mode, "offline",
                     {{"offline", Mode::Offline}, {"live", Mode::Live}}, {}, Reload::Restart,
                     "live fill or not"),
          count_map_key("drr.tenant_quanta", &C::tenant_quanta, "", {.min = "1", .max = "64"},
                        Reload::Hot, "shares by tenant"),
          records_key("routes", &C::routes, route_keys(),
                      R"([{ prefix = "/o", upstream = "inproc:storage" }])", {.max = "8"},
                      Reload::Hot, "prefix to upstream"),
          text_key("auth.root_key", &C::root_key, "", {.max = "64", .secret = true}, Reload::Hot,
                   "signs capabilities"),
          duration_key("hedge_delay", &C::hedge_delay, "30ms", {}, Reload::Hot, "hedge after"),
          duration_key("deadline", &C::deadline, "5s", {}, Reload::Hot, "give up after"),
      }
          .check([](const C& config, Problems& problems) {
            if (config.hedge_delay >= config.deadline) {
              problems.add("hedge_delay", "must be below deadline");
            }
          }));
  return section;
}

inline Schema sample_schema() {
  Schema schema;
  schema.add(storage_section()).add(gateway_section()).know("edge");
  schema.alias("storage.storage", "storage");
  return schema;
}

inline Inputs with_file(std::string text) {
  Inputs inputs;
  inputs.file_name = "ron.toml";
  inputs.file_text = std::move(text);
  return inputs;
}

}  // namespace ron::config::testing
