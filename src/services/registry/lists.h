// What the lists of svc-registry are bounded by (kit/list.h).
#pragma once

#include <array>

#include "services/kit/list.h"
#include "services/registry/list_bounds.h"

namespace ron::registry {

inline constexpr kit::ListDecl kProposalList{
    .pattern = "/registry/proposals",
    .query = "after, limit",
    .entries = "pending proposals",
    .usual = bounds::kProposals.usual,
    .most = bounds::kProposals.most,
    .bounded_by = "`registry.proposals.max_pending`; each without its payload"};
inline constexpr kit::ListDecl kLogList{
    .pattern = "/registry/log",
    .query = "from, limit",
    .entries = "versions",
    .usual = bounds::kLog.usual,
    .most = bounds::kLog.most,
    .bounded_by = "the answer ends with the version that takes it past 1 MiB of entries"};
inline constexpr kit::ListDecl kStateList{
    .pattern = "/registry/state",
    .query = "version",
    .entries = "descriptors and signers",
    .bounded_by = "what a state may hold; sent in pieces of 64 KiB, made one at a time"};
inline constexpr kit::ListDecl kCheckpointList{.pattern = "/registry/checkpoints",
                                               .query = "limit",
                                               .entries = "checkpoints, the newest ones",
                                               .usual = bounds::kCheckpoints.usual,
                                               .most = bounds::kCheckpoints.most,
                                               .bounded_by = "a signed note has 2 KiB"};

inline constexpr std::array kLists = {&kProposalList, &kLogList, &kStateList, &kCheckpointList};

}  // namespace ron::registry
