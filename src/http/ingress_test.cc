#include "http/ingress.h"

#include <string>

#include "http/test_support.h"

namespace ron::http {
namespace {

using namespace test;
using base::Code;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kLight = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

Task<Response> deadline(Request* request) {
  const base::Duration left = request->deadline.at() - platform::Executor::current()->now();
  co_return Response::text(200, base::print(left), "text/plain");
}

class IngressTest : public ServerTest {
 protected:
  void make(ServerSettings settings) {
    server_.emplace(world_, node_, settings,
                    [this](Request&, const Route& route) -> base::Result<void> {
                      ++authorized_;
                      if (route.pattern == "/secret") return base::fail(Code::Forbidden, "no");
                      return {};
                    });
    server_->get("/", hello);
    server_->get("/slow", slow);
    server_->get("/secret", hello);
    server_->get("/deadline", deadline);
    server_->get("/healthz", hello, Weight::Light);
    server_->add(Method::Put, "/", hello);
    start();
  }
  // How many of `tries` pipelined requests were let through, all in one instant.
  int admitted(RawClient& client, int tries) {
    std::string all;
    for (int i = 0; i < tries; ++i) all += kGet;
    client.send(all);
    int good = 0;
    for (int i = 0; i < tries; ++i) {
      const Answer answer = client.answer();
      good += answer.status == 200 ? 1 : 0;
      if (answer.status != 200) {
        EXPECT_EQ(answer.status, 429);
        EXPECT_TRUE(answer.says("Retry-After: 1"));
        EXPECT_NE(answer.body.find("\"RateLimited\""), std::string::npos);
      }
    }
    return good;
  }

  int authorized_ = 0;
};

TEST_F(IngressTest, TheRateLimitIsExact) {
  ServerSettings settings = test_settings();
  settings.max_rps = 10;
  make(settings);
  const auto client = connect();
  EXPECT_EQ(admitted(*client, 15), 10);
  EXPECT_EQ(counted("rejected_total", "rate"), 5);
  world_.run_for(500ms - 2 * kTrip - 1ns);
  EXPECT_EQ(admitted(*client, 15), 4);  // the fifth token is not whole yet
}

TEST_F(IngressTest, TheRateLimitIsSharedByConnectionsAndRefills) {
  ServerSettings settings = test_settings();
  settings.max_rps = 10;
  make(settings);
  const auto first = connect();
  const auto second = connect();
  EXPECT_EQ(admitted(*first, 6), 6);
  EXPECT_EQ(admitted(*second, 6), 4);
  world_.run_for(1s);
  EXPECT_EQ(admitted(*second, 20), 10);
}

TEST_F(IngressTest, RetryAfterIsTrue) {
  ServerSettings settings = test_settings();
  settings.max_rps = 1;
  make(settings);
  const auto client = connect();
  EXPECT_EQ(admitted(*client, 2), 1);
  world_.run_for(1s);
  EXPECT_EQ(admitted(*client, 2), 1);
}

TEST_F(IngressTest, RequestsInFlightAreBounded) {
  ServerSettings settings = test_settings();
  settings.max_inflight = 2;
  make(settings);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(connect());
    clients.back()->send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  world_.run_for(1s);
  EXPECT_EQ(counted("http_inflight_requests"), 2);
  const auto third = connect();
  const Answer busy = third->ask(kGet);
  EXPECT_EQ(busy.status, 429);
  EXPECT_TRUE(busy.says("Retry-After: 1"));
  EXPECT_NE(busy.body.find("\"Busy\""), std::string::npos);
  EXPECT_EQ(counted("rejected_total", "inflight"), 1);
  EXPECT_EQ(counted("busy_rejections_total", "GET /"), 1);
  for (const auto& client : clients) EXPECT_EQ(client->answer().status, 200);
  EXPECT_EQ(third->ask(kGet).status, 200);
  EXPECT_EQ(counted("http_inflight_requests"), 0);
}

TEST_F(IngressTest, AClientThatLeavesFreesItsPlaceAtOnce) {
  ServerSettings settings = test_settings();
  settings.max_inflight = 1;
  make(settings);
  const auto client = connect();
  client->send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  world_.run_for(1s);
  client->leave();
  world_.run_for(kTrip);
  EXPECT_EQ(counted("http_inflight_requests"), 0);
  EXPECT_EQ(connect()->ask(kGet).status, 200);
}

TEST_F(IngressTest, TheStagesStandInTheOrderOfTheirReasons) {
  std::vector<std::string_view> names;
  for (const Ingress::Stage& stage : Ingress::kStages) names.push_back(stage.name);
  const std::vector<std::string_view> order = {"body cap",  "decode guard", "rate",
                                               "in-flight", "deadline",     "capability"};
  EXPECT_EQ(names, order);
}

TEST_F(IngressTest, LightRoutesAreServedHoweverBusyTheServerIs) {
  ServerSettings settings = test_settings();
  settings.max_inflight = 1;
  settings.max_rps = 1;
  make(settings);
  const auto busy = connect();
  busy->send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  world_.run_for(1ms);
  const auto client = connect();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client->ask(kLight).status, 200);
  EXPECT_EQ(authorized_, 1);
}

TEST_F(IngressTest, LightRoutesDoNotUseTheRateOfOthers) {
  ServerSettings settings = test_settings();
  settings.max_rps = 5;
  make(settings);
  const auto client = connect();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client->ask(kLight).status, 200);
  EXPECT_EQ(admitted(*client, 5), 5);
}

TEST_F(IngressTest, TheCapabilityStageComesLast) {
  ServerSettings settings = test_settings();
  settings.max_rps = 1;
  make(settings);
  const auto client = connect();
  const Answer forbidden = client->ask("GET /secret HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(forbidden.status, 403);
  EXPECT_EQ(counted("rejected_total", "capability"), 1);
  EXPECT_EQ(counted("http_inflight_requests"), 0);
  EXPECT_EQ(client->ask("GET /secret HTTP/1.1\r\nHost: x\r\n\r\n").status, 429);
  EXPECT_EQ(authorized_, 1);
}

TEST_F(IngressTest, TheBodyCapComesBeforeTheRateLimit) {
  ServerSettings settings = test_settings();
  settings.max_rps = 1;
  make(settings);
  for (int i = 0; i < 5; ++i) {
    const auto client = connect();
    EXPECT_EQ(client->ask("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n").status,
              413);
  }
  EXPECT_EQ(connect()->ask(kGet).status, 200);
}

TEST_F(IngressTest, WhoseBodyIsTooLargeIsToldWhatToDoInstead) {
  ServerSettings settings = test_settings();
  settings.larger_body_advice = "send it in parts";
  make(settings);
  const auto answer =
      connect()->ask("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n");
  EXPECT_EQ(answer.status, 413);
  EXPECT_NE(answer.body.find("; send it in parts\""), std::string::npos) << answer.body;
}

TEST_F(IngressTest, AdmittedRequestsCarryTheDeadline) {
  make(test_settings());
  EXPECT_EQ(connect()->ask("GET /deadline HTTP/1.1\r\nHost: x\r\n\r\n").body, "30s");
}

TEST_F(IngressTest, AClientMayWaitForLessThanTheServerWould) {
  make(test_settings());
  const auto left = [&](std::string_view line) {
    return connect()
        ->ask("GET /deadline HTTP/1.1\r\nHost: x\r\n" + std::string(line) + "\r\n\r\n")
        .body;
  };
  EXPECT_EQ(left("Request-Timeout: 2"), "2s");
  EXPECT_EQ(left("Request-Timeout: 2.5"), "2500ms");
  EXPECT_EQ(left("Request-Timeout: 3600"), "30s");
  EXPECT_EQ(left("Request-Timeout: soon"), "30s");
  EXPECT_EQ(left("Deadline: 9999999999"), "30s");
}

TEST_F(IngressTest, WhatTakesLongerThanAClientWaitsIs504) {
  make(test_settings());
  const base::Duration since = since_start(world_.now());
  const auto client = connect();
  EXPECT_EQ(client->ask("GET /slow HTTP/1.1\r\nHost: x\r\nRequest-Timeout: 0.5\r\n\r\n").status,
            504);
  EXPECT_GE(since_start(world_.now()) - since, 400ms);
  EXPECT_LE(since_start(world_.now()) - since, 600ms);
  EXPECT_EQ(connect()->ask("GET /slow HTTP/1.1\r\nHost: x\r\nDeadline: 1\r\n\r\n").status, 504);
  EXPECT_EQ(counted("http_canceled_total", "deadline"), 2);
}

TEST(Ingress, NewLimitsHoldForTheNextAdmission) {
  runtime::Meters meters("svc-test");
  ServerSettings settings = test_settings();
  settings.max_conns = 1;
  Ingress ingress(meters, settings,
                  [](Request&, const Route&) -> base::Result<void> { return {}; });
  const platform::Endpoint peer = platform::Endpoint::loopback(1);
  auto first = ingress.admit_connection(peer, settings);
  EXPECT_TRUE(first.has_value());
  EXPECT_FALSE(ingress.admit_connection(peer, settings).has_value());
  settings.max_conns = 2;
  ingress.apply(settings, TimePoint());
  auto second = ingress.admit_connection(peer, settings);
  EXPECT_TRUE(second.has_value());
  EXPECT_FALSE(ingress.admit_connection(peer, settings).has_value());
}

// A client has a whole /64: changing the address within it gives it nothing more.
TEST(Ingress, AnIPv6NetworkHasOneShareOfTheConnections) {
  runtime::Meters meters("svc-test");
  ServerSettings settings = test_settings();
  settings.max_conns_per_ip = 2;
  Ingress ingress(meters, settings,
                  [](Request&, const Route&) -> base::Result<void> { return {}; });
  const auto from = [&](std::string_view text) {
    return ingress.admit_connection(*platform::Endpoint::parse(text), settings);
  };
  const auto first = from("[2001:db8:0:1::1]:1");
  const auto second = from("[2001:db8:0:1::2]:1");
  EXPECT_TRUE(first && second);
  const auto third = from("[2001:db8:0:1:ffff::3]:1");
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::Busy);
  EXPECT_EQ(third.error().details.back(),
            std::pair(std::string("address"), std::string("2001:db8:0:1::/64")));
  EXPECT_TRUE(from("[2001:db8:0:2::1]:1"));
  EXPECT_TRUE(from("192.0.2.1:1"));
}

}  // namespace
}  // namespace ron::http
