// The operators' routes of svc-storage, on the admin listener: /admin/… with storage:admin.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "http/router.h"
#include "services/storage/config.h"
#include "services/storage/core.h"

namespace ron::storage {

// How many tenants are named where their use is shown; the rest is one sum.
inline constexpr std::size_t kTenantsShown = 20;
static_assert(kTenantsShown < runtime::kSeriesPerMetric);
// Capabilities without a tenant are one, too. No tenant can have this name.
inline std::string_view shown_tenant(std::string_view tenant) noexcept {
  return tenant.empty() ? "(none)" : tenant;
}

using CurrentConfig = std::function<std::shared_ptr<const StorageConfig>()>;

// `core` outlives the router.
void add_operator_routes(http::Router& router, Core& core, CurrentConfig config);
void add_snapshot_routes(http::Router& router, Core& core);  // those under /admin/snapshot

}  // namespace ron::storage
