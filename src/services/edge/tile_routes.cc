#include "services/edge/routes.h"

namespace ron::edge {

void add_tile_routes(http::Router&, Core&) {}

void add_pack_admin_routes(http::Router&, Core&) {}

}  // namespace ron::edge
