#include "http/request_span.h"

#include <bit>
#include <optional>

#include "http/field_list.h"

namespace ron::http::detail {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

// Nothing if it came twice: one of them is not the client's.
std::optional<observe::TraceParent> trace_parent_of(const RequestHead& head) noexcept {
  std::optional<std::string_view> found;
  for (const Field& field : head.fields()) {
    if (!iequals(field.name, "traceparent")) continue;
    if (found) return std::nullopt;
    found = field.value;
  }
  return found ? observe::parse_trace_parent(*found) : std::nullopt;
}

// Not zero, which would mean none.
observe::SpanId new_span_id(platform::FastRandom& random) noexcept {
  return std::bit_cast<observe::SpanId>(random.next() | 1);
}

observe::TraceId new_trace_id(platform::FastRandom& random) noexcept {
  return std::bit_cast<observe::TraceId>(std::array{random.next() | 1, random.next()});
}

}  // namespace

void record_wanted_span(LoopContext& loop, const Request& request, const Response& response,
                        base::Duration took) {
  const std::optional<observe::TraceParent> parent = trace_parent_of(*request.head);
  observe::Span span;
  span.span_id = new_span_id(loop.random);
  if (parent && parent->sampled) {
    span.trace_id = parent->trace_id;
    span.parent_id = parent->parent_id;
  } else {
    span.trace_id = new_trace_id(loop.random);
  }
  // The wall clock counts milliseconds; how long it took is known better than when.
  span.end_unix_ns = loop.clock.unix_ms() * kNsPerMs;
  span.start_unix_ns = span.end_unix_ns - took.count();
  span.method = method_name(request.head->method);
  if (request.route != nullptr) span.route = request.route->pattern;
  span.error_code = response.error_code;
  span.status = response.status;
  span.corr_id = request.corr_id;
  loop.spans->record(span);
}

}  // namespace ron::http::detail
