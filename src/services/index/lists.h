// What the lists of svc-index are bounded by (kit/list.h).
#pragma once

#include <array>

#include "services/kit/list.h"

namespace ron::index {

inline constexpr kit::ListDecl kNameList{
    .pattern = "/names",
    .query = "prefix, delimiter, after, limit",
    .entries = "names and common prefixes",
    .usual = 100,
    .most = 1000,
    .bounded_by =
        "a name has 1 KiB and its `meta` 2 KiB; of removed names only so many are passed "
        "over before the page ends"};
inline constexpr kit::ListDecl kVersionList{.pattern = "/names/{name...}",
                                            .query = "history, before, limit",
                                            .entries = "versions of a name, with `history=1`",
                                            .usual = 100,
                                            .most = 1000,
                                            .bounded_by = "a name has 1 KiB and its `meta` 2 KiB"};
inline constexpr kit::ListDecl kResolvedList{.pattern = "/resolve/{key...}",
                                             .entries = "providers",
                                             .most = 64,
                                             .bounded_by = "a provider record has 1 KiB"};
inline constexpr kit::ListDecl kProviderList{.pattern = "/providers/{addr}",
                                             .query = "region, min_freshness, limit",
                                             .entries = "providers, the best first",
                                             .usual = 16,
                                             .most = kResolvedList.most,
                                             .bounded_by = "a provider record has 1 KiB"};
inline constexpr kit::ListDecl kTargetList{
    .pattern = "/admin/targets",
    .entries = "targets",
    .most = 96,
    .bounded_by = "`index.dht.proxies`, `index.peers` and `index.discovery.static`, 32 of each"};

inline constexpr std::array kLists = {&kNameList, &kVersionList, &kResolvedList, &kProviderList,
                                      &kTargetList};

}  // namespace ron::index
