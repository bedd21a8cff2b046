// The metrics only svc-index has.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/meter.h"
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

// Of discovery. `target` is as many as are configured.
inline constexpr std::array<std::string_view, 4> kSearchResults = {"found", "none", "failed",
                                                                   "timeout"};
inline constexpr runtime::MetricDecl kSearches =
    runtime::declare_counter("index_searches_total", "Searches for the providers of an object.",
                             {{"result", kSearchResults}});
inline constexpr runtime::MetricDecl kHedgedSearches = runtime::declare_counter(
    "index_hedged_searches_total", "Searches that asked more than dht.alpha targets.");

inline constexpr std::array<std::uint64_t, 14> kLookupBounds = {
    1, 2, 5, 10, 20, 40, 80, 150, 250, 400, 600, 900, 1200, 2500};
inline constexpr runtime::MetricDecl kLookupMs = runtime::declare_histogram(
    "index_dht_lookup_ms", "Milliseconds a search for providers took, whatever came of it.",
    runtime::MetricUnit::kNone, kLookupBounds);

// found: a record that counts. none: it answered, and has no such record. failed: no answer, or one
// that breaks the rules. late: too slow. aborted: others were faster, or nobody waited any more.
inline constexpr std::array<std::string_view, 5> kAskOutcomes = {"found", "none", "failed", "late",
                                                                 "aborted"};
inline constexpr runtime::MetricDecl kAsks = runtime::declare_counter(
    "index_asks_total", "Times a target was asked for the providers of an object.",
    {"target", {"outcome", kAskOutcomes}});
inline constexpr runtime::MetricDecl kExtraAsks = runtime::declare_counter(
    "index_extra_asks_total", "Of those, the ones that only hedging caused.");

inline constexpr std::array<std::string_view, 7> kDoubts = {
    "other_address", "expired", "too_long", "foreign", "forged", "replayed", "too_many"};
inline constexpr runtime::MetricDecl kRecordsRefused = runtime::declare_counter(
    "index_records_refused_total", "Provider records of others that did not count.",
    {{"reason", kDoubts}});
inline constexpr runtime::MetricDecl kValuesSkipped = runtime::declare_counter(
    "index_values_skipped_total", "Values of the DHT that are no provider records.");

inline constexpr runtime::MetricDecl kPublished = runtime::declare_counter(
    "index_published_total", "Provider records published to a target.", {"target"});
inline constexpr runtime::MetricDecl kPublishFailures = runtime::declare_counter(
    "index_publish_failures_total", "Provider records that a target did not take.", {"target"});
inline constexpr runtime::MetricDecl kRepublishLag = runtime::declare_gauge(
    "index_republish_lag_seconds",
    "By how much the record that has waited longest is past its time to be published again; 0 when "
    "all is in time.");

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
