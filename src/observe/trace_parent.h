// The `traceparent` request field (W3C Trace Context): which trace a request is part of, and which
// span of its client it belongs to.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace ron::observe {

using TraceId = std::array<std::byte, 16>;
using SpanId = std::array<std::byte, 8>;

struct TraceParent {
  TraceId trace_id{};
  SpanId parent_id{};
  bool sampled = false;  // its client records the trace
};

// Version 00 and nothing else: 55 characters, lower-case hex, neither id zero. Whoever sends
// something else is treated as if it had sent nothing.
[[nodiscard]] std::optional<TraceParent> parse_trace_parent(std::string_view text) noexcept;

}  // namespace ron::observe
