#include "http/peer_watch.h"

#include <string>

#include "http/test_support.h"

namespace ron::http {
namespace {

using namespace test;

// Says when it was dropped, or that it ended.
struct Trace {
  std::optional<base::Duration> dropped_at;
  bool ended = false;
};

struct Noted {
  Trace* trace;
  ~Noted() {
    if (!trace->ended) trace->dropped_at = since_start(platform::Executor::current()->now());
  }
};

Task<Response> traced(Request*, Trace* trace, base::Duration time) {
  const Noted noted{trace};
  co_await runtime::sleep_for(time);
  trace->ended = true;
  co_return Response::text(200, "late", "text/plain");
}

Task<Response> read_then_wait(Request* request, Trace* trace) {
  const base::Result<base::Buffer> body = co_await request->body->read_all();
  if (!body) co_return Response::error(body.error(), request->corr_id);
  co_return co_await traced(request, trace, 10s);
}

Task<Response> says_timeout_itself(Request* request) {
  co_await runtime::sleep_until(request->deadline);
  co_return Response::error({base::Code::Timeout, "the handler's own words"}, request->corr_id);
}

class PeerWatchTest : public ServerTest {
 protected:
  void SetUp() override {
    make();
    server_->get("/", hello);
    server_->get("/wait", [this](Request* request) { return traced(request, &trace_, 10s); });
    server_->get("/never", [this](Request* request) { return traced(request, &trace_, 10h); });
    server_->get("/own", says_timeout_itself);
    server_->add(Method::Put, "/put",
                 [this](Request* request) { return read_then_wait(request, &trace_); });
    start();
  }
  Trace trace_;
};

constexpr std::string_view kWait = "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n";

TEST_F(PeerWatchTest, AClientThatLeavesTakesItsWorkWithIt) {
  const auto client = connect();
  client->send(kWait);
  world_.run_for(1s);
  client->leave();
  world_.run_for(kTrip);
  EXPECT_EQ(trace_.dropped_at, now());
  EXPECT_EQ(counted("http_canceled_total", "client-gone"), 1);
  EXPECT_EQ(counted("http_requests_total", "GET /wait", "499"), 1);
  EXPECT_EQ(counted("http_inflight_requests"), 0);
}

TEST_F(PeerWatchTest, AClientThatOnlyEndsItsRequestIsAnswered) {
  const auto client = connect();
  client->send(kWait);
  client->finish_sending();
  EXPECT_EQ(client->answer().body, "late");
  EXPECT_EQ(counted("http_canceled_total"), 0);
}

TEST_F(PeerWatchTest, AClientThatEndsItsRequestAMomentLaterIsAnswered) {
  const auto client = connect();
  client->send(kWait);
  world_.run_for(PeerWatch::kHalfClose - 1ms);
  client->finish_sending();
  EXPECT_EQ(client->answer().body, "late");
}

TEST_F(PeerWatchTest, ASideClosedBehindABodyIsNoFarewell) {
  const auto client = connect();
  client->send("PUT /put HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbo");
  world_.run_for(1s);
  client->send("dy");
  client->finish_sending();
  EXPECT_EQ(client->answer().body, "late");
}

TEST_F(PeerWatchTest, AClientThatLeavesAfterItsBodyIsNoticed) {
  const auto client = connect();
  client->send("PUT /put HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
  world_.run_for(1s);
  client->leave();
  world_.run_for(kTrip);
  EXPECT_EQ(trace_.dropped_at, now());
}

TEST_F(PeerWatchTest, WorkBeyondItsDeadlineIsDroppedAndSaysSo) {
  const auto client = connect();
  client->send("GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
  const Answer answer = client->answer();
  EXPECT_EQ(answer.status, 504);
  EXPECT_NE(answer.body.find("\"Timeout\""), std::string::npos);
  EXPECT_EQ(*trace_.dropped_at, now() - kTrip);
  EXPECT_EQ(counted("http_canceled_total", "deadline"), 1);
  EXPECT_EQ(client->ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);
}

// Ten bytes at a time: the deadline passes in the middle of the 100-continue.
TEST(PeerWatch, NothingIsSaidBehindAnInterimAnswerThatBrokeOff) {
  sim::WorldOptions options = exact_world();
  options.network.window_bytes = 10;
  sim::World world(7, options);
  sim::Node& node = world.add_node();
  sim::Node& peer = world.add_node();
  ServerSettings settings = test_settings();
  settings.request_deadline = kTrip;
  TestServer server(world, node, settings);
  server.add(Method::Put, "/echo", echo);
  RawClient client(world, peer, server.start());
  std::string request =
      "PUT /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
  while (!request.empty()) {
    client.send_some(request);
    world.run_for(2 * kTrip);
  }
  EXPECT_TRUE(client.wait_closed());
  EXPECT_EQ(client.received, "HTTP/1.1 1");
  EXPECT_EQ(reading(server.meters, "http_canceled_total", "deadline"), 1);
}

TEST_F(PeerWatchTest, AHandlerThatKeepsTheDeadlineHasTheWord) {
  const Answer answer = connect()->ask("GET /own HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(answer.status, 504);
  EXPECT_NE(answer.body.find("own words"), std::string::npos);
  EXPECT_EQ(counted("http_canceled_total"), 0);
}

}  // namespace
}  // namespace ron::http
