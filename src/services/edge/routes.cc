#include "services/edge/routes.h"

namespace ron::edge {

void add_routes(http::Router& router, Core& core) {
  add_site_routes(router, core);
  add_asset_routes(router, core);
  add_tile_routes(router, core);
  add_preview_routes(router, core);
}

}  // namespace ron::edge
