// The tasks and channels every service has. A service's wires.h puts them into its tables, the
// listener last: what is started last is stopped first.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "runtime/topology.h"

namespace ron::kit {

inline constexpr runtime::TaskDecl kAdminTask{"admin", "1", runtime::Importance::Important,
                                              "serves metrics, topology and configuration"};
inline constexpr runtime::TaskDecl kReloaderTask{"reloader", "1", runtime::Importance::Important,
                                                 "hands a new configuration to every core"};
inline constexpr runtime::TaskDecl kAuditorTask{"auditor", "1", runtime::Importance::Important,
                                                "writes what happened to the log"};
inline constexpr runtime::TaskDecl kListenerTask{"listener", "per core, and per socket",
                                                 runtime::Importance::Critical,
                                                 "accepts and serves connections"};

inline constexpr runtime::ChannelDecl kShutdownChannel{
    "shutdown",          runtime::ChannelKind::Watch, 1, runtime::Overflow::Latest, "supervisor",
    runtime::kEveryTask, "the last write wins",       ""};
inline constexpr runtime::ChannelDecl kConfigChannel{
    "config",   runtime::ChannelKind::Watch, 1, runtime::Overflow::Latest, "supervisor",
    "reloader", "the last write wins",       ""};

// The queue between listeners and workers, and what a service announces: most have both.
constexpr runtime::ChannelDecl work_channel(std::size_t capacity, std::string_view workers) {
  return {"work",
          runtime::ChannelKind::Mpsc,
          capacity,
          runtime::Overflow::RejectNew,
          "listener",
          workers,
          "429 Busy to the client; busy_rejections_total, queue_dropped_total",
          "channels.work"};
}
constexpr runtime::ChannelDecl events_channel(std::size_t capacity, std::string_view producers,
                                              std::string_view consumers) {
  return {"events",
          runtime::ChannelKind::Broadcast,
          capacity,
          runtime::Overflow::DropOldest,
          producers,
          consumers,
          "slow listeners miss the oldest; bus_lagged_total",
          "channels.events"};
}

// What a service that exports spans has besides (otel.h). The task goes first among its own: it is
// stopped after them then, and a collector that hangs takes nothing from their part of the drain.
inline constexpr runtime::TaskDecl kOtelTask{"otel-exporter", "1", runtime::Importance::Important,
                                             "sends spans of requests to a collector"};
inline constexpr runtime::ChannelDecl kSpansChannel{
    "spans",
    runtime::ChannelKind::Mpsc,
    2048,
    runtime::Overflow::DropOldest,
    "listener",
    "otel-exporter",
    "the oldest are lost; otel_spans_dropped_total, queue_dropped_total",
    ""};
inline constexpr runtime::ChannelDecl kCollectorChannel{
    "collector",     runtime::ChannelKind::Watch, 1, runtime::Overflow::Latest, "reloader",
    "otel-exporter", "the last write wins",       ""};

// The tables of a service: its own, in the order of start, among those every service has.
template <class... Tasks>
constexpr std::array<runtime::TaskDecl, sizeof...(Tasks) + 4> all_tasks(const Tasks&... own) {
  return {kAdminTask, kReloaderTask, kAuditorTask, own..., kListenerTask};
}
template <class... Channels>
constexpr std::array<runtime::ChannelDecl, sizeof...(Channels) + 2> all_channels(
    const Channels&... own) {
  return {own..., kShutdownChannel, kConfigChannel};
}

}  // namespace ron::kit
