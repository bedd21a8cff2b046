// The paths of svc-gateway: for clients every one that no route of the server itself has, for
// operators tenants and upstreams.
#pragma once

#include "http/router.h"
#include "services/gateway/core.h"

namespace ron::gateway {

void add_routes(http::Router& router, Core& core);
void add_operator_routes(http::Router& router, Core& core);

}  // namespace ron::gateway
