// The metrics only svc-index has.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/meter.h"
#include "services/index/discovery_metrics.h"
#include "services/kit/life_metrics.h"

namespace ron::index::metrics {

inline constexpr kit::LifeMetrics kLife = kit::kLifeMetrics<"index">;

inline constexpr std::array<std::uint64_t, 14> kResolveBounds = {
    100'000,    250'000,    500'000,     1'000'000,   2'500'000,   5'000'000,     10'000'000,
    25'000'000, 50'000'000, 100'000'000, 250'000'000, 500'000'000, 1'200'000'000, 2'500'000'000};
inline constexpr runtime::MetricDecl kResolveSeconds = runtime::declare_histogram(
    "resolve_latency_seconds", "Time to an answer that the cache did not have.",
    runtime::MetricUnit::kSeconds, kResolveBounds);
inline constexpr runtime::MetricDecl kDeadlineHit = runtime::declare_counter(
    "resolve_deadline_hit_total", "Resolves that were given up at dht.deadline_ms.");
inline constexpr runtime::MetricDecl kCacheHits =
    runtime::declare_counter("index_cache_hits_total", "Resolves answered from the cache.");
inline constexpr runtime::MetricDecl kCacheMisses =
    runtime::declare_counter("index_cache_misses_total", "Resolves that the cache did not have.");
inline constexpr runtime::MetricDecl kFlightsJoined = runtime::declare_counter(
    "index_resolves_joined_total", "Of those, the ones that waited for one under way.");
inline constexpr runtime::MetricDecl kCacheEntries =
    runtime::declare_gauge("index_cache_entries", "Answers in the cache.");
inline constexpr runtime::MetricDecl kCacheEvicted = runtime::declare_counter(
    "index_cache_expired_total", "Answers the janitor let go because they were of no use.");
inline constexpr runtime::MetricDecl kNameVersions =
    runtime::declare_counter("index_name_versions_total", "Versions of names written.");
inline constexpr runtime::MetricDecl kSyncs = runtime::declare_counter(
    "index_syncs_total", "Batches made durable; several changes share one.");
inline constexpr runtime::MetricDecl kCasFail = runtime::declare_counter(
    "index_cas_fail_total", "Changes refused because the name was at another version.");
inline constexpr runtime::MetricDecl kPurges = runtime::declare_counter(
    "index_amnesia_purges_total", "Times that all was forgotten in amnesia mode.");
inline constexpr runtime::MetricDecl kMapBytes =
    runtime::declare_gauge("index_map_memory_bytes", "Memory the map takes for itself.");

inline constexpr std::array kAll = {kLife.reload_success,
                                    kLife.reload_fail,
                                    kLife.draining,
                                    &kResolveSeconds,
                                    &kDeadlineHit,
                                    &kCacheHits,
                                    &kCacheMisses,
                                    &kFlightsJoined,
                                    &kCacheEntries,
                                    &kCacheEvicted,
                                    &kNameVersions,
                                    &kSyncs,
                                    &kCasFail,
                                    &kPurges,
                                    &kMapBytes,
                                    &kSearches,
                                    &kHedgedSearches,
                                    &kLookupMs,
                                    &kAsks,
                                    &kExtraAsks,
                                    &kRecordsRefused,
                                    &kValuesSkipped,
                                    &kPublished,
                                    &kPublishFailures,
                                    &kRepublishLag};

}  // namespace ron::index::metrics
