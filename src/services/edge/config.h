// The section [edge] of ron.toml.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "config/section.h"
#include "services/kit/config.h"

namespace ron::edge {

enum class Mode : std::uint8_t { Offline, Live };
// What a tile that a pack does not have is answered with. Inherited: as tiles.missing says.
enum class MissingTile : std::uint8_t { Inherited, NoContent, NotFound };

// One row of [[edge.packs]].
struct PackConfig {
  std::string name;
  std::string path;
  MissingTile missing = MissingTile::Inherited;
};

// One row of [[edge.sites]].
struct SiteConfig {
  std::string name;
  std::string target;  // an index name or the address of a manifest
};

struct FillConfig {
  base::Duration timeout{};
  std::uint64_t max_tries = 0;
  base::Duration base{};
  base::Duration max{};
  bool jitter = true;
  base::Size max_object_bytes;
  bool require_strong_etag = true;
  std::uint64_t max_waiting = 0;  // who may wait for one fill or load
};

struct CacheConfig {
  base::Size bytes;
  base::Size ram_bytes;
  base::Duration negative_ttl{};
  base::Duration stale_if_error{};
  std::uint64_t entries = 0;
};

struct TilesConfig {
  MissingTile missing = MissingTile::NoContent;
  std::string public_url;
};

struct EdgeConfig : kit::ServiceConfig {
  Mode mode = Mode::Offline;
  std::vector<PackConfig> packs;
  std::string packs_dir;
  std::vector<SiteConfig> sites;
  base::Duration sites_refresh{};
  base::Duration sites_check{};
  std::string origin;  // where names and objects come from when they are not in this process
  std::string origin_token_path;
  config::TextList allow;  // `host[:port][/prefix]` that may be filled from
  bool allow_private = false;
  FillConfig fill;
  CacheConfig cache;
  TilesConfig tiles;
  config::TextList cors_origins;
  std::uint64_t workers = 0;
  std::uint64_t loaders = 0;
  std::uint64_t work_capacity = 0;
  std::uint64_t events_capacity = 0;
  std::uint64_t debug_fail_workers = 0;  // a seam for tests: 0 in a build without them
};

const config::Section<EdgeConfig>& edge_section();
using SettingsPtr = std::shared_ptr<const EdgeConfig>;

}  // namespace ron::edge
