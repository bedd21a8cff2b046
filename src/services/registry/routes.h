// HTTP to core: the routes of svc-registry.
#pragma once

#include "http/router.h"
#include "services/registry/core.h"

namespace ron::registry {

// What clients may ask. `core` outlives the router.
void add_routes(http::Router& router, Core& core);
// The parts of it.
void add_proposal_routes(http::Router& router, Core& core);
void add_log_routes(http::Router& router, Core& core);
void add_tlog_routes(http::Router& router, Core& core);

}  // namespace ron::registry
