#include "http/client_pool.h"

#include <string>
#include <vector>

#include "http/client_test_support.h"

namespace ron::http {
namespace {

using namespace test;

class ClientPoolTest : public ClientTest {};

TEST_F(ClientPoolTest, ConnectionsPerEndpointAreBounded) {
  start({.max_connections = 2});
  std::array<Outcome, 4> outs;
  std::vector<std::unique_ptr<Root>> running;
  for (Outcome& out : outs) running.push_back(begin(request("/slow"), out));
  world_.run_for(11s);
  EXPECT_EQ(opened(), 2);
  EXPECT_EQ(std::ranges::count(outs, true, &Outcome::done), 2);
  world_.run_for(10s);
  EXPECT_EQ(std::ranges::count(outs, 200, &Outcome::status), 4);
  EXPECT_EQ(opened(), 2);
}

TEST_F(ClientPoolTest, WaitersAreServedFirstComeFirstServed) {
  start({.max_connections = 1});
  std::array<Outcome, 5> outs;
  std::vector<std::unique_ptr<Root>> running;
  for (Outcome& out : outs) {
    running.push_back(begin(request(), out));
    world_.run_for(0ms);
  }
  world_.run_for(1s);
  for (std::size_t i = 0; i < outs.size(); ++i) {
    EXPECT_EQ(outs[i].at, 2 * kTrip * (i + 2)) << i;
  }
  EXPECT_EQ(opened(), 1);
}

TEST_F(ClientPoolTest, TooManyWaitersAreBusy) {
  start({.max_connections = 1, .max_waiting = 2});
  std::array<Outcome, 4> outs;
  std::vector<std::unique_ptr<Root>> running;
  for (Outcome& out : outs) {
    running.push_back(begin(request("/slow"), out));
    world_.run_for(0ms);
  }
  EXPECT_EQ(outs[3].code(), Code::Busy);
  EXPECT_EQ(errors("busy"), 1);
  world_.run_for(40s);
  EXPECT_EQ(std::ranges::count(outs, 200, &Outcome::status), 3);
}

TEST_F(ClientPoolTest, WaitingForAConnectionEndsAtTheDeadlineExactly) {
  start({.max_connections = 1});
  Outcome first;
  Outcome second;
  const auto one = begin(request("/slow"), first);
  world_.run_for(0ms);
  const auto two = begin(request(), second, 700ms);
  world_.run_for(20s);
  EXPECT_EQ(second.code(), Code::Timeout);
  EXPECT_EQ(second.at, 700ms);
  EXPECT_EQ(first.status, 200);
}

TEST_F(ClientPoolTest, AnAbortedWaiterPassesItsTurnOn) {
  start({.max_connections = 1});
  Outcome first;
  Outcome second;
  Outcome third;
  const auto one = begin(request("/slow"), first);
  world_.run_for(0ms);
  auto two = begin(request(), second);
  world_.run_for(0ms);
  const auto three = begin(request(), third);
  world_.run_for(1s);
  two.reset();
  world_.run_for(20s);
  EXPECT_EQ(third.status, 200);
  EXPECT_FALSE(second.done);
}

TEST_F(ClientPoolTest, AFailedConnectionGivesItsPlaceToTheNextInLine) {
  start({.max_connections = 1});
  Outcome first;
  Outcome second;
  const auto one = begin(request("/slow"), first);
  world_.run_for(0ms);
  const auto two = begin(request(), second);
  world_.run_for(1s);
  world_.network().reset_connections(node_.id(), peer_.id());
  world_.run_for(1s);
  EXPECT_EQ(first.code(), Code::UpstreamFail);
  EXPECT_EQ(second.status, 200);
}

TEST_F(ClientPoolTest, OnlySomeIdleConnectionsAreKept) {
  start({.max_idle = 2});
  std::array<Outcome, 5> outs;
  std::vector<std::unique_ptr<Root>> running;
  for (Outcome& out : outs) running.push_back(begin(request(), out));
  world_.run_for(1s);
  EXPECT_EQ(opened(), 5);
  EXPECT_EQ(connections("idle"), 2);
}

TEST_F(ClientPoolTest, IdleConnectionsOfAllEndpointsTogetherAreBounded) {
  start({.max_idle_total = 2});
  std::vector<std::unique_ptr<TestServer>> others;
  std::vector<platform::Endpoint> endpoints = {endpoint_};
  for (int i = 0; i < 3; ++i) {
    others.push_back(std::make_unique<TestServer>(world_, world_.add_node(), test_settings()));
    others.back()->get("/", hello);
    endpoints.push_back(others.back()->start());
  }
  const auto ask = [&](std::size_t which) {
    ClientRequest what = request();
    what.endpoint = endpoints[which];
    EXPECT_EQ(run(what).status, 200) << which;
    world_.run_for(1s);
  };
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    ask(i);
    EXPECT_LE(connections("idle"), 2);
  }
  // The two used last are there; the longest idle one had to go.
  ask(2);
  ask(3);
  EXPECT_EQ(reading(others[1]->meters, "http_connections_total"), 1);
  EXPECT_EQ(reading(others[2]->meters, "http_connections_total"), 1);
  ask(0);
  EXPECT_EQ(opened(), 2);
  EXPECT_EQ(connections("idle"), 2);
  world_.run_for(31s);
  EXPECT_EQ(connections("idle"), 0);
}

TEST_F(ClientPoolTest, WithoutRoomForIdleConnectionsNoneIsKept) {
  start({.max_idle_total = 0});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(request()).status, 200);
  EXPECT_EQ(opened(), 3);
  EXPECT_EQ(connections("idle"), 0);
}

TEST_F(ClientPoolTest, IdleConnectionsAreClosedAfterTheIdleTimeout) {
  start({.idle_timeout = 10s});
  EXPECT_EQ(run(request()).status, 200);
  const base::Duration idle_since = now();
  world_.run_for(idle_since + 10s - now() - 1ns);
  EXPECT_EQ(connections("idle"), 1);
  world_.run_for(1ns);
  EXPECT_EQ(connections("idle"), 0);
}

TEST_F(ClientPoolTest, UseRestartsTheIdleTimeout) {
  start({.idle_timeout = 10s});
  EXPECT_EQ(run(request()).status, 200);
  world_.run_for(6s);
  EXPECT_EQ(run(request()).status, 200);
  world_.run_for(6s);
  EXPECT_EQ(connections("idle"), 1);
  world_.run_for(4s);
  EXPECT_EQ(connections("idle"), 0);
}

TEST_F(ClientPoolTest, AConnectionTheServerClosedIsNotReused) {
  start({.idle_timeout = 300s});
  EXPECT_EQ(run(request()).status, 200);
  world_.run_for(61s);  // past the server's idle timeout
  EXPECT_EQ(run(request()).status, 200);
  EXPECT_EQ(opened(), 2);
  EXPECT_EQ(reading(meters_, "upstream_stale_retries_total"), 0);
}

// The server's FIN and our next request cross on the wire.
TEST_F(ClientPoolTest, AStaleConnectionIsReplacedOnceForAnIdempotentRequest) {
  start({.idle_timeout = 300s});
  EXPECT_EQ(run(request()).status, 200);
  world_.run_for(
      59'999'500us);  // the server closes 1 ms after its answer arrived here, less a trip
  const Outcome out = run(request());
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(opened(), 2);
  EXPECT_EQ(reading(meters_, "upstream_stale_retries_total"), 1);
  EXPECT_EQ(errors("closed"), 0);
}

TEST_F(ClientPoolTest, AStaleConnectionFailsARequestThatIsNotIdempotent) {
  start({.idle_timeout = 300s});
  EXPECT_EQ(run(request()).status, 200);
  world_.run_for(59'999'500us);
  const Outcome out = run(request("/echo", Method::Post));
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_EQ(opened(), 1);
  EXPECT_EQ(errors("closed"), 1);
}

TEST_F(ClientPoolTest, CloseWaitsForRequestsUnderWay) {
  start();
  Outcome out;
  const auto running = begin(request("/slow"), out);
  world_.run_for(1s);
  EXPECT_EQ(close(60s), 0U);
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(run(request()).code(), Code::Canceled);
}

TEST_F(ClientPoolTest, CloseCutsRequestsAtItsDeadline) {
  start();
  Outcome out;
  const auto running = begin(request("/slow"), out);
  world_.run_for(1s);
  EXPECT_EQ(close(2s), 1U);
  EXPECT_EQ(now(), 3s);
  world_.run_for(1ms);
  EXPECT_EQ(out.code(), Code::Canceled);
  EXPECT_EQ(out.at, 3s);
  EXPECT_EQ(errors("canceled"), 1);
}

TEST_F(ClientPoolTest, CloseTurnsWaitersAwayAndDropsIdleConnections) {
  start({.max_connections = 1});
  Outcome first;
  Outcome second;
  const auto one = begin(request("/slow"), first);
  world_.run_for(0ms);
  const auto two = begin(request(), second);
  world_.run_for(1s);
  EXPECT_EQ(close(60s), 0U);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(second.code(), Code::Canceled);
  EXPECT_EQ(second.at, 1s);
  EXPECT_EQ(connections("idle") + connections("active"), 0);
}

}  // namespace
}  // namespace ron::http
