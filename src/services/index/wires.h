// The tasks, channels and locks of svc-index.
#pragma once

#include <array>

#include "runtime/topology.h"
#include "services/kit/wires.h"

namespace ron::index {

using runtime::ChannelDecl;
using runtime::ChannelKind;
using runtime::Importance;
using runtime::LockDecl;
using runtime::Overflow;
using runtime::TaskDecl;

inline constexpr TaskDecl kWriterTask{
    "writer", "1", Importance::Critical,
    "the only one who changes what is kept: decides, appends, syncs once for many, answers"};
inline constexpr TaskDecl kCacheJanitorTask{
    "cache-janitor", "1", Importance::Important,
    "the only writer of the cache: takes answers in, lets old ones go, forgets expired providers"};
inline constexpr TaskDecl kResolverTask{
    "resolver", "workers", Importance::Critical,
    "finds what the cache does not have: names, manifests, providers; asks others"};
inline constexpr TaskDecl kWarmupTask{"warmup", "1", Importance::Important,
                                      "resolves cache.warmup_keys and pinned keys ahead"};

inline constexpr ChannelDecl kWork = kit::work_channel(512, "resolver");
inline constexpr ChannelDecl kWrites{
    "writes",
    ChannelKind::Mpsc,
    512,
    Overflow::RejectNew,
    "listener, resolver, cache-janitor",
    "writer",
    "429 Busy to the client; busy_rejections_total, queue_dropped_total",
    "channels.writes"};
inline constexpr ChannelDecl kCacheUpdates{"cache_updates",
                                           ChannelKind::Mpsc,
                                           1024,
                                           Overflow::DropOldest,
                                           "resolver",
                                           "cache-janitor",
                                           "the answer is not kept; queue_dropped_total",
                                           "channels.cache_updates"};
inline constexpr ChannelDecl kCacheBell{
    "cache_bell",    ChannelKind::Watch,    1, Overflow::Latest, "resolver",
    "cache-janitor", "the last write wins", ""};
inline constexpr ChannelDecl kEvents = kit::events_channel(1024, "writer, listener", "auditor");
inline constexpr ChannelDecl kSettings{"settings",
                                       ChannelKind::Watch,
                                       1,
                                       Overflow::Latest,
                                       "reloader",
                                       "resolver, cache-janitor, warmup",
                                       "the last write wins",
                                       ""};

inline constexpr TaskDecl kRegistryFollowerTask{
    "registry-follower", "1", Importance::Important,
    "makes the nodes known that the registry describes"};
inline constexpr TaskDecl kDialerTask{
    "dialer", "per core", Importance::Important,
    "keeps the connections to those who are asked, and closes them in the end"};

inline constexpr TaskDecl kBreakerJanitorTask{
    "breaker-janitor", "1", Importance::Important,
    "the only writer of the breaker table: rolls error windows, probes who had its rest"};
inline constexpr TaskDecl kRepublisherTask{
    "republisher", "1", Importance::Important,
    "publishes the provider records held here again before the DHT forgets them"};

inline constexpr ChannelDecl kOutcomes{
    "outcomes",
    ChannelKind::Mpsc,
    1024,
    Overflow::DropOldest,
    "resolvers, breaker-janitor",
    "breaker-janitor",
    "the breakers do not learn of the oldest; queue_dropped_total",
    ""};

// One for each target, so that one that takes nothing fills its own alone.
inline constexpr ChannelDecl kAnnouncements{
    "announcements",
    ChannelKind::Mpsc,
    4096,
    Overflow::DropOldest,
    "listener, resolvers",
    "republisher",
    "the oldest is published with the next round only; queue_dropped_total",
    ""};

inline constexpr auto kTasks =
    kit::all_tasks(kDialerTask, kWriterTask, kCacheJanitorTask, kBreakerJanitorTask,
                   kRegistryFollowerTask, kRepublisherTask, kResolverTask, kWarmupTask);
inline constexpr auto kChannels = kit::all_channels(kWork, kWrites, kCacheUpdates, kCacheBell,
                                                    kOutcomes, kAnnouncements, kEvents, kSettings);

// The specification's order is config_snapshot, cache_meta, breaker_table, metrics_scratch. The
// first is a watch, and metrics need no lock.
inline constexpr std::array kLocks = {
    LockDecl{"flights", 1, "who waits for which answer"},
    LockDecl{"cache_meta", 2, "one shard of the answers in memory"},
    LockDecl{"search_policy", 3, "how to search"},
    LockDecl{"address_rates", 4, "one shard of what each client's address has asked lately"},
    LockDecl{"log_segments", 5, "the open segments of the log, and where its frames are"},
    LockDecl{"memory_map", 6, "in amnesia mode, all that is kept"},
    LockDecl{"admin_requests", 7, "what was answered lately to requests with an Idempotency-Key"},
    LockDecl{"trusted_nodes", 8, "whose records count"},
    LockDecl{"highest_seqs", 9, "the newest record that was seen of each node and address"},
};
inline constexpr const LockDecl& kFlightsLock = kLocks[0];
inline constexpr const LockDecl& kCacheLock = kLocks[1];
inline constexpr const LockDecl& kSearchPolicyLock = kLocks[2];
inline constexpr const LockDecl& kRatesLock = kLocks[3];
inline constexpr const LockDecl& kSegmentsLock = kLocks[4];
inline constexpr const LockDecl& kMemoryMapLock = kLocks[5];
inline constexpr const LockDecl& kAdminLock = kLocks[6];
inline constexpr const LockDecl& kTrustLock = kLocks[7];
inline constexpr const LockDecl& kSeqsLock = kLocks[8];

inline constexpr runtime::Wires kWires{"svc-index", kTasks, kChannels, kLocks};

}  // namespace ron::index
