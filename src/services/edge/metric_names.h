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

// Packs and their tiles.
inline constexpr runtime::MetricDecl kPacks =
    runtime::declare_gauge("edge_packs", "Packs that are mounted.");
inline constexpr std::array<std::string_view, 4> kTileOutcomes = {"hit", "loaded", "missing",
                                                                  "failed"};
inline constexpr runtime::MetricDecl kTiles = runtime::declare_counter(
    "edge_tiles_total",
    "Requests for tiles of packs: from memory, from the pack, not in the pack, or refused.",
    {{"outcome", kTileOutcomes}});

inline constexpr std::array kAll = {
    kLife.reload_success, kLife.reload_fail, kLife.draining, &kRejects, &kMemoryHits, &kLoads,
    &kLoadsJoined,        &kMemoryBytes,     &kPacks,        &kTiles};

}  // namespace ron::edge::metrics
