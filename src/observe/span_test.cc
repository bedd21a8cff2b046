#include "observe/span.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ron::observe {
namespace {

// Writes down what happens to its spans, in order.
class RecordingTracer final : public Tracer {
 public:
  Span start_span(std::string_view name, const SpanContext& parent,
                  const base::Ulid&) noexcept override {
    events.push_back("start " + std::string(name) + " below " + std::to_string(parent.span_id));
    return Span(std::make_unique<Record>(*this, ++last_id_));
  }
  std::vector<std::string> events;

 private:
  class Record final : public SpanRecord {
   public:
    Record(RecordingTracer& tracer, std::uint64_t id) : tracer_(tracer), id_(id) {}
    ~Record() override { tracer_.events.push_back("end " + std::to_string(id_)); }
    SpanContext context() const noexcept override { return {0, 1, id_}; }
    void attribute(Key key, const Value& value) noexcept override {
      tracer_.events.push_back(std::string(key.text()) + "=" + std::string(value.text()));
    }
    void status(SpanStatus, std::string_view message) noexcept override {
      tracer_.events.push_back("status " + std::string(message));
    }

   private:
    RecordingTracer& tracer_;
    std::uint64_t id_;
  };
  std::uint64_t last_id_ = 0;
};

TEST(Span, EndsWithItsOwnerAndNamesItsChildrensParent) {
  RecordingTracer tracer;
  {
    Span outer = tracer.start_span("get", {}, base::Ulid());
    Span inner = tracer.start_span("disk", outer.context(), base::Ulid());
    inner.attribute("volume", "a");
    inner.status(SpanStatus::kError, "torn");
  }
  EXPECT_EQ(tracer.events, (std::vector<std::string>{"start get below 0", "start disk below 1",
                                                     "volume=a", "status torn", "end 2", "end 1"}));
}

TEST(Span, MovedSpanEndsOnce) {
  RecordingTracer tracer;
  Span first = tracer.start_span("get", {}, base::Ulid());
  Span second = std::move(first);
  second.end();
  second.end();
  EXPECT_EQ(tracer.events, (std::vector<std::string>{"start get below 0", "end 1"}));
}

TEST(NullTracer, SpansDoNotRecord) {
  NullTracer tracer;
  Span span = tracer.start_span("get", {}, base::Ulid());
  span.attribute("volume", "a");
  span.status(SpanStatus::kOk);
  EXPECT_FALSE(span.recording());
  EXPECT_FALSE(span.context().valid());
}

}  // namespace
}  // namespace ron::observe
