#include "http/connection.h"

#include <deque>
#include <stdexcept>
#include <string>

#include "http/test_support.h"

namespace ron::http {
namespace {

using namespace test;
using base::Code;

Task<Response> which(Request* request) {
  co_return Response::text(200, std::string(request->params[0]), "text/plain");
}

Task<Response> refuse(Request* request) {
  co_return Response::error({Code::Forbidden, "no"}, request->corr_id);
}

Task<Response> explode(Request*) {
  throw std::runtime_error("kaboom");
  co_return Response(200);
}

Task<Response> large(Request*) {
  co_return Response::text(200, std::string(base::kMiB, 'x'), "text/plain");
}

Task<Response> stream(std::deque<std::string> pieces, std::uint64_t announced) {
  Response response(200);
  response.body = SizedBody{std::make_unique<ListSource>(std::move(pieces)), announced};
  co_return response;
}

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

class ConnectionTest : public ServerTest {
 protected:
  void SetUp() override {
    make();
    server_->get("/", hello);
    server_->get("/n/{n}", which);
    server_->get("/explode", explode);
    server_->get("/large", large);
    server_->add(Method::Put, "/echo", echo);
    server_->add(Method::Put, "/refuse", refuse);
  }
  // Until everything is out, or for a while.
  void send_all(RawClient& client, std::string text) {
    const base::Duration begun = now();
    while (!text.empty() && now() - begun < 10s) {
      client.send_some(text);
      world_.run_for(1ms);
    }
    EXPECT_EQ(text.size(), 0U);
  }
  void streamed(std::deque<std::string> pieces, std::uint64_t announced) {
    server_->get("/stream", [pieces, announced](Request*) { return stream(pieces, announced); });
    start();
  }
};

TEST_F(ConnectionTest, KeepAliveServesManyRequests) {
  start();
  const auto client = connect();
  for (int i = 0; i < 10; ++i) {
    const Answer answer = client->ask(kGet);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "hello");
  }
  EXPECT_EQ(counted("http_connections_total"), 1);
  EXPECT_EQ(counted("http_requests_total", "GET /", "200"), 10);
}

TEST_F(ConnectionTest, PipelinedRequestsAreAnsweredInOrder) {
  start();
  const auto client = connect();
  std::string all;
  for (int i = 0; i < 100; ++i) {
    all += "GET /n/" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  }
  client->send(all);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client->answer().body, std::to_string(i));
}

TEST_F(ConnectionTest, ARequestPipelinedBehindABodyIsServed) {
  start();
  const auto client = connect();
  client->send("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc" + std::string(kGet));
  EXPECT_EQ(client->answer().body, "abc");
  EXPECT_EQ(client->answer().body, "hello");
}

TEST_F(ConnectionTest, NothingIsReadBehindConnectionClose) {
  start();
  const auto client = connect();
  client->send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + std::string(kGet));
  EXPECT_TRUE(client->answer().says("Connection: close"));
  EXPECT_TRUE(client->wait_closed());
  EXPECT_EQ(client->received, "");
  EXPECT_EQ(counted("http_requests_total"), 1);
}

TEST_F(ConnectionTest, Http10ClosesUnlessAskedToKeep) {
  start();
  const auto keeping = connect();
  const Answer kept = keeping->ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_TRUE(kept.says("Connection: keep-alive"));
  EXPECT_EQ(keeping->ask(kGet).status, 200);
  const auto closing = connect();
  EXPECT_TRUE(closing->ask("GET / HTTP/1.0\r\n\r\n").says("Connection: close"));
  EXPECT_TRUE(closing->wait_closed());
}

TEST_F(ConnectionTest, HeadHasTheLengthButNoBody) {
  start();
  const auto client = connect();
  const Answer answer = client->ask("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", Method::Head);
  EXPECT_TRUE(answer.says("Content-Length: 5"));
  world_.run_for(1s);
  EXPECT_EQ(client->received, "");
  EXPECT_EQ(client->ask(kGet).body, "hello");
}

TEST_F(ConnectionTest, ContinueIsSentWhenTheHandlerWantsTheBody) {
  start();
  const auto client = connect();
  client->send(
      "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  world_.run_for(1s);
  EXPECT_EQ(client->received, kContinue);
  client->received.clear();
  EXPECT_EQ(client->ask("body").body, "body");
}

TEST_F(ConnectionTest, ContinueIsNotSentWhenTheBodyIsThereAlready) {
  start();
  const auto client = connect();
  const Answer answer = client->ask(
      "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "body");
}

TEST_F(ConnectionTest, ARefusalInsteadOfContinueClosesTheConnection) {
  start();
  const auto client = connect();
  const Answer answer = client->ask(
      "PUT /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(answer.status, 403);
  EXPECT_TRUE(answer.says("Connection: close"));
  EXPECT_TRUE(client->wait_closed());
}

TEST_F(ConnectionTest, ABodyLeftUnreadClosesTheConnection) {
  start();
  const auto client = connect();
  client->send("PUT /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345");
  EXPECT_TRUE(client->answer().says("Connection: close"));
  EXPECT_TRUE(client->wait_closed());
  EXPECT_FALSE(client->reset);
}

// The client may still be sending: a reset would take our answer from it.
TEST_F(ConnectionTest, ARefusedUploadIsSwallowedForAWhileSoThatTheAnswerArrives) {
  start();
  const auto client = connect();
  client->send("PUT /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n");
  for (int i = 0; i < 50; ++i) {
    client->send(std::string(1000, 'x'));
    world_.run_for(1ms);
  }
  EXPECT_EQ(client->answer().status, 403);
  client->finish_sending();
  EXPECT_TRUE(client->wait_closed());
  EXPECT_FALSE(client->reset);
}

// More than sockets hold: a client that only looks once everything is sent.
TEST_F(ConnectionTest, ARefusedBodyIsReadToItsEndAndDropped) {
  start();
  const auto client = connect();
  constexpr std::size_t kBody = 16 * base::kMiB;
  std::string rest = "PUT /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(kBody) +
                     "\r\n\r\n" + std::string(kBody, 'x');
  send_all(*client, std::move(rest));
  EXPECT_EQ(client->answer().status, 413);
  EXPECT_TRUE(client->wait_closed());
  EXPECT_FALSE(client->reset);
}

TEST_F(ConnectionTest, ARefusedChunkedBodyIsReadToItsEndAndDropped) {
  start();
  const auto client = connect();
  std::string rest = "PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 100; ++i) rest += "20000\r\n" + std::string(0x20000, 'x') + "\r\n";
  rest += "0\r\n\r\n";
  send_all(*client, std::move(rest));
  EXPECT_EQ(client->answer().status, 413);
  EXPECT_TRUE(client->wait_closed(100ms)) << "the end of the body ends the wait for it";
  EXPECT_FALSE(client->reset);
}

TEST_F(ConnectionTest, ARefusedBodyThatNeverEndsIsCutOffInTime) {
  start();
  const auto client = connect();
  client->send("PUT /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n");
  EXPECT_EQ(client->answer().status, 413);
  const base::Duration begun = now();
  while (!client->closed && now() - begun < 60s) {
    std::string more(100'000, 'x');
    client->send_some(more);
    world_.run_for(10ms);
  }
  EXPECT_LE(now() - begun, 12s);
}

TEST_F(ConnectionTest, AStopDoesNotWaitForARefusedBody) {
  start();
  const auto client = connect();
  client->send("PUT /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n");
  EXPECT_EQ(client->answer().status, 403);
  server_->stop();
  EXPECT_EQ(world_.run_until([&] { return server_->stopped(); }, 1100ms), sim::Outcome::Done);
}

// Counts whose requests are handled; the first one of all lets the other client speak.
struct Turns {
  std::function<void()> on_first;
  int greedy = 0;
  std::optional<int> before_other;  // how many of the greedy one's came before the other's
};

Task<Response> greedy_turn(Turns* turns) {
  if (++turns->greedy == 1) turns->on_first();
  co_return Response::text(200, "", "text/plain");
}

Task<Response> other_turn(Turns* turns) {
  if (!turns->before_other) turns->before_other = turns->greedy;
  co_return Response::text(200, "", "text/plain");
}

// However much one client has sent at once, others of the same core get their turn in between.
TEST(Connection, APipeliningClientLetsOthersHaveTheirTurn) {
  sim::WorldOptions options = exact_world();
  options.job_cost = 100us;
  sim::World world(3, options);
  sim::Node& node = world.add_node();
  sim::Node& peer = world.add_node();
  TestServer server(world, node);
  Turns turns;
  server.get("/greedy", [&](Request*) { return greedy_turn(&turns); });
  server.get("/other", [&](Request*) { return other_turn(&turns); });
  const platform::Endpoint endpoint = server.start();
  RawClient greedy(world, peer, endpoint);
  RawClient other(world, peer, endpoint);
  turns.on_first = [&] { other.send("GET /other HTTP/1.1\r\nHost: x\r\n\r\n"); };
  std::string rest;
  constexpr int kRequests = 1500;
  for (int i = 0; i < kRequests; ++i) rest += "GET /greedy HTTP/1.1\r\nHost: x\r\n\r\n";
  greedy.send(rest);
  EXPECT_EQ(world.run_until([&] { return turns.greedy == kRequests && turns.before_other; }, 10s),
            sim::Outcome::Done);
  // The other request is a trip away, ten jobs and a few of the simulation; each of the greedy one
  // answers sixteen.
  EXPECT_LT(*turns.before_other, kRequests / 2);
}

TEST_F(ConnectionTest, AFailingHandlerIs500LoggedAndTheConnectionGoesOn) {
  start();
  const auto client = connect();
  const Answer answer = client->ask("GET /explode HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(answer.status, 500);
  EXPECT_NE(answer.body.find("\"Internal\""), std::string::npos);
  EXPECT_EQ(answer.body.find("kaboom"), std::string::npos);
  EXPECT_NE(server_->log().find("kaboom"), std::string::npos);
  EXPECT_EQ(client->ask(kGet).status, 200);
}

TEST_F(ConnectionTest, TheCorrelationIdIsEchoedOrMade) {
  start();
  const auto client = connect();
  const std::string id = "01JXT21Q0BMT05349PHC7XQWJR";
  EXPECT_TRUE(client->ask("GET / HTTP/1.1\r\nHost: x\r\nX-Corr-ID: " + id + "\r\n\r\n")
                  .says("X-Corr-ID: " + id));
  const Answer made = client->ask("GET / HTTP/1.1\r\nHost: x\r\nX-Corr-ID: evil\r\n\r\n");
  EXPECT_NE(made.head.find("\r\nX-Corr-ID: 01"), std::string::npos);
}

TEST_F(ConnectionTest, MalformedHeadsAreRefusedAndCounted) {
  start();
  const auto client = connect();
  EXPECT_EQ(client->ask("GET / HTTP/1.1\r\nHost : x\r\n\r\n").status, 400);
  EXPECT_TRUE(client->wait_closed());
  EXPECT_EQ(counted("rejected_total", "head"), 1);
  EXPECT_EQ(counted("http_requests_total", "unmatched", "400"), 1);
}

TEST_F(ConnectionTest, AHeadAsLargeAsTheBufferIsRefused) {
  start();
  const auto client = connect();
  client->send("GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(ReadBuffer::kBytes, 'x'));
  EXPECT_EQ(client->answer().status, 431);
}

TEST_F(ConnectionTest, UnknownPathsAndMethodsAreRefusedPolitely) {
  start();
  const auto client = connect();
  EXPECT_EQ(client->ask("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n").status, 404);
  const Answer wrong = client->ask("DELETE /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_TRUE(wrong.says("Allow: PUT"));
  EXPECT_EQ(client->ask("BREW / HTTP/1.1\r\nHost: x\r\n\r\n").status, 501);
  const Answer options = client->ask("OPTIONS / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(options.status, 204);
  EXPECT_TRUE(options.says("Allow: GET, HEAD"));
  EXPECT_EQ(client->ask("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n").status, 204);
  EXPECT_EQ(client->ask(kGet).status, 200);
}

TEST_F(ConnectionTest, AnIdleConnectionIsClosedAtTheIdleTimeoutExactly) {
  start();
  const auto client = connect();
  EXPECT_TRUE(client->wait_closed());
  EXPECT_EQ(since_start(client->closed_at), kTrip + 60s + kTrip);
  EXPECT_EQ(counted("io_timeouts_total", "idle"), 1);
}

TEST_F(ConnectionTest, AnAnswerRestartsTheIdleTimeout) {
  start();
  const auto client = connect();
  world_.run_for(59s);
  const Answer answer = client->ask(kGet);
  EXPECT_TRUE(client->wait_closed());
  EXPECT_EQ(client->closed_at - answer.at, 60s);
}

TEST_F(ConnectionTest, AHeadThatDoesNotArriveIs408AtTheReadTimeoutExactly) {
  start();
  const auto client = connect();
  world_.run_for(30s);
  const base::Duration begun = now();
  client->send("GET / HTT");
  const Answer answer = client->answer();
  EXPECT_EQ(answer.status, 408);
  EXPECT_EQ(since_start(answer.at) - begun, kTrip + 5s + kTrip);
  EXPECT_TRUE(client->wait_closed());
  EXPECT_EQ(counted("io_timeouts_total", "read"), 1);
}

TEST_F(ConnectionTest, ADribblingHeadGetsNoMoreTimeThanASilentOne) {
  start();
  const auto client = connect();
  const base::Duration begun = now();
  for (int i = 0; i < 8; ++i) {
    client->send("G");
    world_.run_for(600ms);
  }
  const Answer answer = client->answer();
  EXPECT_EQ(answer.status, 408);
  EXPECT_EQ(since_start(answer.at) - begun, kTrip + 5s + kTrip);
}

// Whoever does not read holds a connection, and no place among the requests that are worked on.
TEST_F(ConnectionTest, AnAnswerThatWaitsForItsReaderIsNotInFlight) {
  server_.reset();
  ServerSettings settings = test_settings();
  settings.max_inflight = 1;
  make(settings);
  server_->get("/", hello);
  server_->get("/large", large);
  server_->get("/stream", [](Request*) {
    return stream({std::string(base::kMiB, 'a'), std::string(base::kMiB, 'b')}, 2 * base::kMiB);
  });
  start();
  for (const std::string_view path : {"/large", "/stream"}) {
    const auto slow_reader = connect();
    slow_reader->stop_reading();
    slow_reader->send("GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    world_.run_for(1s);
    EXPECT_EQ(counted("http_connections"), 1);
    EXPECT_EQ(counted("http_inflight_requests"), 0);
    const auto other = connect();
    EXPECT_EQ(other->ask(kGet).status, 200) << "behind a slow reader of " << path;
    other->leave();
    slow_reader->leave();
    world_.run_for(1s);
  }
}

TEST_F(ConnectionTest, AReaderWithoutProgressIsCutOffAtTheWriteTimeoutExactly) {
  start();
  const auto client = connect();
  client->stop_reading();
  const base::Duration begun = now();
  client->send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  world_.run_for(begun + kTrip + 7s - now() - 1ns);
  EXPECT_EQ(counted("http_connections"), 1);
  world_.run_for(1ns);
  EXPECT_EQ(counted("http_connections"), 0);
  EXPECT_EQ(counted("io_timeouts_total", "write"), 1);
}

TEST_F(ConnectionTest, ASourceIsSentWithItsLength) {
  streamed({"abc", std::string(100'000, 'x'), "def"}, 100'006);
  const auto client = connect();
  const Answer answer = client->ask("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(answer.body, "abc" + std::string(100'000, 'x') + "def");
  EXPECT_EQ(client->ask(kGet).status, 200);
  EXPECT_EQ(counted("http_sent_bytes_total"), 100'006 + 5);
}

TEST_F(ConnectionTest, AnEmptySourceIsSent) {
  streamed({}, 0);
  const auto client = connect();
  EXPECT_TRUE(client->ask("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n").says("Content-Length: 0"));
  EXPECT_EQ(client->ask(kGet).status, 200);
}

TEST_F(ConnectionTest, HeadOfASourceDoesNotRunIt) {
  streamed({"fail"}, 1000);
  const auto client = connect();
  const Answer answer = client->ask("HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\n", Method::Head);
  EXPECT_TRUE(answer.says("Content-Length: 1000"));
  EXPECT_EQ(client->ask(kGet).status, 200);
}

TEST_F(ConnectionTest, ASourceThatEndsEarlyCutsTheConnection) {
  streamed({"abc"}, 6);
  const auto client = connect();
  client->send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n" + std::string(kGet));
  EXPECT_TRUE(client->wait_closed(1s));
  EXPECT_TRUE(client->received.ends_with("\r\n\r\nabc"));
  EXPECT_EQ(counted("http_sent_bytes_total"), 0);
}

TEST_F(ConnectionTest, ASourceThatIsTooLongCutsTheConnection) {
  streamed({"abc", "defg"}, 6);
  const auto client = connect();
  client->send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client->wait_closed(1s));
  EXPECT_TRUE(client->received.ends_with("\r\n\r\nabc"));
}

TEST_F(ConnectionTest, ASourceThatFailsCutsTheConnection) {
  streamed({"abc", "fail"}, 6);
  const auto client = connect();
  client->send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client->wait_closed(1s));
  EXPECT_TRUE(client->received.ends_with("\r\n\r\nabc"));
}

TEST_F(ConnectionTest, AClientThatLeavesEndsItsConnection) {
  start();
  const auto client = connect();
  EXPECT_EQ(client->ask(kGet).status, 200);
  client->leave();
  world_.run_for(10ms);
  EXPECT_EQ(counted("http_connections"), 0);
}

// However the network cuts the bytes, the same requests get the same answers.
TEST(Connection, AnswersDoNotDependOnHowBytesArrive) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    sim::FaultPlan faults = sim::FaultPlan::rough();
    faults.reset_segment = faults.refuse_connect = 0;
    sim::World world(seed, {.faults = faults});
    sim::Node& node = world.add_node();
    sim::Node& peer = world.add_node();
    TestServer server(world, node);
    server.get("/", hello);
    server.add(Method::Put, "/echo", echo);
    RawClient client(world, peer, server.start());
    std::string all;
    for (int i = 0; i < 5; ++i) {
      all += kGet;
      all += "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 300\r\n\r\n" + std::string(300, 'f');
      all += "PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
      all += "a\r\n0123456789\r\n5\r\nabcde\r\n0\r\n\r\n";
    }
    while (!all.empty()) {  // short writes happen
      client.send_some(all);
      world.run_for(1ms);
    }
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(client.answer().body, "hello");
      EXPECT_EQ(client.answer().body, std::string(300, 'f'));
      EXPECT_EQ(client.answer().body, "0123456789abcde");
    }
  }
}

}  // namespace
}  // namespace ron::http
