#include "http/response_writer.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "http/test_support.h"
#include "runtime/oneshot.h"

namespace ron::http {
namespace {

using namespace test;

Task<Response> streamed(std::deque<std::string> pieces) {
  Response response(200);
  response.body = StreamedBody{std::make_unique<ListSource>(std::move(pieces))};
  co_return response;
}

Task<Response> sized(std::deque<std::string> pieces, std::uint64_t length) {
  Response response(200);
  response.body = SizedBody{std::make_unique<ListSource>(std::move(pieces)), length};
  co_return response;
}

// More than fits where heads usually do.
Task<Response> many_lines() {
  Response response = Response::text(200, "below", "text/plain");
  for (int i = 0; i < 40; ++i) response.add("Line", std::string(200, 'v'));
  response.add("Last", "line");
  co_return response;
}

// Gives a piece whenever the test says so, and counts what it was asked for.
struct Tap {
  platform::Event ready;
  std::deque<std::string> pieces;
  int asked = 0;
  bool dropped = false;
};

class TapSource final : public BodySource {
 public:
  explicit TapSource(Tap& tap) : tap_(tap) {}
  ~TapSource() override { tap_.dropped = true; }
  Task<base::Result<base::ByteView>> next() override {
    ++tap_.asked;
    while (tap_.pieces.empty()) co_await tap_.ready.wait();
    piece_ = std::move(tap_.pieces.front());
    tap_.pieces.pop_front();
    co_return base::as_bytes(piece_);
  }

 private:
  Tap& tap_;
  std::string piece_;
};

class TapEvents final : public EventSource {
 public:
  explicit TapEvents(Tap& tap) : tap_(tap) {}
  ~TapEvents() override { tap_.dropped = true; }
  Task<std::optional<ServerEvent>> next() override {
    ++tap_.asked;
    while (tap_.pieces.empty()) co_await tap_.ready.wait();
    ServerEvent event{.data = std::move(tap_.pieces.front())};
    tap_.pieces.pop_front();
    if (event.data == "end") co_return std::nullopt;
    co_return event;
  }

 private:
  Tap& tap_;
};

Task<Response> tapped(Tap* tap) {
  Response response(200);
  response.body = StreamedBody{std::make_unique<TapSource>(*tap)};
  co_return response;
}

Task<Response> tapped_events(Tap* tap) {
  co_return Response::events(std::make_unique<TapEvents>(*tap));
}

class ResponseWriterTest : public ServerTest {
 protected:
  void SetUp() override {
    make();
    server_->get("/", hello);
    server_->get("/pieces", [](Request*) { return streamed({"one", "two"}); });
    server_->get("/broken", [](Request*) { return streamed({"one", "fail"}); });
    server_->get("/many-lines", [](Request*) { return many_lines(); });
    server_->get("/bad", [](Request*) { return streamed({"fail"}); });
    server_->get("/bad-sized", [](Request*) { return sized({"fail"}, 3); });
    server_->get("/tap", [this](Request*) { return tapped(&tap_); });
    server_->get("/events", [this](Request*) { return tapped_events(&tap_); });
    start();
  }
  void TearDown() override { server_.reset(); }  // before what its answers wait for

  static std::string get(std::string_view path, std::string_view version = "1.1") {
    return "GET " + std::string(path) + " HTTP/" + std::string(version) + "\r\nHost: x\r\n\r\n";
  }
  void offer(std::string piece) {
    tap_.pieces.push_back(std::move(piece));
    tap_.ready.nudge();
  }
  // What the client heard after the head, so far.
  std::string heard(RawClient& client, base::Duration within = 10 * kTrip) {
    world_.run_for(within);
    const std::size_t end = client.received.find("\r\n\r\n");
    return end == std::string::npos ? "no head" : client.received.substr(end + 4);
  }

  Tap tap_;
};

TEST_F(ResponseWriterTest, ABodyOfUnknownLengthIsChunked) {
  const auto client = connect();
  client->send(get("/pieces"));
  EXPECT_EQ(heard(*client), "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
  EXPECT_NE(client->received.find("\r\nTransfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_EQ(client->received.find("Content-Length"), std::string::npos);
  client->received.clear();
  EXPECT_EQ(client->ask(get("/")).body, "hello");  // the connection goes on
}

TEST_F(ResponseWriterTest, InHttp10TheConnectionsEndTellsTheBodys) {
  const auto client = connect();
  client->send("GET /pieces HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(heard(*client), "onetwo");
  EXPECT_TRUE(client->wait_closed());
  EXPECT_FALSE(client->reset);
  EXPECT_EQ(client->received.find("chunked"), std::string::npos);
  EXPECT_NE(client->received.find("\r\nConnection: close\r\n"), std::string::npos);
}

TEST_F(ResponseWriterTest, ASourceThatFailsNeverLooksWhole) {
  const auto client = connect();
  client->send(get("/broken"));
  EXPECT_EQ(heard(*client), "3\r\none\r\n");
  EXPECT_TRUE(client->wait_closed());
  const auto old = connect();
  old->send("GET /broken HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(old->wait_closed());
  EXPECT_TRUE(old->reset);
}

TEST_F(ResponseWriterTest, ASourceThatFailsAtOnceIsAnError) {
  for (const char* path : {"/bad", "/bad-sized"}) {
    const auto client = connect();
    const Answer answer = client->ask(get(path));
    EXPECT_EQ(answer.status, 502) << path;
    EXPECT_NE(answer.body.find("\"IntegrityFail\""), std::string::npos) << answer.body;
    EXPECT_EQ(client->ask(get("/")).body, "hello");  // nothing was cut
  }
}

TEST_F(ResponseWriterTest, AHeadOfManyLinesArrivesWhole) {
  const auto client = connect();
  const Answer answer = client->ask(get("/many-lines"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "below");
  EXPECT_TRUE(answer.says("Last: line")) << answer.head;
  EXPECT_EQ(client->ask(get("/")).body, "hello");
}

TEST_F(ResponseWriterTest, HeadSaysNothingOfAnUnknownLength) {
  const auto client = connect();
  const Answer answer = client->ask("HEAD /pieces HTTP/1.1\r\nHost: x\r\n\r\n", Method::Head);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(client->ask(get("/")).body, "hello");
}

TEST_F(ResponseWriterTest, TheHeadDoesNotWaitForTheFirstPiece) {
  const auto client = connect();
  client->send(get("/tap"));
  EXPECT_EQ(heard(*client), "");
  offer("now");
  EXPECT_EQ(heard(*client), "3\r\nnow\r\n");
  offer("");
  EXPECT_EQ(heard(*client), "3\r\nnow\r\n0\r\n\r\n");
}

TEST_F(ResponseWriterTest, AStalledReaderStopsTheSource) {
  const auto client = connect();
  client->stop_reading();
  client->send(get("/tap"));
  const std::string piece(64 * base::kKiB, 'x');
  for (int i = 0; i < 1000; ++i) tap_.pieces.push_back(piece);
  world_.run_for(1s);
  const int asked = tap_.asked;
  EXPECT_LT(asked, 100);  // what the link holds, and no more
  world_.run_for(1s);
  EXPECT_EQ(tap_.asked, asked);
  EXPECT_EQ(counted("http_inflight_requests"), 0);
  world_.run_for(7s);  // the write timeout
  EXPECT_TRUE(tap_.dropped);
  EXPECT_EQ(counted("io_timeouts_total", "write"), 1);
}

TEST_F(ResponseWriterTest, AClientThatLeavesEndsASourceThatWaits) {
  const auto client = connect();
  client->send(get("/tap"));
  world_.run_for(1s);
  client->leave();
  world_.run_for(kTrip);
  EXPECT_TRUE(tap_.dropped);
  EXPECT_EQ(counted("http_canceled_total", "client-gone"), 1);
}

TEST_F(ResponseWriterTest, EventsArriveAsTheyHappen) {
  const auto client = connect();
  client->send(get("/events"));
  EXPECT_EQ(heard(*client), "");
  EXPECT_NE(client->received.find("\r\nContent-Type: text/event-stream\r\n"), std::string::npos);
  EXPECT_EQ(counted("http_event_streams"), 1);
  EXPECT_EQ(counted("http_inflight_requests"), 0);
  offer("a");
  EXPECT_EQ(heard(*client), "9\r\ndata: a\n\n\r\n");
  offer("end");
  EXPECT_EQ(heard(*client), "9\r\ndata: a\n\n\r\n0\r\n\r\n");
  EXPECT_TRUE(client->wait_closed());
  EXPECT_EQ(counted("http_event_streams"), 0);
}

TEST_F(ResponseWriterTest, EventsThatAreThereAtTheSameTimeLeaveTogether) {
  const auto client = connect();
  client->send(get("/events"));
  EXPECT_EQ(heard(*client), "");
  tap_.pieces = {"a", "b", "c"};
  tap_.ready.nudge();
  const std::string together = "1b\r\ndata: a\n\ndata: b\n\ndata: c\n\n\r\n";
  EXPECT_EQ(heard(*client), together);
  tap_.pieces = {"d", "end"};
  tap_.ready.nudge();
  EXPECT_EQ(heard(*client), together + "9\r\ndata: d\n\n\r\n0\r\n\r\n");
}

TEST_F(ResponseWriterTest, ASilentStreamHasAHeartbeat) {
  const auto client = connect();
  client->send(get("/events"));
  EXPECT_EQ(heard(*client, kHeartbeat), "");
  EXPECT_EQ(heard(*client), "3\r\n:\n\n\r\n");
  offer("a");
  EXPECT_EQ(heard(*client), "3\r\n:\n\n\r\n9\r\ndata: a\n\n\r\n");
  EXPECT_EQ(tap_.asked, 2);  // the wait that was under way went on
}

TEST_F(ResponseWriterTest, DrainEndsAnEventStreamCleanly) {
  const auto client = connect();
  client->send(get("/events"));
  EXPECT_EQ(heard(*client), "");
  server_->stop();
  EXPECT_EQ(heard(*client), "0\r\n\r\n");
  world_.run_for(2s);
  EXPECT_TRUE(server_->stopped());
  EXPECT_TRUE(tap_.dropped);
}

TEST_F(ResponseWriterTest, AClientThatLeavesEndsItsEventStream) {
  const auto client = connect();
  client->send(get("/events"));
  world_.run_for(1s);
  client->leave();
  world_.run_for(kTrip);
  EXPECT_TRUE(tap_.dropped);
  EXPECT_EQ(counted("http_event_streams"), 0);
}

TEST_F(ResponseWriterTest, AStalledReaderOfEventsIsCutAtTheWriteTimeout) {
  const auto client = connect();
  client->stop_reading();
  client->send(get("/events"));
  const std::string data(60 * base::kKiB, 'x');
  for (int i = 0; i < 1000; ++i) tap_.pieces.push_back(data);
  world_.run_for(1s);
  EXPECT_LT(tap_.asked, 100);
  world_.run_for(7s);
  EXPECT_TRUE(tap_.dropped);
}

TEST_F(ResponseWriterTest, AStalledReaderOfSmallEventsStopsTheSource) {
  const auto client = connect();
  client->stop_reading();
  client->send(get("/events"));
  const std::string data(100, 'x');
  for (int i = 0; i < 100'000; ++i) tap_.pieces.push_back(data);
  world_.run_for(1s);
  EXPECT_LT(tap_.asked, 50'000);
  EXPECT_FALSE(tap_.pieces.empty());
}

TEST_F(ResponseWriterTest, AnEventThatIsTooLargeEndsTheStream) {
  const auto client = connect();
  client->send(get("/events"));
  offer(std::string(kEventBytes, 'x'));
  EXPECT_EQ(heard(*client), "0\r\n\r\n");
  EXPECT_NE(server_->log().find("too large"), std::string::npos);
}

}  // namespace
}  // namespace ron::http
