// HTTP to core: the routes of svc-storage.
#pragma once

#include "http/router.h"
#include "services/storage/api.h"

namespace ron::storage {

// `api` outlives the router.
void add_routes(http::Router& router, Api& api);

}  // namespace ron::storage
