// The metrics of the HTTP client, the same in every service.
#pragma once

#include <array>
#include <string_view>

#include "runtime/meter.h"

namespace ron::http {

namespace metrics {

inline constexpr std::array<std::string_view, 2> kClientStates = {"active", "idle"};
inline constexpr std::array<std::string_view, 7> kUpstreamErrorKinds = {
    "resolve", "connect", "timeout", "closed", "malformed", "busy", "canceled"};

inline constexpr runtime::MetricDecl kClientConnections = runtime::declare_gauge(
    "http_client_connections", "Connections to upstreams open now.", {{"state", kClientStates}});
inline constexpr runtime::MetricDecl kUpstreamErrorsTotal = runtime::declare_counter(
    "upstream_errors_total",
    "What went wrong with requests to upstreams, each address that was tried in vain included.",
    {{"kind", kUpstreamErrorKinds}});
inline constexpr runtime::MetricDecl kStaleRetriesTotal =
    runtime::declare_counter("upstream_stale_retries_total",
                             "Requests sent again because a kept connection had died unnoticed.");

inline constexpr std::array kClient = {&kClientConnections, &kUpstreamErrorsTotal,
                                       &kStaleRetriesTotal};

}  // namespace metrics

// Looked up once per client. The clients of all cores count into the same series.
struct ClientMeters {
  explicit ClientMeters(runtime::Meters& meters);
  runtime::Gauge& active;
  runtime::Gauge& idle;
  runtime::Counter& resolve_errors;
  runtime::Counter& connect_errors;
  runtime::Counter& timeouts;
  runtime::Counter& closed;
  runtime::Counter& malformed;
  runtime::Counter& busy;
  runtime::Counter& canceled;
  runtime::Counter& stale_retries;
  runtime::Counter& connect_timeouts;
  runtime::Counter& read_timeouts;
  runtime::Counter& write_timeouts;
};

}  // namespace ron::http
