// SpanQueue: finished spans on their way to an exporter.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>

#include "observe/span.h"
#include "observe/span_metrics.h"
#include "runtime/mpsc.h"

namespace ron::observe {

// Any core records, one exporter takes. A request never waits for the exporter and never wakes it:
// a full queue drops its oldest span, counted in otel_spans_dropped_total, and the exporter looks
// by itself. While it is off, asking costs one load. Built from a declaration like every channel.
class SpanQueue {
 public:
  SpanQueue(runtime::Topology& topology, const runtime::ChannelDecl& decl)
      : spans_(topology, decl, decl.capacity),
        dropped_(topology.meters().counter(metrics::kSpansDroppedTotal)) {}

  // Spans are wanted. Off at first.
  [[nodiscard]] bool enabled() const noexcept { return enabled_.load(std::memory_order_relaxed); }
  void set_enabled(bool enabled) noexcept { enabled_.store(enabled, std::memory_order_relaxed); }

  void record(const Span& span) {
    const auto sent = spans_.try_send(span);
    if (!sent || *sent == runtime::Sent::DroppedOldest) dropped_.add();
  }

  // The exporter's side.
  std::optional<Span> try_take() { return spans_.try_recv(); }
  [[nodiscard]] std::size_t depth() const noexcept { return spans_.depth(); }

 private:
  std::atomic<bool> enabled_ = false;
  runtime::Mpsc<Span> spans_;
  runtime::Counter& dropped_;
};

}  // namespace ron::observe
