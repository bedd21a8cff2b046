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
    ChannelDecl{"events", ChannelKind::Broadcast, 1024, Overflow::DropOldest,
                "get-worker, put-worker", "auditor",
                "slow listeners miss the oldest; bus_lagged_total", "channels.events"},
    ChannelDecl{"shutdown", ChannelKind::Watch, 1, Overflow::Latest, "supervisor",
                "listener, admin, get-worker, put-worker, auditor, reloader", "the last write wins",
                ""},
    ChannelDecl{"config", ChannelKind::Watch, 1, Overflow::Latest, "supervisor", "reloader",
                "the last write wins", ""},
};
inline constexpr const ChannelDecl& kWork = kChannels[0];
inline constexpr const ChannelDecl& kEvents = kChannels[1];
inline constexpr const ChannelDecl& kConfig = kChannels[3];

inline constexpr std::array kTasks = {
    TaskDecl{"admin", "1", Importance::Important, "serves metrics, topology and configuration"},
    TaskDecl{"auditor", "1", Importance::Important, "writes what happened to objects to the log"},
    TaskDecl{"reloader", "1", Importance::Important, "hands a new configuration to every core"},
    TaskDecl{"put-worker", "put_workers", Importance::Critical,
             "verifies and stores objects, removes them, does what uploads ask"},
    TaskDecl{"get-worker", "get_workers", Importance::Critical, "reads and verifies objects"},
    TaskDecl{"listener", "per core", Importance::Critical, "accepts and serves connections"},
};
inline constexpr const TaskDecl& kAdminTask = kTasks[0];
inline constexpr const TaskDecl& kAuditorTask = kTasks[1];
inline constexpr const TaskDecl& kReloaderTask = kTasks[2];
inline constexpr const TaskDecl& kPutWorkerTask = kTasks[3];
inline constexpr const TaskDecl& kGetWorkerTask = kTasks[4];
inline constexpr const TaskDecl& kListenerTask = kTasks[5];

// The specification's hierarchy is config_snapshot, manifest_index_meta, io_counters. The first is
// a watch, the second is one lock for objects and one for uploads, and of the last only the
// tenants' need one.
inline constexpr std::array kLocks = {
    LockDecl{"manifest_index_meta", 2, "one shard of a map from address to object in memory"},
    LockDecl{"upload_meta", 3, "the open uploads and, in amnesia mode, their parts"},
    LockDecl{"tenant_counters", 4, "bytes and objects of each tenant"},
};
inline constexpr const LockDecl& kObjectsLock = kLocks[0];
inline constexpr const LockDecl& kUploadsLock = kLocks[1];
inline constexpr const LockDecl& kTenantsLock = kLocks[2];

// The lanes of `work`: each pool of workers takes from its own, and they share the capacity.
inline constexpr std::size_t kGetLane = 0;
inline constexpr std::size_t kPutLane = 1;
inline constexpr std::size_t kWorkLanes = 2;

inline constexpr runtime::Wires kWires{"svc-storage", kTasks, kChannels, kLocks};

}  // namespace ron::storage
