// The operators' routes of svc-storage, on the admin listener: /admin/… with storage:admin.
#pragma once

#include <functional>
#include <memory>

#include "http/router.h"
#include "services/storage/config.h"
#include "services/storage/core.h"

namespace ron::storage {

using CurrentConfig = std::function<std::shared_ptr<const StorageConfig>()>;

// `core` outlives the router.
void add_operator_routes(http::Router& router, Core& core, CurrentConfig config);
void add_snapshot_routes(http::Router& router, Core& core);  // those under /admin/snapshot

}  // namespace ron::storage
