// The metrics of exported spans, the same in every service that exports them.
#pragma once

#include <array>

#include "runtime/meter.h"

namespace ron::observe::metrics {

inline constexpr runtime::MetricDecl kSpansExportedTotal =
    runtime::declare_counter("otel_spans_exported_total", "Spans that the collector has accepted.");
inline constexpr runtime::MetricDecl kSpansDroppedTotal = runtime::declare_counter(
    "otel_spans_dropped_total",
    "Spans given up: their queue was full, or the collector did not take them.");
inline constexpr runtime::MetricDecl kExportFailuresTotal = runtime::declare_counter(
    "otel_export_failures_total",
    "Batches of spans that the collector refused or did not answer, each try counted.");

inline constexpr std::array kSpans = {&kSpansExportedTotal, &kSpansDroppedTotal,
                                      &kExportFailuresTotal};

}  // namespace ron::observe::metrics
