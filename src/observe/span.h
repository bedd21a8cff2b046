// Span: one request as a trace sees it, and batches of them as OTLP/JSON.
//
// The names are those of OpenTelemetry's conventions for HTTP servers; the document is the JSON
// mapping of opentelemetry-proto 1.x: ids in lower-case hex, 64-bit numbers as text, enums as
// numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/ulid.h"
#include "observe/trace_parent.h"

namespace ron::observe {

// A finished span. A plain value of fixed size: its texts are constants or the patterns of routes,
// which outlive every span of their service.
struct Span {
  TraceId trace_id{};
  SpanId span_id{};
  SpanId parent_id{};  // zero: the first span of its trace
  std::int64_t start_unix_ns = 0;
  std::int64_t end_unix_ns = 0;
  std::string_view method;      // `GET`; empty: not one of those we know
  std::string_view route;       // the pattern, never the path; empty: no route took the request
  std::string_view error_code;  // of the envelope; empty: no error
  int status = 0;
  base::Ulid corr_id;
};

// Who made the spans of a batch.
struct SpanResource {
  std::string_view service;  // `svc-registry`
  std::string_view version;
  std::string_view instance;  // another one with each start
};

// An ExportTraceServiceRequest.
std::string render_otlp(const SpanResource& resource, std::span<const Span> spans);

}  // namespace ron::observe
