// What the lists of svc-registry are bounded by (kit/list.h).
#pragma once

#include <array>

#include "services/kit/list.h"

namespace ron::registry {

inline constexpr kit::ListDecl kProposalList{
    .pattern = "/registry/proposals",
    .query = "after, limit",
    .entries = "pending proposals",
    .usual = 100,
    .most = 500,
    .bounded_by = "`registry.proposals.max_pending`; each without its payload"};
inline constexpr kit::ListDecl kLogList{
    .pattern = "/registry/log",
    .query = "from, limit",
    .entries = "versions",
    .usual = 100,
    .most = 1000,
    .bounded_by = "the answer ends with the version that takes it past 1 MiB of entries"};
inline constexpr kit::ListDecl kStateList{
    .pattern = "/registry/state",
    .query = "version",
    .entries = "descriptors and signers",
    .bounded_by = "what a state may hold; sent in pieces of 64 KiB, made one at a time"};
inline constexpr kit::ListDecl kCheckpointList{.pattern = "/registry/checkpoints",
                                               .query = "limit",
                                               .entries = "checkpoints, the newest ones",
                                               .usual = 1000,
                                               .most = 1000,
                                               .bounded_by = "a signed note has 2 KiB"};

inline constexpr std::array kLists = {&kProposalList, &kLogList, &kStateList, &kCheckpointList};

}  // namespace ron::registry
