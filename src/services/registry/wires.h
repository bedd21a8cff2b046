// The tasks, channels and locks of svc-registry.
#pragma once

#include <array>

#include "runtime/topology.h"
#include "services/kit/wires.h"

namespace ron::registry {

using runtime::ChannelDecl;
using runtime::ChannelKind;
using runtime::Importance;
using runtime::LockDecl;
using runtime::Overflow;
using runtime::TaskDecl;

inline constexpr TaskDecl kCommitterTask{
    "committer", "1", Importance::Critical,
    "the only writer of HEAD and the log: decides, appends, syncs once for many, answers"};
inline constexpr TaskDecl kPublisherTask{"publisher", "1", Importance::Important,
                                         "tells the other services what was committed"};
inline constexpr TaskDecl kCheckpointorTask{
    "checkpointor", "1", Importance::Important,
    "signs checkpoints, each with the state, and says what may be pruned"};
inline constexpr TaskDecl kRetentionTask{"retention", "1", Importance::Important,
                                         "removes segments that a signed checkpoint covers"};
inline constexpr TaskDecl kVerifierTask{
    "verifier", "1", Importance::Important,
    "checks chain, quorum and signatures again, from the last checkpoint on, in slices"};
inline constexpr TaskDecl kConfigReloaderTask{"config-reloader", "1", Importance::Important,
                                              "hands new settings to the tasks that run"};

inline constexpr ChannelDecl kProposals{
    "proposals",
    ChannelKind::Mpsc,
    512,
    Overflow::RejectNew,
    "listener, checkpointor",
    "committer",
    "429 Busy to the client; busy_rejections_total, queue_dropped_total",
    "channels.proposals"};
inline constexpr ChannelDecl kApprovals{
    "approvals",
    ChannelKind::Mpsc,
    512,
    Overflow::RejectNew,
    "listener",
    "committer",
    "429 Busy to the client; busy_rejections_total, queue_dropped_total",
    "channels.approvals"};
inline constexpr ChannelDecl kIntake{
    "intake",    ChannelKind::Watch,    1, Overflow::Latest, "listener, checkpointor",
    "committer", "the last write wins", ""};
inline constexpr ChannelDecl kCommitted{
    "committed",
    ChannelKind::Broadcast,
    1024,
    Overflow::DropOldest,
    "committer",
    "publisher, verifier, listener",
    "slow listeners miss the oldest and see a gap; bus_lagged_total",
    "channels.committed"};
inline constexpr ChannelDecl kCfgReload{"cfg_reload",
                                        ChannelKind::Mpsc,
                                        16,
                                        Overflow::DropOldest,
                                        "reloader",
                                        "config-reloader",
                                        "the latest settings are what counts",
                                        "channels.cfg_reload"};
inline constexpr ChannelDecl kSettings{"settings",
                                       ChannelKind::Watch,
                                       1,
                                       Overflow::Latest,
                                       "config-reloader",
                                       "checkpointor, verifier",
                                       "the last write wins",
                                       ""};
inline constexpr ChannelDecl kUpdated{"updated",
                                      ChannelKind::Watch,
                                      1,
                                      Overflow::Latest,
                                      "publisher",
                                      "other services",
                                      "the last write wins: HEAD as it is",
                                      ""};
inline constexpr ChannelDecl kCheckpointWanted{
    "checkpoint_wanted", ChannelKind::Watch,    1, Overflow::Latest, "listener",
    "checkpointor",      "the last write wins", ""};
inline constexpr ChannelDecl kCheckpointed{
    "checkpointed", ChannelKind::Watch,    1, Overflow::Latest, "checkpointor",
    "listener",     "the last write wins", ""};
inline constexpr ChannelDecl kRetentionCmd{"retention_cmd",
                                           ChannelKind::Mpsc,
                                           8,
                                           Overflow::RejectNew,
                                           "checkpointor",
                                           "retention",
                                           "skipped until the next checkpoint, and logged",
                                           "channels.retention"};
inline constexpr ChannelDecl kEvents = kit::events_channel(1024, "committer", "auditor");

inline constexpr auto kTasks =
    kit::all_tasks(kit::kOtelTask, kCommitterTask, kRetentionTask, kCheckpointorTask, kVerifierTask,
                   kPublisherTask, kConfigReloaderTask);
inline constexpr auto kChannels = kit::all_channels(
    kProposals, kApprovals, kIntake, kCommitted, kUpdated, kCheckpointWanted, kCheckpointed,
    kRetentionCmd, kCfgReload, kSettings, kEvents, kit::kSpansChannel, kit::kCollectorChannel);

// The specification's order is state_meta, routing_table, counters. There is no routing table here,
// and counters need no lock.
inline constexpr std::array kLocks = {
    LockDecl{"state_meta", 1, "HEAD, state and pending proposals as readers see them"},
    LockDecl{"log_segments", 2, "the open segments of a log, and where its frames are"},
    LockDecl{"tree_tail", 3, "hashes of the tree that are not on disk yet"},
    LockDecl{"checkpoint_list", 4, "the signed checkpoints"},
    LockDecl{"signer_keys", 5, "keys of signers, ready to verify"},
};
inline constexpr const LockDecl& kStateLock = kLocks[0];
inline constexpr const LockDecl& kSegmentsLock = kLocks[1];
inline constexpr const LockDecl& kTreeLock = kLocks[2];
inline constexpr const LockDecl& kCheckpointsLock = kLocks[3];
inline constexpr const LockDecl& kSignerKeysLock = kLocks[4];

inline constexpr runtime::Wires kWires{"svc-registry", kTasks, kChannels, kLocks};

}  // namespace ron::registry
