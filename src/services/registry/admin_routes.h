// What operators may ask of svc-registry.
#pragma once

#include "http/router.h"
#include "services/registry/core.h"

namespace ron::registry {

// `core` outlives the router.
void add_operator_routes(http::Router& router, Core& core);

}  // namespace ron::registry
