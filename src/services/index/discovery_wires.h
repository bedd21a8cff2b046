// The tasks and channels of discovery; part of the tables in wires.h.
#pragma once

#include "runtime/topology.h"

namespace ron::index {

inline constexpr runtime::TaskDecl kBreakerJanitorTask{
    "breaker-janitor", "1", runtime::Importance::Important,
    "the only writer of the breaker table: rolls error windows, probes who had its rest"};
inline constexpr runtime::TaskDecl kRepublisherTask{
    "republisher", "1", runtime::Importance::Important,
    "publishes the provider records held here again before the DHT forgets them"};

inline constexpr runtime::ChannelDecl kOutcomes{
    "outcomes",
    runtime::ChannelKind::Mpsc,
    1024,
    runtime::Overflow::DropOldest,
    "resolvers, breaker-janitor",
    "breaker-janitor",
    "the breakers do not learn of the oldest; queue_dropped_total",
    ""};

// One lane for each target.
inline constexpr runtime::ChannelDecl kAnnouncements{
    "announcements",
    runtime::ChannelKind::Mpsc,
    4096,
    runtime::Overflow::DropOldest,
    "listener, resolvers",
    "republisher",
    "the oldest is published with the next round only; queue_dropped_total",
    ""};

inline constexpr runtime::LockDecl kTrustLock{"trusted_nodes", 8, "whose records count"};
inline constexpr runtime::LockDecl kSeqsLock{
    "highest_seqs", 9, "the newest record that was seen of each node and address"};

}  // namespace ron::index
