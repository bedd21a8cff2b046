// HTTP to core.
#pragma once

#include "http/router.h"
#include "services/index/core.h"

namespace ron::index {

// Everything clients may ask. The core outlives the router.
void add_routes(http::Router& router, Core& core);

// Parts of it, by file: names and what they stand for; who has an object.
void add_name_routes(http::Router& router, Core& core);
void add_provider_routes(http::Router& router, Core& core);

}  // namespace ron::index
