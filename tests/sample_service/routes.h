// HTTP to core: the routes of svc-sample.
#pragma once

#include "http/router.h"
#include "sample_service/core.h"

namespace ron::sample {

// What clients may ask. The core outlives the router.
void add_routes(http::Router& router, Core& core);
// What operators may ask.
void add_operator_routes(http::Router& router, Core& core);

}  // namespace ron::sample
