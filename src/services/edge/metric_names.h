// The metrics only svc-edge has.
#pragma once

#include <array>
#include <string_view>

#include "runtime/meter.h"
#include "services/kit/life_metrics.h"

namespace ron::edge::metrics {

inline constexpr kit::LifeMetrics kLife = kit::kLifeMetrics<"edge">;

inline constexpr std::array<std::string_view, 8> kRejectReasons = {
    "amnesia", "not_allowed", "decompress_cap", "body_cap",
    "timeout", "rate_limit",  "invalid_range",  "etag_invalid"};
inline constexpr runtime::MetricDecl kRejects = runtime::declare_counter(
    "edge_rejects_total", "Requests that were refused because a rule says so, by rule.",
    {{"reason", kRejectReasons}});

// What the memory tier and single flights did, for tiles, sites and assets together.
inline constexpr runtime::MetricDecl kMemoryHits =
    runtime::declare_counter("edge_memory_hits_total", "Answers from the memory tier.");
inline constexpr runtime::MetricDecl kLoads =
    runtime::declare_counter("edge_loads_total", "What had to be loaded into memory.");
inline constexpr runtime::MetricDecl kLoadsJoined = runtime::declare_counter(
    "edge_loads_joined_total", "Requests that waited for a load or fill that was under way.");
inline constexpr runtime::MetricDecl kMemoryBytes =
    runtime::declare_gauge("edge_memory_bytes", "What the memory tier holds.");

// Of the cache behind /edge/assets.
inline constexpr std::array<std::string_view, 5> kCacheResults = {"hit", "miss", "stale",
                                                                  "revalidated", "negative"};
inline constexpr runtime::MetricDecl kCacheRequests = runtime::declare_counter(
    "edge_cache_requests_total", "Answers of /edge/assets, by what the cache had to say.",
    {{"result", kCacheResults}});
inline constexpr runtime::MetricDecl kCacheBytes =
    runtime::declare_gauge("edge_cache_bytes", "What assets take on disk.");
inline constexpr runtime::MetricDecl kCacheEntries =
    runtime::declare_gauge("edge_cache_entries", "Assets that are known.");
inline constexpr runtime::MetricDecl kEvictions = runtime::declare_counter(
    "edge_evictions_total", "Assets that were let go to make room for others.");

inline constexpr std::array kAll = {
    kLife.reload_success, kLife.reload_fail, kLife.draining, &kRejects,
    &kMemoryHits,         &kLoads,           &kLoadsJoined,  &kMemoryBytes,
    &kCacheRequests,      &kCacheBytes,      &kCacheEntries, &kEvictions};

}  // namespace ron::edge::metrics
