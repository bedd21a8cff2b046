// The tasks, channels and locks of svc-gateway.
#pragma once

#include <array>

#include "runtime/topology.h"
#include "services/kit/wires.h"

namespace ron::gateway {

inline constexpr runtime::TaskDecl kSchedulerTask{
    "scheduler", "1", runtime::Importance::Critical,
    "decides whose turn it is, by deficit round robin between tenants"};
inline constexpr runtime::TaskDecl kWorkerTask{
    "worker", "workers", runtime::Importance::Important,
    "hands turns to requests and holds as many as it has slots"};
inline constexpr runtime::TaskDecl kProberTask{
    "prober", "1", runtime::Importance::Important,
    "asks the members of upstream groups how they are, and says what the gateway can serve"};
inline constexpr runtime::TaskDecl kTickerTask{"ticker", "1", runtime::Importance::Important,
                                               "tells the accountant once a second"};
inline constexpr runtime::TaskDecl kAccountantTask{
    "accountant", "1", runtime::Importance::Important,
    "samples shares and queues, and publishes who was served how much"};

inline constexpr runtime::ChannelDecl kWork{
    "work",
    runtime::ChannelKind::Mpsc,
    512,
    runtime::Overflow::RejectNew,
    "listener",
    "scheduler",
    "429 Busy with the tenant's share; busy_rejections_total, queue_dropped_total",
    "channels.work"};
inline constexpr runtime::ChannelDecl kSched{
    "sched",
    runtime::ChannelKind::Mpsc,
    512,
    runtime::Overflow::DropOldest,
    "scheduler",
    "worker",
    "503 Degraded to whoever waited longest; queue_dropped_total",
    "channels.sched"};
inline constexpr runtime::ChannelDecl kDemand{
    "demand",    runtime::ChannelKind::Watch, 1, runtime::Overflow::Latest, "listener",
    "scheduler", "the last write wins",       ""};
inline constexpr runtime::ChannelDecl kMetricsTick{"metrics_tick",
                                                   runtime::ChannelKind::Mpsc,
                                                   64,
                                                   runtime::Overflow::Wait,
                                                   "ticker",
                                                   "accountant",
                                                   "the ticker waits",
                                                   "channels.metrics_tick"};
inline constexpr runtime::ChannelDecl kEvents{"events",
                                              runtime::ChannelKind::Broadcast,
                                              1024,
                                              runtime::Overflow::DropOldest,
                                              "prober, listener",
                                              "auditor",
                                              "slow listeners miss the oldest; bus_lagged_total",
                                              "channels.events"};

inline constexpr std::array<runtime::TaskDecl, 9> kTasks = {
    kit::kAdminTask, kit::kReloaderTask, kit::kAuditorTask, kSchedulerTask,    kWorkerTask,
    kAccountantTask, kTickerTask,        kProberTask,       kit::kListenerTask};
inline constexpr std::array<runtime::ChannelDecl, 7> kChannels = {
    kWork, kSched, kDemand, kMetricsTick, kEvents, kit::kShutdownChannel, kit::kConfigChannel};
inline constexpr std::array<runtime::LockDecl, 1> kLocks = {
    {{"tenants", 1, "who was seen lately, and their quanta"}}};
inline constexpr const runtime::LockDecl& kTenantsLock = kLocks[0];
inline constexpr runtime::Wires kWires{"svc-gateway", kTasks, kChannels, kLocks};

}  // namespace ron::gateway
