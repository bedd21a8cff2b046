#include "http/request_span.h"

#include <array>
#include <string>
#include <vector>

#include "base/encoding.h"
#include "http/test_support.h"

namespace ron::http {
namespace {

using namespace test;

constexpr std::array kChannels = {runtime::ChannelDecl{"spans", runtime::ChannelKind::Mpsc, 16,
                                                       runtime::Overflow::DropOldest, "listener",
                                                       "test", "the oldest are lost", ""}};
constexpr runtime::Wires kWires{"svc-test", {}, kChannels, {}};

constexpr std::string_view kTrace = "0af7651916cd43dd8448eb211c80319c";
constexpr std::string_view kParent = "b7ad6b7169203331";
constexpr std::string_view kSampled =
    "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";

class RequestSpanTest : public ServerTest {
 protected:
  void SetUp() override {
    make();
    server_->get("/hello/{name}", hello);
    server_->get("/slow", slow);
    server_->add(Method::Put, "/echo", echo);
    server_->server.trace(spans_);
    start();
    spans_.set_enabled(true);
  }
  observe::Span ask(std::string_view line, std::string_view fields = {},
                    std::string_view body = {}) {
    std::string text(line);
    text.append(" HTTP/1.1\r\nHost: x\r\n").append(fields).append("\r\n").append(body);
    answer_ = connect()->ask(text);
    const auto span = spans_.try_take();
    EXPECT_TRUE(span);
    EXPECT_FALSE(spans_.try_take()) << "one for each request";
    return span.value_or(observe::Span());
  }

  runtime::Meters meters_{"svc-test"};
  runtime::Topology topology_{kWires, meters_};
  observe::SpanQueue spans_{topology_, kChannels[0]};
  Answer answer_;
};

TEST_F(RequestSpanTest, SaysWhatWasAskedAndAnswered) {
  const observe::Span span = ask("GET /hello/world?q=secret");
  EXPECT_EQ(span.method, "GET");
  EXPECT_EQ(span.route, "/hello/{name}") << "the pattern, not the path";
  EXPECT_EQ(span.status, 200);
  EXPECT_EQ(span.error_code, "");
  EXPECT_TRUE(answer_.says("X-Corr-ID: " + std::string(span.corr_id.text()))) << answer_.head;
}

TEST_F(RequestSpanTest, LastsAsLongAsTheRequest) {
  const observe::Span span = ask("GET /slow");
  EXPECT_GE(span.end_unix_ns - span.start_unix_ns, std::chrono::nanoseconds(10s).count());
  const std::int64_t now_ns = world_.unix_ms() * 1'000'000;
  EXPECT_LE(span.end_unix_ns, now_ns);
  EXPECT_GE(span.end_unix_ns, now_ns - 10'000'000);
}

TEST_F(RequestSpanTest, JoinsTheTraceOfItsClient) {
  const observe::Span span = ask("GET /hello/world", kSampled);
  EXPECT_EQ(base::to_hex(span.trace_id), kTrace);
  EXPECT_EQ(base::to_hex(span.parent_id), kParent);
  EXPECT_NE(base::to_hex(span.span_id), kParent);
  const observe::Span put =
      ask("PUT /echo", std::string(kSampled) + "Content-Length: 5\r\n", "body!");
  EXPECT_EQ(base::to_hex(put.trace_id), kTrace) << "also behind a body";
  EXPECT_NE(put.span_id, span.span_id);
}

TEST_F(RequestSpanTest, BeginsATraceOfItsOwnOtherwise) {
  const std::vector<std::string> given = {
      "",
      "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00\r\n",
      "traceparent: 00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01\r\n",
      "traceparent: nonsense\r\n",
      std::string(kSampled) + std::string(kSampled),
  };
  observe::TraceId before{};
  for (const std::string& fields : given) {
    const observe::Span span = ask("GET /hello/world", fields);
    EXPECT_NE(base::to_hex(span.trace_id), kTrace) << fields;
    EXPECT_NE(span.trace_id, observe::TraceId{});
    EXPECT_NE(span.trace_id, before);
    EXPECT_EQ(span.parent_id, observe::SpanId{});
    EXPECT_NE(span.span_id, observe::SpanId{});
    before = span.trace_id;
  }
}

TEST_F(RequestSpanTest, RefusalsHaveOne) {
  const observe::Span unknown = ask("GET /nowhere/secret");
  EXPECT_EQ(unknown.route, "") << "a path is a client's word";
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.error_code, "NotFound");
  const observe::Span method = ask("BREW /hello/world");
  EXPECT_EQ(method.method, "");
  EXPECT_EQ(method.status, 501);
  const observe::Span bad = ask("GET /hello/world", "bad line\r\n");
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(bad.error_code, "Malformed");
}

TEST_F(RequestSpanTest, ARequestOfAnotherServiceOfTheProcessHasOne) {
  TestServer front(world_, node_);
  front.get("/{rest...}", [this](Request* request) { return server_->server.call(request); });
  endpoint_ = front.start(81);
  const observe::Span span = ask("GET /hello/world", kSampled);
  EXPECT_EQ(span.route, "/hello/{name}");
  EXPECT_EQ(base::to_hex(span.trace_id), kTrace);
  EXPECT_EQ(ask("GET /nowhere").status, 404);
}

TEST_F(RequestSpanTest, NothingIsRecordedUnlessItIsWanted) {
  spans_.set_enabled(false);
  const Answer answer = connect()->ask("GET /hello/world HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(spans_.depth(), 0U);
}

}  // namespace
}  // namespace ron::http
