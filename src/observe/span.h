// Spans: where a request's time went, for whoever exports traces. With the NullTracer, the default,
// a span is an empty pointer and every call on it one comparison.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/ulid.h"
#include "observe/field.h"

namespace ron::observe {

// Names a span inside and outside the process (W3C trace context). All zero: no span.
struct SpanContext {
  std::uint64_t trace_id_high = 0;
  std::uint64_t trace_id_low = 0;
  std::uint64_t span_id = 0;

  [[nodiscard]] bool valid() const noexcept {
    return (trace_id_high | trace_id_low) != 0 && span_id != 0;
  }
  friend bool operator==(const SpanContext&, const SpanContext&) = default;
};

enum class SpanStatus : std::uint8_t { kUnset, kOk, kError };

// One span as its tracer keeps it. Used by one thread at a time; destroying it ends the span.
// Values are borrowed for the call only. Nothing here may block.
class SpanRecord {
 public:
  virtual ~SpanRecord() = default;
  [[nodiscard]] virtual SpanContext context() const noexcept = 0;
  virtual void attribute(Key key, const Value& value) noexcept = 0;
  virtual void status(SpanStatus status, std::string_view message) noexcept = 0;
};

// A span's owner: the span ends with it. Move-only; lives with the work it measures.
class [[nodiscard]] Span {
 public:
  Span() = default;
  explicit Span(std::unique_ptr<SpanRecord> record) noexcept : record_(std::move(record)) {}

  [[nodiscard]] bool recording() const noexcept { return record_ != nullptr; }
  // The parent to give to spans below this one.
  [[nodiscard]] SpanContext context() const noexcept {
    return record_ ? record_->context() : SpanContext{};
  }
  void attribute(Key key, const Value& value) noexcept {
    if (record_) record_->attribute(key, value);
  }
  void status(SpanStatus status, std::string_view message = {}) noexcept {
    if (record_) record_->status(status, message);
  }
  void end() noexcept { record_.reset(); }

 private:
  std::unique_ptr<SpanRecord> record_;
};

// Starts spans. Thread-safe; outlives its spans. Clock, ids and sampling are the implementation's.
class Tracer {
 public:
  virtual ~Tracer() = default;
  // An invalid `parent` starts a new trace. A span that is not sampled does not record.
  virtual Span start_span(std::string_view name, const SpanContext& parent,
                          const base::Ulid& corr_id) noexcept = 0;
};

class NullTracer final : public Tracer {
 public:
  Span start_span(std::string_view, const SpanContext&, const base::Ulid&) noexcept override {
    return {};
  }
};

}  // namespace ron::observe
