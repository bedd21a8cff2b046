// Requests that one service hands on to another in the same process.
#include <string>
#include <string_view>
#include <utility>

#include "http/server.h"
#include "http/test_support.h"

namespace ron::http {
namespace {

using namespace test;

// What the service behind saw of a request.
struct Behind {
  const RequestHead* head = nullptr;
  const BodyReader* body = nullptr;
  std::string tenant;
  bool dropped = false;
};

struct Dropped {
  Behind* behind;
  ~Dropped() { behind->dropped = true; }
};

Task<Response> note(Request* request, Behind* behind) {
  behind->head = request->head;
  behind->body = request->body;
  behind->tenant = request->tenant;
  const base::Duration left = request->deadline.at() - platform::Executor::current()->now();
  co_return Response::text(200, base::print(left), "text/plain");
}

Task<Response> first_piece(Request* request) {
  const base::Result<base::ByteView> piece = co_await request->body->next_raw();
  if (!piece) co_return Response::error(piece.error(), request->corr_id);
  co_return Response::text(200, std::string(base::as_text(*piece)), "text/plain");
}

Task<Response> waits(Behind* behind) {
  const Dropped dropped{behind};
  co_await runtime::sleep_for(10h);
  co_return Response(200);
}

// A front that hands everything on to a service that does not listen.
class ServerCallTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerSettings settings = test_settings();
    settings.max_rps = 1;
    settings.request_deadline = 20s;
    settings.max_body_bytes = {8};
    settings.max_inflight = 1;
    behind_.emplace(
        world_, node_, settings,
        [](Request& request, const Route& route) -> base::Result<void> {
          if (route.pattern == "/secret") {
            return base::fail(base::Code::Forbidden, "no");
          }
          request.tenant = "behind's own";
          return {};
        },
        "X-Behind: 1\r\n");
    behind_->get("/note", [this](Request* request) { return note(request, &saw_); });
    behind_->get("/secret", hello);
    behind_->get("/wait", [this](Request*) { return waits(&saw_); });
    behind_->add(Method::Put, "/echo", echo);
    behind_->add(Method::Put, "/first", first_piece);
    make();
    const auto hand_on = [this](Request* request) {
      request->tenant = "the front's";
      front_head_ = request->head;
      front_body_ = request->body;
      EXPECT_TRUE(request->limit_body(most_));
      return behind_->server.call(request);
    };
    for (const Method method : {Method::Get, Method::Put}) {
      server_->add(method, "/{rest...}", hand_on);
    }
    start();
  }
  static std::string get(std::string_view path) {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  }

  std::optional<TestServer> behind_;
  Behind saw_;
  std::uint64_t most_ = UINT64_MAX;  // of a body, as the front's capability says
  const RequestHead* front_head_ = nullptr;
  const BodyReader* front_body_ = nullptr;
};

TEST_F(ServerCallTest, TheRequestItselfArrivesNotACopy) {
  const Answer answer = connect()->ask(get("/note"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(saw_.head, front_head_);
  EXPECT_EQ(saw_.body, front_body_);
  EXPECT_EQ(saw_.tenant, "behind's own");
  EXPECT_EQ(reading(behind_->meters, "http_requests_total", "GET /note", "200"), 1);
}

// The front has none of its own and adds none.
TEST_F(ServerCallTest, StandingLinesAreInEveryAnswerOnce) {
  const auto count = [](const std::string& head) {
    const std::string line = "\r\nX-Behind: 1\r\n";
    const std::size_t first = head.find(line);
    if (first == std::string::npos) return 0;
    return head.find(line, first + 2) == std::string::npos ? 1 : 2;
  };
  endpoint_ = behind_->start(81);
  const platform::Endpoint behind = std::exchange(endpoint_, node_.endpoint(80));
  for (const std::string_view path : {"/note", "/secret", "/nowhere"}) {
    EXPECT_EQ(count(connect()->ask(get(path)).head), 1) << path;
    RawClient client(world_, peer_, behind);
    EXPECT_EQ(count(client.ask(get(path)).head), 1) << path;
  }
  RawClient client(world_, peer_, behind);
  EXPECT_EQ(count(client.ask("GET  / HTTP/1.1\r\n\r\n").head), 1);
  EXPECT_EQ(count(connect()->ask("GET  / HTTP/1.1\r\n\r\n").head), 0);
}

TEST_F(ServerCallTest, TheSoonerDeadlineHolds) {
  EXPECT_EQ(connect()->ask(get("/note")).body, "20s");
}

TEST_F(ServerCallTest, ABodyIsReadAsItArrives) {
  const auto client = connect();
  client->send("PUT /first HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nhalf");
  EXPECT_EQ(client->answer().body, "half");
}

TEST_F(ServerCallTest, TheTighterCapHolds) {
  const auto client = connect();
  EXPECT_EQ(
      client->ask("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n12345678").status,
      200);
  EXPECT_EQ(
      client->ask("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n123456789").status,
      413);
  EXPECT_EQ(connect()
                ->ask("PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                      "9\r\n123456789\r\n0\r\n\r\n")
                .status,
            413);
}

// What the front's capability stage allows holds for the body, whoever reads it.
TEST_F(ServerCallTest, WhatTheFrontAllowsHoldsBehindIt) {
  most_ = 4;
  const auto put = [&](std::string_view body) {
    return connect()
        ->ask("PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
              std::string(body))
        .status;
  };
  EXPECT_EQ(put("2\r\n12\r\n2\r\n34\r\n0\r\n\r\n"), 200);
  EXPECT_EQ(put("2\r\n12\r\n2\r\n34\r\n1\r\n5\r\n0\r\n\r\n"), 403);
}

TEST_F(ServerCallTest, OnlyTheRateIsNotChargedTwice) {
  const auto client = connect();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client->ask(get("/note")).status, 200);
  EXPECT_EQ(client->ask(get("/secret")).status, 403);
  EXPECT_EQ(client->ask(get("/nowhere")).status, 404);
  const auto waiting = connect();
  waiting->send(get("/wait"));
  world_.run_for(1s);
  EXPECT_EQ(client->ask(get("/note")).status, 429);  // the one place is taken
}

TEST_F(ServerCallTest, AClientThatLeavesIsNoticedBehindTheFront) {
  const auto client = connect();
  client->send(get("/wait"));
  world_.run_for(1s);
  client->leave();
  world_.run_for(kTrip);
  EXPECT_TRUE(saw_.dropped);
  EXPECT_EQ(reading(behind_->meters, "http_inflight_requests"), 0);
}

}  // namespace
}  // namespace ron::http
