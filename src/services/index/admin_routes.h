// What operators may ask of svc-index, on the admin listener.
#pragma once

#include "http/router.h"
#include "services/index/core.h"

namespace ron::index {

// The core outlives the router.
void add_operator_routes(http::Router& router, Core& core);

}  // namespace ron::index
