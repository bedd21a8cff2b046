// What the lists of svc-gateway are bounded by (kit/list.h).
#pragma once

#include <array>

#include "services/gateway/tenant.h"
#include "services/gateway/upstreams.h"
#include "services/kit/list.h"

namespace ron::gateway {

inline constexpr kit::ListDecl kTenantList{
    .pattern = "/admin/tenants",
    .query = "limit",
    .entries = "tenants, the one that was served most first",
    .usual = TenantTable::kMost,
    .most = TenantTable::kMost,
    .bounded_by =
        "the tenants seen lately; whoever used it longest ago makes room. Made once a "
        "second, whoever asks"};
inline constexpr kit::ListDecl kUpstreamList{
    .pattern = "/admin/upstreams",
    .entries = "upstreams",
    .most = Upstreams::kMost,
    .bounded_by = "routes of the configuration, each with at most 16 members"};

inline constexpr std::array kLists = {&kTenantList, &kUpstreamList};

}  // namespace ron::gateway
