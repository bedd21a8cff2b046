// What svc-storage is made of: its tasks, channels and locks. Everything else about them is derived
// from these tables (docs/generated/concurrency.md, metrics, GET /debug/topology).
#pragma once

#include <array>

#include "runtime/topology.h"

namespace ron::storage {

using runtime::ChannelDecl;
using runtime::ChannelKind;
using runtime::Importance;
using runtime::LockDecl;
using runtime::Overflow;
using runtime::TaskDecl;

inline constexpr std::array kChannels = {
    ChannelDecl{
        "work", ChannelKind::Mpsc, 512, Overflow::RejectNew, "listener", "get-worker, put-worker",
        "429 Busy to the client; busy_rejections_total, queue_dropped_total", "channels.work"},
    ChannelDecl{"commit", ChannelKind::Mpsc, 1024, Overflow::Wait,
                "get-worker, put-worker, compactor, scrubber, admin", "committer",
                "workers wait, so that work fills up and answers 429; one for each data directory",
                "channels.commit"},
    ChannelDecl{"events", ChannelKind::Broadcast, 1024, Overflow::DropOldest,
                "get-worker, put-worker, scrubber", "auditor",
                "slow listeners miss the oldest; bus_lagged_total", "channels.events"},
    ChannelDecl{"shutdown", ChannelKind::Watch, 1, Overflow::Latest, "supervisor",
                "listener, admin, get-worker, put-worker, auditor, reloader, committer, recoverer, "
                "compactor, scrubber",
                "the last write wins", ""},
    ChannelDecl{"config", ChannelKind::Watch, 1, Overflow::Latest, "supervisor", "reloader",
                "the last write wins", ""},
};
inline constexpr const ChannelDecl& kWork = kChannels[0];
inline constexpr const ChannelDecl& kCommit = kChannels[1];
inline constexpr const ChannelDecl& kEvents = kChannels[2];
inline constexpr const ChannelDecl& kConfig = kChannels[4];

inline constexpr std::array kTasks = {
    TaskDecl{"admin", "1", Importance::Important, "serves metrics, topology and configuration"},
    TaskDecl{"auditor", "1", Importance::Important, "writes what happened to objects to the log"},
    TaskDecl{"reloader", "1", Importance::Important, "hands a new configuration to every core"},
    TaskDecl{"committer", "per data directory", Importance::Critical,
             "the single writer: appends, syncs once for many, indexes, answers"},
    TaskDecl{"recoverer", "per data directory", Importance::Important,
             "makes a damaged index anew from the segments"},
    TaskDecl{"compactor", "per data directory", Importance::Important,
             "gives back the space of what was deleted; ends uploads that expired"},
    TaskDecl{"scrubber", "per data directory", Importance::Important,
             "reads the medium and checks everything stored against its address"},
    TaskDecl{"put-worker", "put_workers", Importance::Critical,
             "verifies and stores objects, removes them, does what uploads ask"},
    TaskDecl{"get-worker", "get_workers", Importance::Critical, "reads and verifies objects"},
    TaskDecl{"listener", "per core", Importance::Critical, "accepts and serves connections"},
};
inline constexpr const TaskDecl& kAdminTask = kTasks[0];
inline constexpr const TaskDecl& kAuditorTask = kTasks[1];
inline constexpr const TaskDecl& kReloaderTask = kTasks[2];
inline constexpr const TaskDecl& kCommitterTask = kTasks[3];
inline constexpr const TaskDecl& kRecovererTask = kTasks[4];
inline constexpr const TaskDecl& kCompactorTask = kTasks[5];
inline constexpr const TaskDecl& kScrubberTask = kTasks[6];
inline constexpr const TaskDecl& kPutWorkerTask = kTasks[7];
inline constexpr const TaskDecl& kGetWorkerTask = kTasks[8];
inline constexpr const TaskDecl& kListenerTask = kTasks[9];

// The specification's hierarchy is config_snapshot, manifest_index_meta, io_counters. The first is
// a watch, the second is one lock for objects and one for uploads, and of the last only the
// tenants' need one, or two: what is on its way is checked together with what is there.
inline constexpr std::array kLocks = {
    LockDecl{"manifest_index_meta", 2, "one shard of a map from address to object in memory"},
    LockDecl{"upload_meta", 3, "the open uploads and, in amnesia mode, their parts"},
    LockDecl{"tenant_quotas", 4, "what tenants may store and what is on its way there"},
    LockDecl{"tenant_counters", 5, "bytes and objects of each tenant in memory"},
    LockDecl{"volume_state", 6, "index, segments and sums of one data directory"},
};
inline constexpr const LockDecl& kObjectsLock = kLocks[0];
inline constexpr const LockDecl& kUploadsLock = kLocks[1];
inline constexpr const LockDecl& kQuotasLock = kLocks[2];
inline constexpr const LockDecl& kTenantsLock = kLocks[3];
inline constexpr const LockDecl& kVolumeLock = kLocks[4];

// The lanes of `work`: each pool of workers takes from its own, and they share the capacity.
inline constexpr std::size_t kGetLane = 0;
inline constexpr std::size_t kPutLane = 1;
inline constexpr std::size_t kWorkLanes = 2;

inline constexpr runtime::Wires kWires{"svc-storage", kTasks, kChannels, kLocks};

}  // namespace ron::storage
