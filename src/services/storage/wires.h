// What svc-storage is made of: its tasks, channels and locks. Everything else about them is derived
// from these tables (docs/generated/concurrency.md, metrics, GET /debug/topology).
#pragma once

#include <array>

#include "runtime/topology.h"
#include "services/kit/wires.h"

namespace ron::storage {

using runtime::ChannelDecl;
using runtime::ChannelKind;
using runtime::Importance;
using runtime::LockDecl;
using runtime::Overflow;
using runtime::TaskDecl;

inline constexpr ChannelDecl kWork = kit::work_channel(512, "get-worker, put-worker");
inline constexpr ChannelDecl kCommit{
    "commit",
    ChannelKind::Mpsc,
    1024,
    Overflow::Wait,
    "get-worker, put-worker, compactor, scrubber, admin",
    "committer",
    "workers wait, so that work fills up and answers 429; one for each data directory",
    "channels.commit"};
inline constexpr ChannelDecl kEvents =
    kit::events_channel(1024, "get-worker, put-worker, scrubber", "auditor, announcer");
inline constexpr ChannelDecl kAnnounceChannel{
    "announce",  ChannelKind::Watch,    1, Overflow::Latest, "reloader",
    "announcer", "the last write wins", ""};
inline constexpr auto kChannels = kit::all_channels(kWork, kCommit, kEvents, kAnnounceChannel);

// First among its own: it is stopped after them, and an index that hangs takes nothing from their
// part of the drain.
inline constexpr TaskDecl kAnnouncerTask{
    "announcer", "1, if there is an index", Importance::Important,
    "tells an index what is stored and what was removed, and renews it"};

inline constexpr TaskDecl kCommitterTask{
    "committer", "per data directory", Importance::Critical,
    "the single writer: appends, syncs once for many, indexes, answers"};
inline constexpr TaskDecl kRecovererTask{"recoverer", "per data directory", Importance::Important,
                                         "makes a damaged index anew from the segments"};
inline constexpr TaskDecl kCompactorTask{
    "compactor", "per data directory", Importance::Important,
    "gives back the space of what was deleted; ends uploads that expired"};
inline constexpr TaskDecl kScrubberTask{
    "scrubber", "per data directory", Importance::Important,
    "reads the medium and checks everything stored against its address"};
inline constexpr TaskDecl kPutWorkerTask{
    "put-worker", "put_workers", Importance::Critical,
    "verifies and stores objects, removes them, does what uploads ask"};
inline constexpr TaskDecl kGetWorkerTask{"get-worker", "get_workers", Importance::Critical,
                                         "reads and verifies objects"};
inline constexpr auto kTasks =
    kit::all_tasks(kAnnouncerTask, kCommitterTask, kRecovererTask, kCompactorTask, kScrubberTask,
                   kPutWorkerTask, kGetWorkerTask);

// The specification's hierarchy is config_snapshot, manifest_index_meta, io_counters. The first is
// a watch, the second is one lock for objects, one for uploads and one for loads, and of the last
// only the tenants' need one, or two: what is on its way is checked together with what is there.
inline constexpr std::array kLocks = {
    LockDecl{"manifest_index_meta", 2, "one shard of a map from address to object in memory"},
    LockDecl{"upload_meta", 3, "the open uploads and, in amnesia mode, their parts"},
    LockDecl{"tenant_quotas", 4, "what tenants may store and what is on its way there"},
    LockDecl{"tenant_counters", 5, "bytes and objects of each tenant in memory"},
    LockDecl{"object_loads", 6, "who waits for which object to come into memory"},
    LockDecl{"volume_state", 7, "index, segments and sums of one data directory"},
};
inline constexpr const LockDecl& kObjectsLock = kLocks[0];
inline constexpr const LockDecl& kUploadsLock = kLocks[1];
inline constexpr const LockDecl& kQuotasLock = kLocks[2];
inline constexpr const LockDecl& kTenantsLock = kLocks[3];
inline constexpr const LockDecl& kLoadsLock = kLocks[4];
inline constexpr const LockDecl& kVolumeLock = kLocks[5];

// The lanes of `work`: each pool of workers takes from its own, and they share the capacity.
inline constexpr std::size_t kGetLane = 0;
inline constexpr std::size_t kPutLane = 1;
inline constexpr std::size_t kWorkLanes = 2;

inline constexpr runtime::Wires kWires{"svc-storage", kTasks, kChannels, kLocks};

}  // namespace ron::storage
