#include "observe/span.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "observe/span_queue.h"

namespace ron::observe {
namespace {

template <std::size_t kBytes>
std::array<std::byte, kBytes> id_of(unsigned char first) {
  std::array<std::byte, kBytes> id{};
  for (std::size_t i = 0; i < kBytes; ++i) id[i] = static_cast<std::byte>(first + i);
  return id;
}

Span served() {
  return {.trace_id = id_of<16>(0x0a),
          .span_id = id_of<8>(0xf0),
          .parent_id = id_of<8>(0x01),
          .start_unix_ns = 1'544'712'660'000'000'123,
          .end_unix_ns = 1'544'712'661'000'000'000,
          .method = "GET",
          .route = "/registry/entries/{version}",
          .error_code = {},
          .status = 200,
          .corr_id = *base::Ulid::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV")};
}

TEST(Span, ABatchIsAnOtlpDocument) {
  Span failed = served();
  failed.parent_id = {};
  failed.method = {};
  failed.route = {};
  failed.status = 503;
  failed.error_code = "Degraded";
  const std::array spans = {served(), failed};
  const std::string expected =
      R"({"resourceSpans":[{"resource":{"attributes":[)"
      R"({"key":"service.name","value":{"stringValue":"svc-registry"}},)"
      R"({"key":"service.version","value":{"stringValue":"1.2.3"}},)"
      R"({"key":"service.instance.id","value":{"stringValue":"a \"quoted\" one"}}]},)"
      R"("scopeSpans":[{"scope":{"name":"ron.http"},"spans":[)"
      R"({"traceId":"0a0b0c0d0e0f10111213141516171819","spanId":"f0f1f2f3f4f5f6f7",)"
      R"("parentSpanId":"0102030405060708","name":"GET /registry/entries/{version}","kind":2,)"
      R"("startTimeUnixNano":"1544712660000000123","endTimeUnixNano":"1544712661000000000",)"
      R"("attributes":[{"key":"http.request.method","value":{"stringValue":"GET"}},)"
      R"({"key":"http.route","value":{"stringValue":"/registry/entries/{version}"}},)"
      R"({"key":"http.response.status_code","value":{"intValue":"200"}},)"
      R"({"key":"ron.corr_id","value":{"stringValue":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}}],)"
      R"("status":{}},)"
      R"({"traceId":"0a0b0c0d0e0f10111213141516171819","spanId":"f0f1f2f3f4f5f6f7",)"
      R"("name":"HTTP","kind":2,)"
      R"("startTimeUnixNano":"1544712660000000123","endTimeUnixNano":"1544712661000000000",)"
      R"("attributes":[{"key":"http.request.method","value":{"stringValue":"_OTHER"}},)"
      R"({"key":"http.response.status_code","value":{"intValue":"503"}},)"
      R"({"key":"error.type","value":{"stringValue":"Degraded"}},)"
      R"({"key":"ron.corr_id","value":{"stringValue":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}}],)"
      R"("status":{"code":2}}]}]}]})";
  EXPECT_EQ(render_otlp({"svc-registry", "1.2.3", "a \"quoted\" one"}, spans), expected);
}

TEST(Span, WhatAClientDidWrongIsNoErrorOfTheServer) {
  Span refused = served();
  refused.status = 404;
  refused.error_code = "NotFound";
  const std::string text = render_otlp({}, {&refused, 1});
  EXPECT_NE(text.find(R"("status":{})"), std::string::npos);
  EXPECT_NE(text.find(R"({"key":"error.type","value":{"stringValue":"NotFound"}})"),
            std::string::npos);
}

constexpr std::array kChannels = {runtime::ChannelDecl{"spans", runtime::ChannelKind::Mpsc, 4,
                                                       runtime::Overflow::DropOldest, "listener",
                                                       "exporter", "the oldest are lost", ""}};
constexpr runtime::Wires kWires{"svc-test", {}, kChannels, {}};

TEST(SpanQueue, DropsTheOldestAndCountsThem) {
  runtime::Meters meters("svc-test");
  runtime::Topology topology(kWires, meters);
  SpanQueue queue(topology, kChannels[0]);
  EXPECT_FALSE(queue.enabled());
  for (int status = 1; status <= 7; ++status) {
    Span span = served();
    span.status = status;
    queue.record(span);
  }
  EXPECT_EQ(queue.depth(), 4U);
  EXPECT_EQ(meters.counter(metrics::kSpansDroppedTotal).value(), 3U);
  for (int status = 4; status <= 7; ++status) EXPECT_EQ(queue.try_take()->status, status);
  EXPECT_FALSE(queue.try_take());
}

}  // namespace
}  // namespace ron::observe
