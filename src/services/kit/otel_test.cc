#include "services/kit/otel.h"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/value.h"
#include "http/test_support.h"
#include "services/kit/wires.h"

namespace ron::kit {
namespace {

using namespace http::test;
using base::Value;
using http::Method;
using http::Request;
using http::Response;

constexpr auto kTasks = all_tasks(kOtelTask);
constexpr auto kChannels = all_channels(kSpansChannel, kCollectorChannel);
constexpr runtime::Wires kWires{"svc-test", kTasks, kChannels, {}};
constexpr std::size_t kQueue = kSpansChannel.capacity;
constexpr std::size_t kBatch = OtelExporter::kBatchSpans;

const Value* at(const Value* from, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (from != nullptr) from = from->find(key);
    if (from != nullptr && from->array() != nullptr && !from->array()->empty() &&
        key != "attributes" && key != "spans") {
      from = &from->array()->front();
    }
  }
  return from;
}

// The value of an attribute, as text.
std::string attribute(const Value* attributes, std::string_view key) {
  if (attributes == nullptr || attributes->array() == nullptr) return "none";
  for (const Value& each : *attributes->array()) {
    if (each.find("key") == nullptr || *each.find("key")->text() != key) continue;
    const Value* const value = each.find("value");
    for (const char* kind : {"stringValue", "intValue"}) {
      if (value != nullptr && value->find(kind) != nullptr) return *value->find(kind)->text();
    }
  }
  return "none";
}

// A collector that does what it is told.
class TestCollector {
 public:
  using Say = std::function<Response()>;

  TestCollector(sim::World& world, sim::Node& node, std::uint16_t port)
      : server_(world, node, settings()), node_(node), port_(port) {
    server_.add(Method::Post, "/v1/traces",
                [this](Request* request) { return take(this, request); });
    server_.start(port);
  }

  [[nodiscard]] std::string url() const { return "http://" + node_.endpoint(port_).text(); }
  [[nodiscard]] std::size_t spans() const {
    std::size_t sum = 0;
    for (const std::size_t size : sizes) sum += size;
    return sum;
  }

  Say say = [] { return Response::json(200, "{}"); };
  bool hangs = false;
  std::size_t asked = 0;
  std::vector<Value> batches;      // those it took
  std::vector<std::size_t> sizes;  // spans in each
  std::vector<TimePoint> times;    // of every request
  std::string content_type;

 private:
  static http::ServerSettings settings() {
    http::ServerSettings made = test_settings();
    made.max_body_bytes = {4 * base::kMiB};
    made.request_deadline = 10min;
    return made;
  }
  static Task<Response> take(TestCollector* self, Request* request) {
    ++self->asked;
    self->times.push_back(platform::Executor::current()->now());
    self->content_type = request->head->find("Content-Type").value_or("");
    const auto body = co_await request->body->read_all();
    EXPECT_TRUE(body);
    while (self->hangs) co_await runtime::sleep_for(1s);
    Response response = self->say();
    if (response.status == 200) {
      auto document = base::parse_json(base::as_text(body->view()));
      EXPECT_TRUE(document) << document.error().message;
      const Value* const spans = at(&*document, {"resourceSpans", "scopeSpans", "spans"});
      self->sizes.push_back(spans->array()->size());
      self->batches.push_back(std::move(*document));
    }
    co_return response;
  }

  TestServer server_;
  sim::Node& node_;
  const std::uint16_t port_;
};

class OtelTest : public ServerTest {
 protected:
  void SetUp() override {
    make();
    server_->get("/hello/{name}", hello);
    server_->server.trace(otel_.spans());
    start();
    run_.emplace(node_.core(), otel_.run(stop_));
  }
  void TearDown() override { run_.reset(); }

  // An exact number of spans, as if that many requests had been answered now.
  void record(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      observe::Span span;
      span.trace_id[0] = span.span_id[0] = std::byte{1};
      span.method = "GET";
      span.route = "/hello/{name}";
      span.status = 200;
      otel_.spans().record(span);
    }
  }
  int ask(std::string_view fields = {}) {
    std::string text = "GET /hello/world HTTP/1.1\r\nHost: x\r\n";
    return connect()->ask(text.append(fields).append("\r\n")).status;
  }
  [[nodiscard]] std::size_t exported() const { return read("otel_spans_exported_total"); }
  [[nodiscard]] std::size_t dropped() const { return read("otel_spans_dropped_total"); }
  [[nodiscard]] std::size_t failures() const { return read("otel_export_failures_total"); }
  [[nodiscard]] std::size_t read(std::string_view name) const {
    return static_cast<std::size_t>(reading(meters_, name));
  }
  void run_until(const std::function<bool()>& holds) {
    ASSERT_EQ(world_.run_until(holds, 10min), sim::Outcome::Done);
  }
  std::string log() {
    CapturedLog sink;
    hub_.drain(sink);
    return sink.text;
  }

  sim::Node& elsewhere_ = world_.add_node();
  runtime::Meters meters_{"svc-test"};
  runtime::Topology topology_{kWires, meters_};
  observe::LogHub hub_{{.unix_ms = [] { return std::int64_t{0}; }}};
  OtelExporter otel_{{node_.host(), &topology_, nullptr, observe::Log(hub_, meters_)}};
  TestCollector collector_{world_, elsewhere_, 4318};
  runtime::Shutdown stop_;
  std::optional<Root> run_;
};

TEST_F(OtelTest, ARequestIsASpanAtTheCollector) {
  otel_.apply(true, collector_.url());
  EXPECT_EQ(ask("traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n"), 200);
  run_until([&] { return collector_.asked == 1 && exported() == 1; });
  EXPECT_EQ(collector_.content_type, "application/json");
  const Value* const document = &collector_.batches.at(0);
  const Value* const resource = at(document, {"resourceSpans", "resource", "attributes"});
  EXPECT_EQ(attribute(resource, "service.name"), "svc-test");
  EXPECT_NE(attribute(resource, "service.version"), "none");
  EXPECT_EQ(attribute(resource, "service.instance.id").size(), 26U);
  const Value* const spans = at(document, {"resourceSpans", "scopeSpans", "spans"});
  ASSERT_EQ(spans->array()->size(), 1U);
  const Value& span = spans->array()->front();
  EXPECT_EQ(*span.find("traceId")->text(), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(*span.find("parentSpanId")->text(), "b7ad6b7169203331");
  EXPECT_EQ(span.find("spanId")->text()->size(), 16U);
  EXPECT_EQ(*span.find("name")->text(), "GET /hello/{name}");
  EXPECT_EQ(span.find("kind")->unsigned_number(), 2U);
  EXPECT_NE(span.find("startTimeUnixNano")->text(), nullptr);
  EXPECT_NE(span.find("endTimeUnixNano")->text(), nullptr);
  EXPECT_EQ(attribute(span.find("attributes"), "http.route"), "/hello/{name}");
  EXPECT_EQ(attribute(span.find("attributes"), "http.response.status_code"), "200");
  EXPECT_EQ(dropped() + failures(), 0U);
}

TEST_F(OtelTest, WhatThereIsGoesEverySecond) {
  otel_.apply(true, collector_.url());
  world_.run_for(10ms);
  const TimePoint began = world_.now();
  record(3);
  run_until([&] { return exported() == 3; });
  EXPECT_LE(collector_.times.at(0) - began, OtelExporter::kBatchEvery + 10ms);
  world_.run_for(5s);
  EXPECT_EQ(collector_.asked, 1U) << "nothing is not sent";
}

TEST_F(OtelTest, AFullBatchDoesNotWait) {
  otel_.apply(true, collector_.url());
  world_.run_for(10ms);
  const TimePoint began = world_.now();
  record(2 * kBatch + 7);
  run_until([&] { return collector_.asked == 2; });
  EXPECT_LE(collector_.times.at(1) - began, 500ms);
  run_until([&] { return exported() == 2 * kBatch + 7; });
  EXPECT_EQ(collector_.sizes, (std::vector<std::size_t>{kBatch, kBatch, 7}));
}

TEST_F(OtelTest, IsSwitchedOnAndOffWhileItRuns) {
  EXPECT_EQ(ask(), 200);
  world_.run_for(5s);
  EXPECT_EQ(collector_.asked, 0U) << "off at first";
  otel_.apply(true, collector_.url());
  EXPECT_EQ(ask(), 200);
  run_until([&] { return exported() == 1; });
  EXPECT_EQ(ask(), 200);
  otel_.apply(false, collector_.url());
  EXPECT_EQ(ask(), 200);
  world_.run_for(5s);
  EXPECT_EQ(collector_.asked, 1U);
  EXPECT_EQ(dropped(), 1U) << "what had not left";
  TestCollector other(world_, elsewhere_, 4319);
  otel_.apply(true, other.url());
  EXPECT_EQ(ask(), 200);
  run_until([&] { return exported() == 2; });
  EXPECT_EQ(other.asked, 1U);
  EXPECT_EQ(collector_.asked, 1U);
}

TEST_F(OtelTest, ACollectorThatHangsSlowsNobodyAndCostsABoundedQueue) {
  otel_.apply(true, collector_.url());
  collector_.hangs = true;
  for (int i = 0; i < 20; ++i) {
    record(kQueue / 2);
    const TimePoint began = world_.now();
    EXPECT_EQ(ask(), 200);
    EXPECT_LE(world_.now() - began, 4 * kTrip) << "a connection and an answer";
    EXPECT_LE(otel_.spans().depth(), kQueue);
    world_.run_for(1s);
  }
  EXPECT_EQ(exported(), 0U);
  EXPECT_GT(failures(), 0U);
  // All but the queue and the batch at hand.
  EXPECT_GE(dropped(), 20 * (kQueue / 2 + 1) - kQueue - kBatch);
  collector_.hangs = false;
  const std::size_t all = 20 * (kQueue / 2 + 1);
  run_until([&] { return exported() + dropped() == all; });
  world_.run_for(1min);
  EXPECT_EQ(exported() + dropped(), all) << "each counted once";
  EXPECT_GE(exported(), kQueue);
}

TEST_F(OtelTest, ACollectorThatIsNotThereIsAskedAFewTimesPerBatch) {
  otel_.apply(true, "http://" + elsewhere_.endpoint(9).text());
  record(5);
  EXPECT_EQ(ask(), 200);
  run_until([&] { return dropped() == 6; });
  EXPECT_EQ(failures(), OtelExporter::kTries);
  EXPECT_EQ(exported(), 0U);
  EXPECT_NE(log().find("cannot export spans"), std::string::npos);
}

TEST_F(OtelTest, WhatIsUnavailableIsTriedAgainWhenItAsksFor) {
  int answers = 0;
  collector_.say = [&answers] {
    if (++answers > 2) return Response::json(200, "{}");
    Response response(503);
    response.add("Retry-After", "9");
    return response;
  };
  otel_.apply(true, collector_.url());
  record(5);
  run_until([&] { return exported() == 5; });
  EXPECT_EQ(failures(), 2U);
  EXPECT_EQ(dropped(), 0U);
  EXPECT_GE(collector_.times.at(1) - collector_.times.at(0), 9s);
}

TEST_F(OtelTest, NobodyWaitsForHours) {
  collector_.say = [] {
    Response response(429);
    response.add("Retry-After", "99999999999");
    return response;
  };
  otel_.apply(true, collector_.url());
  record(5);
  run_until([&] { return dropped() == 5; });
  EXPECT_LE(collector_.times.back() - collector_.times.front(),
            OtelExporter::kTries * OtelExporter::kMostPatience);
}

TEST_F(OtelTest, WhatTheCollectorRefusesIsNotTriedAgain) {
  for (const int status : {400, 401, 404, 413, 500, 301}) {
    collector_.say = [status] { return Response(status); };
    const std::size_t before = dropped();
    const std::size_t failed = failures();
    otel_.apply(true, collector_.url());
    record(5);
    run_until([&] { return dropped() == before + 5; });
    EXPECT_EQ(failures(), failed + 1) << status;
  }
  EXPECT_EQ(exported(), 0U);
}

TEST_F(OtelTest, SpansRejectedFromABatchAreDropped) {
  collector_.say = [] {
    return Response::json(200, R"({"partialSuccess":{"rejectedSpans":"2","errorMessage":"no"}})");
  };
  otel_.apply(true, collector_.url());
  record(5);
  run_until([&] { return exported() == 3; });
  EXPECT_EQ(dropped(), 2U);
  EXPECT_EQ(failures(), 0U);
}

TEST_F(OtelTest, ANewCollectorGetsTheBatchThatFailed) {
  otel_.apply(true, "http://" + elsewhere_.endpoint(9).text());
  record(5);
  run_until([&] { return failures() == 1; });
  otel_.apply(true, collector_.url());
  run_until([&] { return exported() == 5; });
  EXPECT_EQ(dropped(), 0U);
}

TEST_F(OtelTest, AStopSendsWhatThereIs) {
  otel_.apply(true, collector_.url());
  world_.run_for(10ms);
  record(kBatch + 3);
  stop_.trigger(runtime::StopReason::Signal);
  const TimePoint began = world_.now();
  run_until([&] { return run_->done(); });
  EXPECT_LT(world_.now() - began, 100ms);
  EXPECT_EQ(exported(), kBatch + 3);
}

TEST_F(OtelTest, AStopDoesNotWaitForACollectorThatHangs) {
  otel_.apply(true, collector_.url());
  collector_.hangs = true;
  record(3 * kBatch);
  run_until([&] { return collector_.asked == 1; });
  stop_.trigger(runtime::StopReason::Signal);
  const TimePoint began = world_.now();
  run_until([&] { return run_->done(); });
  EXPECT_LE(world_.now() - began, OtelExporter::kLastPosts + 10ms);
  EXPECT_EQ(dropped(), 3 * kBatch);
}

TEST_F(OtelTest, AnEndpointThatMakesNoSenseIsSaidAndRecordsNothing) {
  otel_.apply(true, "collector:4318/path?x");
  EXPECT_FALSE(otel_.spans().enabled());
  EXPECT_NE(log().find("spans are not exported"), std::string::npos);
  EXPECT_EQ(ask(), 200);
  EXPECT_EQ(otel_.spans().depth(), 0U);
}

TEST(Collector, IsWrittenAsAUrlWithOrWithoutItsPath) {
  struct Row {
    std::string_view endpoint;
    std::string_view url;
    std::string_view target;
  };
  for (const Row& row : {
           Row{"http://127.0.0.1:4318", "http://127.0.0.1:4318", "/v1/traces"},
           Row{"http://127.0.0.1:4318/", "http://127.0.0.1:4318", "/v1/traces"},
           Row{"http://127.0.0.1:4318/v1/traces", "http://127.0.0.1:4318", "/v1/traces"},
           Row{"https://otel.example/in/v1/traces?k=v", "https://otel.example:443",
               "/in/v1/traces?k=v"},
           Row{"unix:/run/otel.sock", "unix:/run/otel.sock", "/v1/traces"},
       }) {
    const auto collector = Collector::parse(row.endpoint);
    ASSERT_TRUE(collector) << row.endpoint << ": " << collector.error().message;
    EXPECT_EQ(collector->address.url(), row.url);
    EXPECT_EQ(collector->target, row.target);
  }
  for (const char* endpoint :
       {"", "collector:4318", "ftp://x/v1/traces", "http://", "http:///v1/traces", "unix:relative",
        "http://x/a b", "http://x/a#b", "http://x/a\r\nb", "http://user:secret@x/v1/traces"}) {
    EXPECT_FALSE(Collector::parse(endpoint)) << endpoint;
  }
}

TEST_F(OtelTest, AnotherPathIsAskedIfItIsGiven) {
  otel_.apply(true, collector_.url() + "/nowhere");
  record(2);
  run_until([&] { return failures() == 1; });
  EXPECT_EQ(dropped(), 2U) << "404";
  otel_.apply(true, collector_.url() + "/v1/traces");
  record(2);
  run_until([&] { return exported() == 2; });
}

TEST_F(OtelTest, TheTopologyShowsTheQueue) {
  record(4);
  EXPECT_NE(runtime::to_json(topology_).find(R"("live":[{"capacity":2048,"depth":4}])"),
            std::string::npos);
}

}  // namespace
}  // namespace ron::kit
