// The tasks, channels and locks of svc-gateway.
#pragma once

#include <array>

#include "runtime/topology.h"
#include "services/kit/wires.h"

namespace ron::gateway {

inline constexpr runtime::TaskDecl kDialerTask{
    "dialer", "per core", runtime::Importance::Important,
    "keeps the connections to upstreams, and closes them in the end"};
inline constexpr runtime::TaskDecl kAccountantTask{
    "accountant", "1", runtime::Importance::Important,
    "adds up who was served how much, once a second"};
inline constexpr runtime::TaskDecl kTickerTask{"ticker", "1", runtime::Importance::Important,
                                               "tells the accountant that a second has passed"};
inline constexpr runtime::TaskDecl kProberTask{"prober", "1", runtime::Importance::Important,
                                               "asks the members of upstream groups how they are"};
inline constexpr runtime::TaskDecl kMonitorTask{
    "monitor", "1", runtime::Importance::Important,
    "says what the gateway can serve, and sheds writes before reads suffer"};
inline constexpr runtime::TaskDecl kSchedulerTask{
    "scheduler", "1", runtime::Importance::Critical,
    "decides whose turn it is, by deficit round robin between tenants"};
inline constexpr runtime::TaskDecl kWorkerTask{"worker", "workers", runtime::Importance::Important,
                                               "hands turns to the requests that wait for them"};

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
inline constexpr runtime::ChannelDecl kEvents =
    kit::events_channel(1024, "monitor, admin", "auditor");

inline constexpr auto kTasks =
    kit::all_tasks(kDialerTask, kAccountantTask, kTickerTask, kProberTask, kMonitorTask,
                   kSchedulerTask, kWorkerTask);
inline constexpr auto kChannels = kit::all_channels(kWork, kSched, kDemand, kMetricsTick, kEvents);
inline constexpr std::array<runtime::LockDecl, 5> kLocks = {
    {{"upstreams", 1, "who is behind the gateway"},
     {"routing", 2, "the latest routes, while a core takes them over"},
     {"tenants", 3, "who was seen lately, and their quanta"},
     {"health", 4, "what is missing"},
     {"failure", 5, "why a request to an upstream last came to nothing"}}};
inline constexpr const runtime::LockDecl& kUpstreamsLock = kLocks[0];
inline constexpr const runtime::LockDecl& kRoutingLock = kLocks[1];
inline constexpr const runtime::LockDecl& kTenantsLock = kLocks[2];
inline constexpr const runtime::LockDecl& kHealthLock = kLocks[3];
inline constexpr const runtime::LockDecl& kFailureLock = kLocks[4];
inline constexpr runtime::Wires kWires{"svc-gateway", kTasks, kChannels, kLocks};

}  // namespace ron::gateway
