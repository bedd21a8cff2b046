// The metrics only svc-gateway has.
#pragma once

#include <array>
#include <string_view>

#include "runtime/meter.h"
#include "services/kit/life_metrics.h"

namespace ron::gateway::metrics {

inline constexpr kit::LifeMetrics kLife = kit::kLifeMetrics<"gateway">;

// Tenants are labels only as far as they are the largest: everyone else is `other`.
inline constexpr runtime::MetricDecl kDrrQueueDepth = runtime::declare_gauge(
    "gateway_drr_queue_depth", "Requests that wait for their tenant's turn.", {"tenant"});
inline constexpr runtime::MetricDecl kDrrDeficit = runtime::declare_gauge(
    "gateway_drr_deficit", "What a tenant may spend in this round; negative: what it owes.",
    {"tenant"});
inline constexpr runtime::MetricDecl kShareServed =
    runtime::declare_gauge("gateway_share_served_permille",
                           "A tenant's part of what was served in the last minute.", {"tenant"});
inline constexpr runtime::MetricDecl kJainIndex = runtime::declare_gauge(
    "gateway_jain_index_permille",
    "Jain's index of fairness over the last minute, weighted by quantum: 1000 is even.");
inline constexpr runtime::MetricDecl kTenants =
    runtime::declare_gauge("gateway_active_tenants", "Tenants that asked for something lately.");
inline constexpr runtime::MetricDecl kDegraded = runtime::declare_gauge(
    "gateway_degraded", "1 while writes are shed so that reads go on, else 0.");
inline constexpr runtime::MetricDecl kWorkers =
    runtime::declare_gauge("gateway_workers", "Workers that hand out turns now.");

inline constexpr std::array<std::string_view, 6> kReasons = {"host",   "route", "method",
                                                             "origin", "rate",  "degraded"};
inline constexpr runtime::MetricDecl kRefusedTotal = runtime::declare_counter(
    "gateway_refused_total", "Requests refused before any upstream was asked.",
    {{"reason", kReasons}});
inline constexpr std::array<std::string_view, 2> kWays = {"bypass", "queued"};
inline constexpr runtime::MetricDecl kTurnsTotal = runtime::declare_counter(
    "gateway_turns_total", "Turns given at once, and through the scheduler.", {{"way", kWays}});

inline constexpr std::array kAll = {
    kLife.reload_success, kLife.reload_fail, kLife.draining, &kDrrQueueDepth,
    &kDrrDeficit,         &kShareServed,     &kJainIndex,    &kTenants,
    &kDegraded,           &kWorkers,         &kRefusedTotal, &kTurnsTotal};

}  // namespace ron::gateway::metrics
