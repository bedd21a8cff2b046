// What the lists of svc-storage are bounded by (kit/list.h).
#pragma once

#include <array>

#include "services/kit/list.h"
#include "services/storage/admin_routes.h"
#include "volume/snapshots.h"

namespace ron::storage {

inline constexpr kit::ListDecl kObjectList{
    .pattern = "/admin/objects",
    .query = "after, limit",
    .entries = "objects",
    .usual = 100,
    .most = 1000,
    .bounded_by = "address, length and the first 4 holders of each"};
inline constexpr kit::ListDecl kHolderList{
    .pattern = "/admin/objects/{addr}",
    .entries = "holders",
    .most = 100,
    .bounded_by = "names of tenants; `more_holders` if there are others"};
inline constexpr kit::ListDecl kStatsList{
    .pattern = "/admin/stats",
    .entries = "tenants",
    .most = kTenantsShown,
    .bounded_by =
        "the largest tenants by name, all others as one sum; volumes and memory as "
        "configured"};
inline constexpr kit::ListDecl kArrivedList{
    .pattern = "/uploads/{id}",
    .query = "after, limit",
    .entries = "ranges of parts that have arrived",
    .usual = 10'000,
    .most = 10'000,
    .bounded_by =
        "two numbers each; whoever takes no further page sends those parts again, which "
        "changes nothing"};
inline constexpr kit::ListDecl kSnapshotList{
    .pattern = "/admin/snapshot",
    .entries = "snapshots",
    .most = volume::kMostSnapshots,
    .bounded_by = "so many are made: then 429 Quota until one is removed"};

inline constexpr std::array kLists = {&kObjectList, &kHolderList, &kStatsList, &kArrivedList,
                                      &kSnapshotList};

}  // namespace ron::storage
