// The metrics only svc-edge has.
#pragma once

#include <array>
#include <cstdint>
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

// Packs and their tiles.
inline constexpr runtime::MetricDecl kPacks =
    runtime::declare_gauge("edge_packs", "Packs that are mounted.");
inline constexpr std::array<std::string_view, 4> kTileOutcomes = {"hit", "loaded", "missing",
                                                                  "failed"};
inline constexpr runtime::MetricDecl kTiles = runtime::declare_counter(
    "edge_tiles_total",
    "Requests for tiles of packs: from memory, from the pack, not in the pack, or refused.",
    {{"outcome", kTileOutcomes}});

// Sites.
inline constexpr runtime::MetricDecl kSiteFilesMissing =
    runtime::declare_gauge("edge_site_files_missing",
                           "Files of a site that are not stored, as of its last check.", {"site"});

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

// Fills.
inline constexpr std::array<std::string_view, 8> kFillOutcomes = {
    "filled",    "not_modified", "not_found", "refused",
    "too_large", "etag_invalid", "timeout",   "failed"};
inline constexpr runtime::MetricDecl kFills =
    runtime::declare_counter("edge_fills_total", "What was asked of origins, by what came of it.",
                             {{"outcome", kFillOutcomes}});
inline constexpr runtime::MetricDecl kFillBytes = runtime::declare_counter(
    "edge_fill_bytes_total", "Bytes of bodies received from origins, as they were sent.");
inline constexpr std::array<std::uint64_t, 14> kFillBounds = {
    1'000'000,     2'500'000,     5'000'000,      10'000'000,    25'000'000,
    50'000'000,    100'000'000,   250'000'000,    500'000'000,   1'000'000'000,
    2'500'000'000, 5'000'000'000, 10'000'000'000, 20'000'000'000};
inline constexpr runtime::MetricDecl kFillSeconds = runtime::declare_histogram(
    "edge_fill_seconds", "Time from asking an origin to the end of its answer, all tries included.",
    runtime::MetricUnit::kSeconds, kFillBounds);

inline constexpr std::array kAll = {kLife.reload_success,
                                    kLife.reload_fail,
                                    kLife.draining,
                                    &kRejects,
                                    &kMemoryHits,
                                    &kLoads,
                                    &kLoadsJoined,
                                    &kMemoryBytes,
                                    &kPacks,
                                    &kTiles,
                                    &kSiteFilesMissing,
                                    &kFills,
                                    &kFillBytes,
                                    &kFillSeconds,
                                    &kCacheRequests,
                                    &kCacheBytes,
                                    &kCacheEntries,
                                    &kEvictions};

}  // namespace ron::edge::metrics
