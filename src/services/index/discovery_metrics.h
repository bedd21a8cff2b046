// The metrics of discovery; part of the table in metric_names.h. `target` is as many as are
// configured.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/meter.h"

namespace ron::index::metrics {

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

}  // namespace ron::index::metrics
