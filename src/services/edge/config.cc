#include "services/edge/config.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "catalog/name.h"
#include "config/value.h"
#include "http/field_list.h"
#include "http/head.h"
#include "http/upstream_address.h"
#include "services/edge/egress.h"
#include "services/edge/mount.h"
#include "services/edge/wires.h"

namespace ron::edge {
namespace {

using config::Reload;

config::Group<PackConfig> pack_keys() {
  using C = PackConfig;
  return {config::text_key("name", &C::name, "", {.min = "1", .max = "64", .required = true},
                           Reload::Hot, "what it is called in URLs"),
          config::text_key("path", &C::path, "", {.min = "1", .max = "4096", .required = true},
                           Reload::Hot, "a .pmtiles or .mbtiles file"),
          config::choice_key("missing", &C::missing, "inherited",
                             {{"inherited", MissingTile::Inherited},
                              {"204", MissingTile::NoContent},
                              {"404", MissingTile::NotFound}},
                             {}, Reload::Hot,
                             "what a tile it does not have is answered with; inherited: as "
                             "tiles.missing says")};
}

config::Group<SiteConfig> site_keys() {
  using C = SiteConfig;
  return {config::text_key("name", &C::name, "", {.min = "1", .max = "64", .required = true},
                           Reload::Hot, "what it is called in URLs"),
          config::text_key("target", &C::target, "", {.min = "1", .max = "1024", .required = true},
                           Reload::Hot, "a name of the index, or the address of a manifest")};
}

config::Group<FillConfig> fill_keys() {
  using C = FillConfig;
  return {
      config::duration_key("timeout", &C::timeout, "5s", {.min = "10ms", .max = "10m"}, Reload::Hot,
                           "time an origin has for one try"),
      config::count_key("max_tries", &C::max_tries, "3", {.min = "1", .max = "10"}, Reload::Hot,
                        "tries in all when an origin is late or overloaded"),
      config::duration_key("base", &C::base, "50ms", {.min = "1ms", .max = "10s"}, Reload::Hot,
                           "wait before the second try; then twice as long each time"),
      config::duration_key("max", &C::max, "800ms", {.min = "1ms", .max = "1m"}, Reload::Hot,
                           "the longest wait before a try"),
      config::bool_key("jitter", &C::jitter, "true", {}, Reload::Hot,
                       "wait up to `base` longer, drawn each time"),
      config::size_key("max_object_bytes", &C::max_object_bytes, "64MiB",
                       {.min = "1KiB", .max = "16GiB"}, Reload::Hot,
                       "largest answer of an origin; a larger one is 413 BodyCap"),
      config::bool_key("require_strong_etag", &C::require_strong_etag, "true", {}, Reload::Hot,
                       "an answer without a strong ETag is refused"),
      config::count_key("max_waiting", &C::max_waiting, "1024", {.min = "1", .max = "65536"},
                        Reload::Hot,
                        "requests that may wait for the same fill; further ones are 429 Busy"),
  };
}

config::Group<CacheConfig> cache_keys() {
  using C = CacheConfig;
  return {
      config::size_key("bytes", &C::bytes, "1GiB", {.min = "1MiB", .max = "64TiB"}, Reload::Hot,
                       "what fills may keep on disk"),
      config::size_key("ram_bytes", &C::ram_bytes, "128MiB", {.min = "0", .max = "1TiB"},
                       Reload::Hot, "memory for tiles, files of sites and assets; 0: none"),
      config::duration_key("negative_ttl", &C::negative_ttl, "5s", {.min = "0s", .max = "1h"},
                           Reload::Hot, "how long an origin's 404 or 410 is remembered"),
      config::duration_key("stale_if_error", &C::stale_if_error, "1h", {.min = "0s", .max = "30d"},
                           Reload::Hot,
                           "for how long past its time a copy is better than an error"),
      config::count_key("entries", &C::entries, "100000", {.min = "16", .max = "10000000"},
                        Reload::Restart,
                        "URLs remembered at most, and 2 KiB of memory for each of them, together"),
  };
}

config::Group<TilesConfig> tiles_keys() {
  using C = TilesConfig;
  return {
      config::choice_key("missing", &C::missing, "204",
                         {{"204", MissingTile::NoContent}, {"404", MissingTile::NotFound}}, {},
                         Reload::Hot, "what a tile that a pack does not have is answered with"),
      config::text_key("public_url", &C::public_url, "", {.max = "1024"}, Reload::Hot,
                       "where browsers reach this server, https://maps.example.org; empty: as the "
                       "request says"),
  };
}

void add_own_keys(config::Group<EdgeConfig>& group) {
  using C = EdgeConfig;
  group.add(config::choice_key("mode", &C::mode, "offline",
                               {{"offline", Mode::Offline}, {"live", Mode::Live}}, {}, Reload::Hot,
                               "live: what is missing is filled from the origins in allow"));
  group.add(config::records_key("packs", &C::packs, pack_keys(), "[]", {.max = "256"}, Reload::Hot,
                                "maps that are mounted at the start"));
  group.add(
      config::text_key("packs_dir", &C::packs_dir, "", {.max = "4096"}, Reload::Restart,
                       "every pack in this directory is mounted, and followed as it changes"));
  group.add(config::records_key("sites", &C::sites, site_keys(), "[]", {.max = "256"}, Reload::Hot,
                                "trees that are served as web sites"));
  group.add(config::duration_key("sites_refresh", &C::sites_refresh, "500ms",
                                 {.min = "10ms", .max = "1h"}, Reload::Hot,
                                 "how often the names of sites are looked up"));
  group.add(config::duration_key("sites_check", &C::sites_check, "5m",
                                 {.min = "100ms", .max = "24h"}, Reload::Hot,
                                 "how often it is checked that the files of sites are stored"));
  group.add(config::text_key("origin", &C::origin, "", {.max = "1024"}, Reload::Restart,
                             "a ron that has the names and objects of sites, http(s)://host:port; "
                             "empty: this process"));
  group.add(config::text_key("origin_token_path", &C::origin_token_path, "", {.max = "4096"},
                             Reload::Restart,
                             "a file with the capability that is shown to origin; empty: none"));
  group.add(config::text_list_key("allow", &C::allow, "[]", {.max = "1024"}, Reload::Hot,
                                  "origins that may be filled from: host, host:port, "
                                  "host/path/prefix, *.example.org"));
  group.add(config::bool_key("egress.allow_private", &C::allow_private, "false", {},
                             Reload::Restart,
                             "fills may connect to private, loopback and link-local addresses"));
  group.include(&C::fill, fill_keys(), "fill.");
  group.include(&C::cache, cache_keys(), "cache.");
  group.include(&C::tiles, tiles_keys(), "tiles.");
  group.add(config::text_list_key("cors.allow_origins", &C::cors_origins, "[]", {.max = "256"},
                                  Reload::Hot,
                                  "origins whose pages may use it, or *; empty: none"));
  group.add(config::count_key("workers", &C::workers, "16", {.min = "1", .max = "1024"},
                              Reload::Restart, "fills from origins at work at once"));
  group.add(config::count_key("loaders", &C::loaders, "8", {.min = "1", .max = "1024"},
                              Reload::Restart,
                              "tiles, files and assets on their way from the disk at once"));
  group.add(
      kit::capacity_key(kWork, &C::work_capacity,
                        "fills and loads waiting before 429 Busy; fills have three quarters"));
  group.add(kit::capacity_key(kEvents, &C::events_capacity,
                              "events kept for slow listeners before they miss some"));
}

void check_allow(const EdgeConfig& config, config::Problems& problems) {
  for (const std::string& entry : config.allow) {
    const base::Result<AllowedOrigin> origin = AllowedOrigin::parse(entry);
    if (!origin) {
      problems.add("allow", "'" + config::printable(entry) + "' " + origin.error().message);
    }
  }
}

void check_sites(const EdgeConfig& config, config::Problems& problems) {
  std::set<std::string_view> names;
  for (const SiteConfig& site : config.sites) {
    if (!catalog::is_site_name(site.name)) {
      problems.add("sites", "'" + site.name + "' is no name: [A-Za-z0-9][A-Za-z0-9._-]*");
    }
    if (!names.insert(site.name).second)
      problems.add("sites", "'" + site.name + "' is there twice");
    const auto key = catalog::parse_key(site.target);
    if (!key) problems.add("sites", "the target of '" + site.name + "': " + key.error().message);
  }
  if (config.origin.empty()) return;
  const auto origin = http::UpstreamAddress::parse(config.origin);
  if (!origin) problems.add("origin", origin.error().message);
}

// `https://maps.example.org`, perhaps with the path that a proxy takes off.
bool is_public_url(std::string_view url) noexcept {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (!url.starts_with(scheme)) continue;
    const std::string_view rest = url.substr(scheme.size());
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view path = rest.substr(slash);
    return http::is_host(rest.substr(0, slash)) && (path.empty() || http::is_target(path));
  }
  return false;
}

void check_packs(const EdgeConfig& config, config::Problems& problems) {
  std::set<std::string_view> names;
  for (const PackConfig& pack : config.packs) {
    const std::string shown = "'" + config::printable(pack.name) + "'";
    if (!is_pack_name(pack.name)) {
      problems.add("packs", shown +
                                " is no name: up to 64 of a-z, 0-9, '.', '_' and '-', and no "
                                "dot in front");
    }
    if (!names.insert(pack.name).second) problems.add("packs", shown + " is there twice");
  }
  if (!config.tiles.public_url.empty() && !is_public_url(config.tiles.public_url)) {
    problems.add("tiles.public_url", "must be like https://maps.example.org");
  }
}

// Set by the build: only one with tests has keys that make the service misbehave for them.
constexpr bool kTestSeams = RON_TEST_SEAMS != 0;

config::Group<EdgeConfig> keys() {
  config::Group<EdgeConfig> group;
  group.include(kit::service_keys({.bind = "127.0.0.1:8084", .admin = "127.0.0.1:9084"}));
  group.with_default("limits.decode_abs_cap_bytes", "10MiB", "10MiB");
  add_own_keys(group);
  if (kTestSeams) {
    group.add(config::count_key("debug.fail_workers", &EdgeConfig::debug_fail_workers, "0",
                                {.max = "1000", .safe_max = "0"}, Reload::Hot,
                                "for tests: workers, and as many loaders, that fail; all since the "
                                "start together"));
  }
  group.check(check_allow);
  group.check(check_sites);
  group.check(check_packs);
  return group;
}

}  // namespace

const config::Section<EdgeConfig>& edge_section() {
  static const config::Section<EdgeConfig> section("edge", "svc-edge: sites, maps and live fills",
                                                   keys());
  return section;
}

}  // namespace ron::edge
