#include "services/edge/routes.h"

namespace ron::edge {

void add_asset_routes(http::Router&, Core&) {}

void add_cache_admin_routes(http::Router&, Core&) {}

}  // namespace ron::edge
