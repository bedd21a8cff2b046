// HTTP to core.
#pragma once

#include <string_view>

#include "base/json.h"
#include "http/router.h"
#include "services/edge/core.h"

namespace ron::edge {

// On whose behalf a request changes something.
Operator operator_of(const http::Request& request);

// Everything clients may ask. The core outlives the router.
void add_routes(http::Router& router, Core& core);

// Parts of it, by file: trees as web sites; what origins have; tiles and packs; the map.
void add_site_routes(http::Router& router, Core& core);
void add_asset_routes(http::Router& router, Core& core);
void add_tile_routes(http::Router& router, Core& core);
void add_preview_routes(http::Router& router, Core& core);

// One pack of a list, as clients see it.
void write_pack(base::JsonWriter& json, std::string_view pack_name, const MountEntry& entry);

// For operators, on the admin listener, by file.
void add_site_admin_routes(http::Router& router, Core& core);
void add_cache_admin_routes(http::Router& router, Core& core);
void add_pack_admin_routes(http::Router& router, Core& core);

}  // namespace ron::edge
