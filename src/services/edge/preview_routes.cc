#include "services/edge/routes.h"

namespace ron::edge {

void add_preview_routes(http::Router&, Core&) {}

}  // namespace ron::edge
