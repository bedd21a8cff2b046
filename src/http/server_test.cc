#include "http/server.h"

#include <set>
#include <string>

#include "http/test_support.h"

namespace ron::http {
namespace {

using namespace test;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

Task<Response> large(Request*) {
  co_return Response::text(200, std::string(base::kMiB, 'x'), "text/plain");
}

Task<void> do_rebind(Server* server, platform::Endpoint to, bool* moved) {
  const auto bound = co_await server->bind(to);
  if (bound) co_await server->adopt();
  *moved = bound.has_value();
}

class HttpServerTest : public ServerTest {
 protected:
  void make(ServerSettings settings = test_settings()) {
    ServerTest::make(settings);
    server_->get("/", hello);
    server_->get("/slow", slow);
    server_->get("/large", large);
  }
  bool rebind(std::uint16_t port) {
    bool moved = false;
    const Root moving(node_.core(), do_rebind(&server_->server, node_.endpoint(port), &moved));
    EXPECT_EQ(world_.run_until([&] { return moving.done(); }, 1s), sim::Outcome::Done);
    return moved;
  }
  static Task<void> do_apply(Server* server, ServerSettings settings) {
    co_await server->apply(std::make_shared<const ServerSettings>(settings));
  }
  void apply(ServerSettings settings) {
    const Root applying(node_.core(), do_apply(&server_->server, settings));
    EXPECT_EQ(world_.run_until([&] { return applying.done(); }, 1s), sim::Outcome::Done);
  }
  bool refuses_connections(std::uint16_t port) {
    auto stream = peer_.net().connect(node_.endpoint(port));
    world_.run_for(10ms);
    return (*stream)->try_write({}).kind == platform::IoResult::Kind::Failed;
  }
};

TEST_F(HttpServerTest, DrainClosesIdleConnectionsAtOnce) {
  make();
  start();
  const auto used = connect();
  EXPECT_EQ(used->ask(kGet).status, 200);
  const auto unused = connect();
  const base::Duration begun = now();
  server_->stop();
  EXPECT_TRUE(used->wait_closed());
  EXPECT_TRUE(unused->wait_closed());
  EXPECT_EQ(now() - begun, kTrip);
  EXPECT_TRUE(server_->stopped());
}

TEST_F(HttpServerTest, DrainFinishesWhatIsInFlight) {
  make();
  start();
  const auto client = connect();
  client->send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  world_.run_for(1s);
  server_->stop();
  world_.run_for(1s);
  EXPECT_FALSE(server_->stopped());
  const Answer answer = client->answer();
  EXPECT_EQ(answer.body, "late");
  EXPECT_TRUE(answer.says("Connection: close"));
  EXPECT_TRUE(client->wait_closed());
  EXPECT_EQ(world_.run_until([&] { return server_->stopped(); }, 2s), sim::Outcome::Done);
}

TEST_F(HttpServerTest, DrainRefusesNewConnections) {
  make();
  start();
  const auto client = connect();
  client->send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  world_.run_for(1s);
  server_->stop();
  EXPECT_TRUE(refuses_connections(80));
}

TEST_F(HttpServerTest, DrainAnswersPipelinedRequestsOnlyUpToTheOneUnderWay) {
  make();
  start();
  const auto client = connect();
  client->send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n" + std::string(kGet));
  world_.run_for(1s);
  server_->stop();
  EXPECT_EQ(client->answer().body, "late");
  EXPECT_TRUE(client->wait_closed());
  EXPECT_EQ(client->received, "");
}

// The stop comes while an answer that promised keep-alive is still leaving.
TEST_F(HttpServerTest, DrainClosesAConnectionThatWasSendingWhenItBegan) {
  make();
  start();
  const auto client = connect();
  world_.network().set_link(node_.id(), peer_.id(),
                            {.latency = kTrip, .jitter = 0ms, .bytes_per_second = 1'000'000});
  client->send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  world_.run_for(100ms);
  server_->stop();
  EXPECT_EQ(client->answer().body.size(), base::kMiB);
  const base::Duration answered = now();
  EXPECT_TRUE(client->wait_closed());
  EXPECT_LE(now() - answered, 10ms);
  EXPECT_TRUE(server_->stopped());
}

// A connection that is accepted in the very moment of the stop; the seed picks who runs first.
TEST(HttpServer, DrainNeverForgetsAConnectionThatJustCame) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    sim::World world(seed, exact_world());
    sim::Node& node = world.add_node();
    sim::Node& peer = world.add_node();
    TestServer server(world, node);
    server.get("/", hello);
    const platform::Endpoint endpoint = server.start();
    std::vector<std::unique_ptr<platform::Stream>> streams;
    for (int i = 0; i < 5; ++i) streams.push_back(std::move(*peer.net().connect(endpoint)));
    world.after(kTrip, [&] { server.stop(); });
    world.run_for(20ms);
    EXPECT_TRUE(server.stopped());
  }
}

TEST_F(HttpServerTest, AbortingTheServerCutsItsConnections) {
  make();
  start();
  const auto client = connect();
  client->send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  world_.run_for(1s);
  server_->abort();
  EXPECT_TRUE(client->wait_closed(10ms));
  EXPECT_EQ(client->received, "");
  EXPECT_EQ(counted("http_connections"), 0);
}

TEST_F(HttpServerTest, ConnectionsOverTheTotalCapAreToldAndClosed) {
  ServerSettings settings = test_settings();
  settings.max_conns = 2;
  make(settings);
  start();
  const auto first = connect();
  const auto second = connect();
  const auto third = connect();
  const Answer answer = third->answer();
  EXPECT_EQ(answer.status, 429);
  EXPECT_TRUE(answer.says("Retry-After: 1"));
  EXPECT_NE(answer.body.find("\"Busy\""), std::string::npos);
  EXPECT_TRUE(third->wait_closed());
  EXPECT_EQ(counted("rejected_total", "connections"), 1);
  EXPECT_EQ(first->ask(kGet).status, 200);
  second->leave();
  world_.run_for(10ms);
  EXPECT_EQ(connect()->ask(kGet).status, 200);
}

TEST_F(HttpServerTest, ConnectionsOverThePerAddressCapAreToldAndClosed) {
  ServerSettings settings = test_settings();
  settings.max_conns_per_ip = 1;
  make(settings);
  start();
  const auto first = connect();
  const auto second = connect();
  EXPECT_EQ(second->answer().status, 429);
  EXPECT_TRUE(second->wait_closed());
  EXPECT_EQ(counted("rejected_total", "connections-per-ip"), 1);
  sim::Node& other = world_.add_node();
  RawClient elsewhere(world_, other, endpoint_);
  EXPECT_EQ(elsewhere.ask(kGet).status, 200);
  first->leave();
  world_.run_for(10ms);
  EXPECT_EQ(connect()->ask(kGet).status, 200);
}

// Telling each of a flood of clients why would cost the memory that the cap protects.
TEST_F(HttpServerTest, AFloodOverTheCapIsDroppedWithoutAWord) {
  ServerSettings settings = test_settings();
  settings.max_conns = 1;
  make(settings);
  start();
  const auto first = connect();
  std::vector<std::unique_ptr<platform::Stream>> flood;
  for (int i = 0; i < 120; ++i) flood.push_back(std::move(*peer_.net().connect(endpoint_)));
  world_.run_for(100ms);
  std::size_t told = 0;
  for (const auto& stream : flood) {
    std::array<std::byte, 16> bytes{};
    told += stream->try_read(bytes).ok() ? 1U : 0U;
  }
  EXPECT_EQ(told, 64U);
  EXPECT_EQ(counted("rejected_total", "connections"), 120);
  EXPECT_EQ(first->ask(kGet).status, 200);
}

TEST_F(HttpServerTest, FailedAcceptsAreCountedAndTriedAgain) {
  make();
  start();
  world_.faults().fail_accept = 900'000;
  const auto client = connect();
  world_.run_for(5s);
  world_.faults().fail_accept = 0;
  EXPECT_EQ(client->ask(kGet).status, 200);
  EXPECT_GT(counted("http_accept_failures_total"), 0);
}

TEST_F(HttpServerTest, RebindServesTheNewEndpointAndDrainsTheOld) {
  make();
  start();
  const auto idle = connect();
  EXPECT_EQ(idle->ask(kGet).status, 200);
  const auto working = connect();
  working->send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  world_.run_for(1s);
  EXPECT_TRUE(rebind(81));
  EXPECT_TRUE(idle->wait_closed(10ms));
  EXPECT_TRUE(refuses_connections(80));
  RawClient moved(world_, peer_, node_.endpoint(81));
  EXPECT_EQ(moved.ask(kGet).status, 200);
  const Answer last = working->answer();
  EXPECT_EQ(last.body, "late");
  EXPECT_TRUE(last.says("Connection: close"));
  EXPECT_EQ(moved.ask(kGet).status, 200);
}

TEST_F(HttpServerTest, ARebindThatFailsChangesNothing) {
  make();
  start();
  const auto client = connect();
  node_.net().occupy(81);
  EXPECT_FALSE(rebind(81));
  EXPECT_EQ(client->ask(kGet).status, 200);
  EXPECT_EQ(connect()->ask(kGet).status, 200);
}

TEST_F(HttpServerTest, ListenersThatNobodyServesCanBeClosed) {
  make();
  bool moved = false;
  const Root binding(node_.core(), do_rebind(&server_->server, node_.endpoint(80), &moved));
  EXPECT_EQ(world_.run_until([&] { return binding.done(); }, 1s), sim::Outcome::Done);
  EXPECT_FALSE(refuses_connections(80));
  const Root closing(node_.core(), server_->server.close_unserved());
  EXPECT_EQ(world_.run_until([&] { return closing.done(); }, 1s), sim::Outcome::Done);
  EXPECT_TRUE(refuses_connections(80));
}

TEST(HttpServer, AMoveThatFailsBeforeItRunsChangesNothing) {
  sim::World world(5, exact_world());
  sim::Node& node = world.add_node();
  sim::Node& peer = world.add_node();
  TestServer server(world, node);
  server.get("/", hello);
  node.net().occupy(81);
  bool moved = false;
  for (const std::uint16_t port : std::initializer_list<std::uint16_t>{80, 81}) {
    const Root moving(node.core(), do_rebind(&server.server, node.endpoint(port), &moved));
    EXPECT_EQ(world.run_until([&] { return moving.done(); }, 1s), sim::Outcome::Done);
    EXPECT_EQ(moved, port == 80);
  }
  server.run();
  RawClient client(world, peer, node.endpoint(80));
  EXPECT_EQ(client.ask(kGet).status, 200);
}

TEST(HttpServer, ARestartAfterAFailedRebindListensWhereItDidBefore) {
  sim::World world(5, exact_world());
  sim::Node& node = world.add_node({.cores = 2});
  sim::Node& peer = world.add_node();
  TestServer server(world, node);
  server.get("/", hello);
  const platform::Endpoint endpoint = server.start();
  bool moved = true;
  const Root moving(node.core(), do_rebind(&server.server, node.endpoint(81), &moved));
  // The first core gets the new port, the second finds it taken.
  platform::Endpoint anywhere;
  anywhere.port = 81;
  EXPECT_EQ(world.run_until([&] { return !node.net().listen(anywhere).has_value(); }, 1s),
            sim::Outcome::Done);
  node.net().occupy(81);
  EXPECT_EQ(world.run_until([&] { return moving.done(); }, 1s), sim::Outcome::Done);
  EXPECT_FALSE(moved);
  server.abort();
  server.run();
  for (int i = 0; i < 10; ++i) {
    RawClient client(world, peer, endpoint);
    EXPECT_EQ(client.ask(kGet).status, 200);
  }
}

TEST_F(HttpServerTest, NewSettingsHoldForTheNextRequestOfAnOpenConnection) {
  make();
  start();
  const auto client = connect();
  EXPECT_EQ(client->ask(kGet).status, 200);
  ServerSettings settings = test_settings();
  settings.idle_timeout = 2s;
  settings.max_conns = 1;
  apply(settings);
  const Answer answer = client->ask(kGet);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(connect()->answer().status, 429);
  EXPECT_TRUE(client->wait_closed());
  EXPECT_EQ(client->closed_at - answer.at, 2s);
}

TEST(HttpServer, EveryCoreServes) {
  sim::World world(5, exact_world());
  sim::Node& node = world.add_node({.cores = 4});
  sim::Node& peer = world.add_node();
  TestServer server(world, node);
  std::set<platform::Executor*> served;
  server.get("/", [&served](Request* request) {
    served.insert(platform::Executor::current());
    return hello(request);
  });
  const platform::Endpoint endpoint = server.start();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(std::make_unique<RawClient>(world, peer, endpoint));
    EXPECT_EQ(clients.back()->ask(kGet).status, 200);
  }
  EXPECT_EQ(served.size(), 4U);
  server.stop();
  EXPECT_EQ(world.run_until([&] { return server.stopped(); }, 1s), sim::Outcome::Done);
}

}  // namespace
}  // namespace ron::http
