// What the lists of svc-edge are bounded by (kit/list.h).
#pragma once

#include <array>

#include "services/edge/book.h"
#include "services/edge/packs.h"
#include "services/kit/list.h"

namespace ron::edge {

inline constexpr kit::ListDecl kPackList{.pattern = "/edge/packs",
                                         .entries = "packs",
                                         .most = Packs::kMost,
                                         .bounded_by = "a pack beyond is not mounted: 429 Quota"};
inline constexpr kit::ListDecl kSiteList{
    .pattern = "/edge/sites",
    .entries = "sites",
    .most = 256 + Book::kMostEntries,
    .bounded_by =
        "`edge.sites` (256) and those that were added; a site beyond is not: 429 Quota. A "
        "target has 1 KiB"};

inline constexpr std::array kLists = {&kPackList, &kSiteList};

}  // namespace ron::edge
