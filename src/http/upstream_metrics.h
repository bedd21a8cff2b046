// The metrics of upstream groups. `upstream` is a member's name: as many as are configured.
#pragma once

#include <array>
#include <string_view>

#include "runtime/meter.h"

namespace ron::http {

namespace metrics {

// answered: the whole answer came, whatever it says. unavailable: 502, 503 or 504. failed: no
// answer, or one that broke off. abandoned: the client left, wanted its answer sooner than the
// upstream had to give it, or its body failed, which says nothing about the upstream.
inline constexpr std::array<std::string_view, 4> kUpstreamOutcomes = {"answered", "unavailable",
                                                                      "failed", "abandoned"};

inline constexpr runtime::MetricDecl kUpstreamRequestsTotal = runtime::declare_counter(
    "upstream_requests_total", "Requests sent to a member of an upstream group, retries included.",
    {"upstream", {"outcome", kUpstreamOutcomes}});
inline constexpr runtime::MetricDecl kUpstreamEjectionsTotal = runtime::declare_counter(
    "upstream_ejections_total", "Times a member was left alone after failures in a row.",
    {"upstream"});
inline constexpr runtime::MetricDecl kUpstreamReturnsTotal = runtime::declare_counter(
    "upstream_returns_total", "Times a member was used again after an ejection.", {"upstream"});
inline constexpr runtime::MetricDecl kUpstreamHealthy = runtime::declare_gauge(
    "upstream_healthy",
    "1 while a member is neither ejected nor down by its health probes, else 0.", {"upstream"});
inline constexpr runtime::MetricDecl kUpstreamProbeFailuresTotal = runtime::declare_counter(
    "upstream_probe_failures_total", "Health probes without an answer below 500.", {"upstream"});
inline constexpr runtime::MetricDecl kUpstreamRetriesDeniedTotal = runtime::declare_counter(
    "upstream_retries_denied_total",
    "Failed requests that were not sent again because the retry budget was used up.", {"upstream"});

inline constexpr std::array kUpstream = {
    &kUpstreamRequestsTotal, &kUpstreamEjectionsTotal,     &kUpstreamReturnsTotal,
    &kUpstreamHealthy,       &kUpstreamProbeFailuresTotal, &kUpstreamRetriesDeniedTotal};

}  // namespace metrics

// Of one member; looked up once.
struct UpstreamMeters {
  UpstreamMeters(runtime::Meters& meters, std::string_view upstream);
  runtime::Counter& answered;
  runtime::Counter& unavailable;
  runtime::Counter& failed;
  runtime::Counter& abandoned;
  runtime::Counter& ejections;
  runtime::Counter& returns;
  runtime::Gauge& healthy;
  runtime::Counter& probe_failures;
  runtime::Counter& retries_denied;
};

}  // namespace ron::http
