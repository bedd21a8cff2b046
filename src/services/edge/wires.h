// The tasks, channels and locks of svc-edge.
#pragma once

#include <array>

#include "runtime/topology.h"
#include "services/kit/wires.h"

namespace ron::edge {

using runtime::ChannelDecl;
using runtime::ChannelKind;
using runtime::Importance;
using runtime::LockDecl;
using runtime::Overflow;
using runtime::TaskDecl;

// What has connections of its own keeps them.
inline constexpr TaskDecl kDialerTask{
    "dialer", "per core", Importance::Important,
    "keeps the connections to origins, and closes them in the end"};

// Of the cache on disk (volume/disk_volume.h).
inline constexpr TaskDecl kCommitterTask{"committer", "1", Importance::Critical,
                                         "the only writer of the cache on disk"};
inline constexpr TaskDecl kRecovererTask{"recoverer", "1", Importance::Important,
                                         "makes the index of the cache anew if it is lost"};
inline constexpr TaskDecl kCompactorTask{"compactor", "1", Importance::Important,
                                         "frees what evicted objects took on disk"};
inline constexpr TaskDecl kCacheJanitorTask{
    "cache-janitor", "1", Importance::Important,
    "notes on disk what the table of URLs has, and removes what it let go; the only one who does"};

inline constexpr TaskDecl kMountsTask{
    "pack-keeper", "1", Importance::Important,
    "mounts what appears in packs_dir, replaces what changed, lets go what is gone"};
inline constexpr TaskDecl kMounterTask{
    "pack-mounter", "1", Importance::Important,
    "verifies and mounts the packs that operators add, one after the other"};
inline constexpr TaskDecl kSitesTask{"site-keeper", "1", Importance::Important,
                                     "follows the names of sites and switches when one moves"};
inline constexpr TaskDecl kWorkerTask{"worker", "workers", Importance::Important,
                                      "fills what is missing from origins, once for all who wait"};
inline constexpr TaskDecl kLoaderTask{
    "loader", "loaders", Importance::Important,
    "brings tiles, files of sites and assets from the disk into memory, once for all who wait"};

inline constexpr ChannelDecl kWork = kit::work_channel(512, "worker, loader");
inline constexpr ChannelDecl kEvents = kit::events_channel(1024, "worker, admin", "auditor");
inline constexpr ChannelDecl kSettings{
    "settings", ChannelKind::Watch,    1, Overflow::Latest, "reloader",
    "worker",   "the last write wins", ""};
inline constexpr ChannelDecl kCommit{"commit",    ChannelKind::Mpsc,  256, Overflow::Wait, "worker",
                                     "committer", "the worker waits", ""};
inline constexpr ChannelDecl kEvictions{"evictions",
                                        ChannelKind::Mpsc,
                                        1024,
                                        Overflow::Wait,
                                        "worker, admin",
                                        "cache-janitor",
                                        "whoever fills takes a place first, and waits for one",
                                        ""};
inline constexpr ChannelDecl kSiteChanges{
    "site_changes", ChannelKind::Mpsc,          16, Overflow::RejectNew, "admin",
    "site-keeper",  "429 Busy to the operator", ""};
inline constexpr ChannelDecl kPackOrders{
    "pack_orders",  ChannelKind::Mpsc,          16, Overflow::RejectNew, "admin",
    "pack-mounter", "429 Busy to the operator", ""};

inline constexpr auto kTasks =
    kit::all_tasks(kDialerTask, kCommitterTask, kRecovererTask, kCompactorTask, kCacheJanitorTask,
                   kMountsTask, kMounterTask, kSitesTask, kWorkerTask, kLoaderTask);
inline constexpr auto kChannels =
    kit::all_channels(kWork, kEvents, kSettings, kCommit, kEvictions, kSiteChanges, kPackOrders);

// The specification's order is state_meta, routing_table, counters. Counters need no lock.
inline constexpr std::array kLocks = {
    LockDecl{"mount_table", 1, "which packs are mounted; held to copy or swap a pointer"},
    LockDecl{"site_table", 2, "which sites are mounted; held to copy or swap a pointer"},
    LockDecl{"flights", 3, "who waits for what is being loaded or filled"},
    LockDecl{"url_order", 4, "which URL is let go next; a change of the table holds it"},
    LockDecl{"url_table", 5, "one shard of what is known of URLs"},
    LockDecl{"memory_tier", 6, "one shard of what is in memory"},
    LockDecl{"volume_state", 7, "index, segments and sums of the cache on disk"},
    LockDecl{"book", 8, "what is kept of the packs and sites that were added"},
    LockDecl{"cors_origins", 9, "whose pages may use it; held to copy or swap a pointer"},
};
inline constexpr const LockDecl& kMountsLock = kLocks[0];
inline constexpr const LockDecl& kSitesLock = kLocks[1];
inline constexpr const LockDecl& kFlightsLock = kLocks[2];
inline constexpr const LockDecl& kUrlOrderLock = kLocks[3];
inline constexpr const LockDecl& kUrlsLock = kLocks[4];
inline constexpr const LockDecl& kMemoryLock = kLocks[5];
inline constexpr const LockDecl& kVolumeLock = kLocks[6];
inline constexpr const LockDecl& kBookLock = kLocks[7];
inline constexpr const LockDecl& kCorsLock = kLocks[8];

// The lanes of `work`: an origin may be slow for as long as it likes, and what is here waits for
// none.
inline constexpr std::size_t kFillLane = 0;
inline constexpr std::size_t kLoadLane = 1;
inline constexpr std::size_t kWorkLanes = 2;

inline constexpr runtime::Wires kWires{"svc-edge", kTasks, kChannels, kLocks};

}  // namespace ron::edge
