// The metrics of the HTTP server, the same in every service.
#pragma once

#include <array>
#include <string_view>

#include "runtime/meter.h"

namespace ron::http::metrics {

namespace detail {
inline constexpr std::uint64_t kUs = 1'000;
inline constexpr std::uint64_t kMs = 1'000'000;
}  // namespace detail

inline constexpr std::array<std::uint64_t, 16> kRequestBounds = {
    50 * detail::kUs,  100 * detail::kUs,  250 * detail::kUs,  500 * detail::kUs,
    1 * detail::kMs,   2 * detail::kMs,    5 * detail::kMs,    10 * detail::kMs,
    25 * detail::kMs,  50 * detail::kMs,   100 * detail::kMs,  250 * detail::kMs,
    500 * detail::kMs, 1000 * detail::kMs, 5000 * detail::kMs, 30000 * detail::kMs};

inline constexpr runtime::MetricDecl kRequestsTotal = runtime::declare_counter(
    "http_requests_total", "Requests answered, by route and status.", {"endpoint", "code"});
inline constexpr runtime::MetricDecl kRequestSeconds = runtime::declare_histogram(
    "http_request_duration_seconds", "Time from a request's head to the last byte of its answer.",
    runtime::MetricUnit::kSeconds, kRequestBounds, {"endpoint"});
inline constexpr runtime::MetricDecl kConnections =
    runtime::declare_gauge("http_connections", "Connections open now.");
inline constexpr runtime::MetricDecl kInflight =
    runtime::declare_gauge("http_inflight_requests", "Requests being worked on now.");
inline constexpr runtime::MetricDecl kConnectionsTotal =
    runtime::declare_counter("http_connections_total", "Connections accepted.");
inline constexpr runtime::MetricDecl kSentBytesTotal = runtime::declare_counter(
    "http_sent_bytes_total", "Body bytes of answers that were sent whole.");
inline constexpr runtime::MetricDecl kAcceptFailuresTotal = runtime::declare_counter(
    "http_accept_failures_total",
    "Connections the kernel could not hand over, for lack of descriptors.");

inline constexpr std::array<std::string_view, 2> kCancelReasons = {"client-gone", "deadline"};
inline constexpr runtime::MetricDecl kCanceledTotal = runtime::declare_counter(
    "http_canceled_total",
    "Requests whose work was dropped: their client left, or their deadline passed.",
    {{"reason", kCancelReasons}});
inline constexpr runtime::MetricDecl kEventStreams =
    runtime::declare_gauge("http_event_streams", "Event streams open now.");
inline constexpr std::array<std::string_view, 2> kFullStreams = {"all", "share"};
inline constexpr runtime::MetricDecl kEventStreamsRefusedTotal = runtime::declare_counter(
    "http_event_streams_refused_total",
    "Event streams refused because all places, or those of one tenant or address, were taken.",
    {{"full", kFullStreams}});

inline constexpr std::array kAll = {
    &kRequestsTotal,    &kRequestSeconds,          &kConnections,         &kInflight,
    &kConnectionsTotal, &kSentBytesTotal,          &kAcceptFailuresTotal, &kCanceledTotal,
    &kEventStreams,     &kEventStreamsRefusedTotal};

}  // namespace ron::http::metrics
