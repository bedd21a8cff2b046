#include "services/edge/routes.h"

namespace ron::edge {

void add_site_routes(http::Router&, Core&) {}

void add_site_admin_routes(http::Router&, Core&) {}

}  // namespace ron::edge
