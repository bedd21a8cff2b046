// svc-gateway as a process holds it, in front of servers in a simulated world.
#include "services/gateway/service.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "auth/test_support.h"
#include "http/upstream_test_support.h"
#include "services/kit/capability_gate.h"
#include "services/kit/life.h"

namespace ron::gateway {
namespace {

using namespace std::chrono_literals;
using http::Method;
using http::test::Act;
using http::test::Backend;
using platform::Signal;
using platform::Task;
using platform::test::Root;
namespace sim = platform::sim;

constexpr std::uint16_t kPort = 8080;
constexpr std::uint16_t kAdminPort = 9090;

const config::Schema& schema() {
  static const config::Schema all = [] {
    config::Schema made;
    made.add(kit::auth_section());
    made.add(gateway_section());
    return made;
  }();
  return all;
}

struct Answer {
  bool done = false;
  int status = 0;
  std::string body;
  std::string head;
  std::optional<base::Error> cut;  // what came before is not the whole body
};

Task<void> ask(http::Client* client, http::ClientRequest request, Answer* out) {
  auto response = co_await client->send(request, runtime::Deadline::in(1min));
  EXPECT_TRUE(response) << response.error().message;
  if (response) {
    out->status = response->status();
    for (const http::Field& field : response->head().fields()) {
      out->head += std::string(field.name) + ": " + std::string(field.value) + "\n";
    }
    auto body = co_await response->read_all(base::kMiB);
    if (body) out->body = base::as_text(body->view());
    if (!body) out->cut = body.error();
  }
  out->done = true;
}

class GatewayService : public ::testing::Test {
 protected:
  GatewayService() : logs_({.unix_ms = [this] { return world_.unix_ms(); }}) {
    client_.emplace(peer_.net(), http::ClientSettings{}, client_meters_);
  }
  ~GatewayService() override {
    if (life_ && !root_->done()) stop();
    client_.reset();
    service_.reset();
  }

  // With one route to these servers, and further settings.
  void start(const std::vector<Backend*>& backends, const std::string& route = "",
             std::vector<std::string> flags = {}) {
    set_file(backends, route);
    flags_ = std::move(flags);
    root_ = std::make_unique<Root>(server_.core(), live());
    run_until([this] { return listening_; });
  }
  void set_file(const std::vector<Backend*>& backends, const std::string& route) {
    std::string urls;
    for (const Backend* backend : backends) {
      urls += (urls.empty() ? "" : ", ") + ("\"" + backend->url() + "\"");
    }
    file_ = "[[gateway.routes]]\nprefix = \"/\"\nupstream = [" + urls + "]\nopen = true\n" + route;
  }
  void stop() {
    server_.signals().raise(Signal::Terminate);
    run_until([this] { return root_->done(); });
  }
  bool reload() {
    reloaded_.reset();
    server_.signals().raise(Signal::Reload);
    run_until([this] { return reloaded_.has_value(); });
    return *reloaded_;
  }

  std::unique_ptr<Root> begin(Method method, std::string_view target, std::string_view body,
                              Answer& out, std::uint16_t port = kPort) {
    bodies_.push_back(std::make_unique<base::ByteView>(base::as_bytes(body)));
    const std::span<const base::ByteView> spans(bodies_.back().get(), body.empty() ? 0 : 1);
    return std::make_unique<Root>(peer_.core(), ask(&*client_,
                                                    {.endpoint = server_.endpoint(port),
                                                     .method = method,
                                                     .target = target,
                                                     .fields = fields_,
                                                     .body = spans},
                                                    &out));
  }
  Answer get(std::string_view target, std::uint16_t port = kPort) {
    return finish(Method::Get, target, "", port);
  }
  Answer post(std::string_view target, std::string_view body) {
    return finish(Method::Post, target, body, kPort);
  }
  std::string metrics() { return get("/metrics", kAdminPort).body; }
  bool has_metric(const std::string& line) {
    return metrics().find("\n" + line + "\n") != std::string::npos;
  }
  void run_until(const std::function<bool()>& holds) {
    ASSERT_EQ(world_.run_until(holds, 10min), sim::Outcome::Done);
  }
  void authorized() { fields_ = {{"Authorization", token_}}; }

  sim::World world_{1};
  sim::Node& server_ = world_.add_node({.cores = 2});
  sim::Node& peer_ = world_.add_node();
  Backend first_{world_};
  Backend second_{world_};
  std::vector<http::Field> fields_;
  std::optional<kit::Life> life_;
  std::unique_ptr<kit::Service> service_;

 private:
  Answer finish(Method method, std::string_view target, std::string_view body, std::uint16_t port) {
    Answer answer;
    const auto asking = begin(method, target, body, answer, port);
    run_until([&answer] { return answer.done; });
    return answer;
  }
  [[nodiscard]] config::Inputs inputs() const {
    config::Inputs made;
    made.flags = flags_;
    made.file_name = "ron.toml";
    made.file_text = file_;
    made.defaults = {{"gateway.bind", "0.0.0.0:" + std::to_string(kPort)},
                     {"gateway.admin", "0.0.0.0:" + std::to_string(kAdminPort)}};
    return made;
  }
  Task<void> live() {
    const auto config = config::load(schema(), inputs());
    EXPECT_TRUE(config) << config.error().text();
    service_ = kKind.make({.host = server_.host(),
                           .config = *config,
                           .credentials = {keyring_, nullptr},
                           .logs = &logs_},
                          "");
    life_.emplace(server_.signals(), std::vector<kit::Service*>{service_.get()},
                  kit::LifeHooks{.next = [this] { return next(); },
                                 .on_listening = [this](auto&, auto&) { listening_ = true; },
                                 .on_reload = [this](const auto* why) { reloaded_ = !why; }});
    const base::Result<> lived = co_await life_->run();
    EXPECT_TRUE(lived) << lived.error().message;
  }
  std::expected<kit::NextSetup, config::ReloadRefused> next() {
    auto next = config::reload(schema(), *service_->config(), inputs());
    if (!next) return std::unexpected(std::move(next.error()));
    return kit::NextSetup{std::move(*next), {keyring_, nullptr}};
  }

  observe::LogHub logs_;
  std::shared_ptr<const auth::Keyring> keyring_ =
      std::make_shared<const auth::Keyring>(auth::testing::keyring());
  const std::string token_ = "Bearer " + auth::testing::token_with({}).text();
  std::vector<std::unique_ptr<base::ByteView>> bodies_;
  runtime::Meters client_meters_{"test"};
  std::optional<http::Client> client_;
  std::vector<std::string> flags_;
  std::string file_;
  bool listening_ = false;
  std::optional<bool> reloaded_;
  std::unique_ptr<Root> root_;
};

TEST_F(GatewayService, PassesRequestsAndAnswersThrough) {
  first_.act = {.answer =
                    "HTTP/1.1 203 Fine\r\nContent-Length: 5\r\nX-Own: 1\r\nDate: yesterday\r\n"
                    "Connection: X-Hop\r\nX-Hop: 1\r\n"
                    "Access-Control-Allow-Origin: *\r\n\r\nhello"};
  start({&first_});
  const Answer answer = post("/a/b?c=%20d", "question");
  EXPECT_EQ(answer.status, 203);
  EXPECT_EQ(answer.body, "hello");
  EXPECT_NE(answer.head.find("X-Own: 1\n"), std::string::npos);
  EXPECT_EQ(answer.head.find("X-Hop"), std::string::npos);
  EXPECT_EQ(answer.head.find("yesterday"), std::string::npos);
  EXPECT_EQ(answer.head.find("Access-Control"), std::string::npos) << "the route does not say so";
  EXPECT_TRUE(first_.request.starts_with("POST /a/b?c=%20d HTTP/1.1\r\n")) << first_.request;
  EXPECT_TRUE(first_.request.ends_with("\r\n\r\nquestion")) << first_.request;
  EXPECT_NE(first_.request.find("X-Forwarded-For: "), std::string::npos);
}

TEST_F(GatewayService, AServiceThatIsNotThereIsNamed) {
  start({&first_}, "[[gateway.routes]]\nprefix = \"/names\"\nupstream = \"inproc:index\"\n");
  const Answer answer = get("/names/x");
  EXPECT_EQ(answer.status, 404);
  EXPECT_NE(answer.body.find("svc-index"), std::string::npos) << answer.body;
}

TEST_F(GatewayService, ADeadUpstreamIsATypedError) {
  start({&first_});
  first_.die();
  const Answer answer = post("/", "once");
  EXPECT_EQ(answer.status, 502);
  EXPECT_NE(answer.body.find(R"("code":"UpstreamFail")"), std::string::npos) << answer.body;
}

TEST_F(GatewayService, AHungUpstreamIsATimeout) {
  first_.act = http::test::hangs();
  start({&first_}, "", {"gateway.upstream.deadline=500ms"});
  const Answer answer = get("/");
  EXPECT_EQ(answer.status, 504);
  EXPECT_NE(answer.body.find(R"("code":"Timeout")"), std::string::npos) << answer.body;
}

TEST_F(GatewayService, AClientInAHurryDoesNotOpenTheBreakerForOthers) {
  first_.act = http::test::answers(200);
  first_.act.after = 50ms;
  start({&first_}, "", {"gateway.retry.max_tries=1"});
  fields_ = {{"Request-Timeout", "0.005"}};
  for (int i = 0; i < 30; ++i) EXPECT_EQ(get("/").status, 504);
  fields_.clear();
  EXPECT_EQ(get("/").status, 200);
  EXPECT_TRUE(has_metric(R"(breaker_state{service="svc-gateway",target="root.0",state="open"} 0)"))
      << metrics();
}

TEST_F(GatewayService, AHungUpstreamOpensItsBreaker) {
  first_.act = http::test::hangs();
  start({&first_}, "", {"gateway.upstream.deadline=500ms", "gateway.breaker.min_volume=4"});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(get("/").status, 504);
  EXPECT_NE(get("/").body.find("BreakerOpen"), std::string::npos);
}

// What the server itself allows a request is configured as well.
TEST_F(GatewayService, AHungUpstreamOpensItsBreakerUnderTheServersDeadline) {
  first_.act = http::test::hangs();
  start({&first_}, "", {"gateway.server.request_deadline=300ms", "gateway.breaker.min_volume=4"});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(get("/").status, 504);
  EXPECT_NE(get("/").body.find("BreakerOpen"), std::string::npos);
}

// One slot, and somebody who takes his time with what he sends: before the upstream hears of it,
// and when it has the first part of it.
TEST_F(GatewayService, ABodyThatDripsHoldsNoSlot) {
  start({&first_}, "", {"gateway.upstream.concurrency=1"});
  EXPECT_EQ(get("/").status, 200);
  sim::Node& stranger = world_.add_node();
  http::test::RawClient small(world_, stranger, server_.endpoint(kPort));
  http::test::RawClient large(world_, stranger, server_.endpoint(kPort));
  http::test::RawClient chunked(world_, stranger, server_.endpoint(kPort));
  small.send("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nb");
  large.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nb");
  chunked.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n");
  for (int i = 0; i < 40; ++i) {
    world_.run_for(50ms);
    const platform::TimePoint before = world_.now();
    EXPECT_EQ(get("/").status, 200);
    EXPECT_LT(world_.now() - before, 100ms) << i;
    small.send("b");
    large.send("b");
    chunked.send("1\r\nb\r\n");
  }
}

TEST_F(GatewayService, ASmallBodyIsSentWhenAllOfItIsThere) {
  start({&first_});
  sim::Node& stranger = world_.add_node();
  http::test::RawClient slow(world_, stranger, server_.endpoint(kPort));
  slow.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhello");
  world_.run_for(2s);
  EXPECT_TRUE(has_metric(R"(gateway_turns_total{service="svc-gateway",way="bypass"} 0)"));
  EXPECT_EQ(slow.ask("hello").status, 200);
  EXPECT_TRUE(first_.request.ends_with("\r\n\r\nhellohello")) << first_.request;
}

// A large body that was waited for gets its slot again, and arrives whole.
TEST_F(GatewayService, ABodyThatLostItsSlotIsSentToItsEnd) {
  start({&first_}, "", {"gateway.upstream.concurrency=1"});
  EXPECT_EQ(get("/").status, 200);
  const std::string body(60'000, 'b');
  sim::Node& stranger = world_.add_node();
  http::test::RawClient slow(world_, stranger, server_.endpoint(kPort));
  slow.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n" + body.substr(0, 30'000));
  world_.run_for(1s);
  EXPECT_EQ(get("/").status, 200) << "the slot is free";
  EXPECT_EQ(slow.ask(body.substr(30'000)).status, 200);
  EXPECT_TRUE(first_.request.ends_with(body));
  EXPECT_EQ(get("/").status, 200) << "and again";
}

TEST_F(GatewayService, AnUpstreamDoesNotSayWhetherBrowsersKeepToTls) {
  first_.act = {.answer =
                    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
                    "strict-transport-security: max-age=99; includeSubDomains\r\n\r\n"};
  start({&first_});
  const Answer answer = get("/");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.head.find("max-age=99"), std::string::npos) << answer.head;
}

TEST_F(GatewayService, CachesAreToldThatARefusedPageIsNotEverybody) {
  start({&first_}, "cors = [\"https://app.example\"]\n");
  fields_ = {{"Origin", "https://evil.example"}};
  const Answer refused = get("/");
  EXPECT_EQ(refused.head.find("Access-Control-Allow-Origin"), std::string::npos);
  EXPECT_NE(refused.head.find("Vary: Origin\n"), std::string::npos) << refused.head;
  fields_.push_back({"Access-Control-Request-Method", "GET"});
  Answer preflight;
  const auto asking = begin(Method::Options, "/", "", preflight);
  run_until([&] { return preflight.done; });
  EXPECT_EQ(preflight.status, 403);
  EXPECT_NE(preflight.head.find("Vary: Origin\n"), std::string::npos) << preflight.head;
  fields_.clear();
  EXPECT_NE(get("/").head.find("Vary: Origin\n"), std::string::npos);
  fields_ = {{"Origin", "https://app.example"}};
  const Answer allowed = get("/");
  EXPECT_NE(allowed.head.find("Access-Control-Allow-Origin: https://app.example\n"),
            std::string::npos);
  EXPECT_NE(allowed.head.find("Vary: Origin\n"), std::string::npos) << allowed.head;
}

TEST_F(GatewayService, ABodyThatBreaksOffIsACut) {
  first_.act = http::test::breaks_off();
  start({&first_});
  const Answer answer = get("/");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.cut) << "nobody takes a part for the whole: " << answer.body;
}

TEST_F(GatewayService, HeadOfAnAnswerWithoutALengthSaysNone) {
  first_.act = {.answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"};
  start({&first_});
  Answer answer;
  const auto asking = begin(Method::Head, "/", "", answer);
  run_until([&] { return answer.done; });
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.head.find("Content-Length"), std::string::npos) << answer.head;
}

TEST_F(GatewayService, ARaisedLimitOfRequestsHoldsForTheirConnectionsToo) {
  first_.act = http::test::answers(200);
  first_.act.after = 20ms;
  start({&first_}, "[gateway.server]\nmax_inflight = 1\n",
        {"gateway.upstream.max_connections=1", "gateway.retry.max_tries=1"});
  set_file({&first_}, "[gateway.server]\nmax_inflight = 64\n");
  ASSERT_TRUE(reload());
  std::array<Answer, 12> answers;
  std::vector<std::unique_ptr<Root>> asking;
  for (Answer& answer : answers) asking.push_back(begin(Method::Get, "/", "", answer));
  run_until([&] { return std::ranges::all_of(answers, &Answer::done); });
  for (const Answer& answer : answers) EXPECT_EQ(answer.status, 200) << answer.body;
}

TEST_F(GatewayService, ReadsGoToTheOtherMember) {
  start({&first_, &second_});
  first_.die();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(get("/").status, 200);
  EXPECT_GE(second_.asked, 10U);
}

TEST_F(GatewayService, TellsOperatorsAboutUpstreamsAndTenants) {
  start({&first_, &second_});
  EXPECT_EQ(get("/admin/upstreams", kAdminPort).status, 401);
  get("/");
  world_.run_for(2s);
  authorized();
  const std::string upstreams = get("/admin/upstreams", kAdminPort).body;
  EXPECT_NE(upstreams.find(R"("name":"root.1")"), std::string::npos) << upstreams;
  EXPECT_NE(upstreams.find(R"("state":"healthy")"), std::string::npos) << upstreams;
  const std::string tenants = get("/admin/tenants", kAdminPort).body;
  EXPECT_NE(tenants.find(R"("share":1)"), std::string::npos) << tenants;
  EXPECT_NE(tenants.find(R"("jain_index":1)"), std::string::npos) << tenants;
}

TEST_F(GatewayService, ADrainedMemberGetsNothingNew) {
  start({&first_, &second_});
  authorized();
  Answer drained;
  const auto draining =
      begin(Method::Post, "/admin/upstreams/root.0/drain", "", drained, kAdminPort);
  run_until([&] { return drained.done; });
  EXPECT_EQ(drained.status, 200) << drained.body;
  const std::size_t before = first_.asked;
  for (int i = 0; i < 6; ++i) EXPECT_EQ(get("/").status, 200);
  EXPECT_EQ(first_.asked, before);
  Answer nobody;
  const auto wrong = begin(Method::Post, "/admin/upstreams/x/drain", "", nobody, kAdminPort);
  run_until([&] { return nobody.done; });
  EXPECT_EQ(nobody.status, 404);
}

// Without the bound one client holds as many connections, and upstreams, as it likes.
TEST_F(GatewayService, OneTenantHasItsShareOfTheEventStreams) {
  first_.act = {.answer = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"};
  start({&first_}, "", {"gateway.sse.max_streams_per_tenant=2"});
  std::array<Answer, 3> answers;
  std::vector<std::unique_ptr<Root>> open;
  for (Answer& answer : answers) {
    open.push_back(begin(Method::Get, "/stream", "", answer));
    run_until([&] { return answer.status != 0; });
  }
  EXPECT_EQ(answers[0].status, 200);
  EXPECT_EQ(answers[1].status, 200);
  run_until([&] { return answers[2].done; });
  EXPECT_EQ(answers[2].status, 429) << answers[2].body;
  EXPECT_NE(answers[2].head.find("Retry-After: 1\n"), std::string::npos) << answers[2].head;
  for (const char* const said :
       {R"("tenant":)", R"("share_of":"address )", R"("max_streams_per_tenant":"2")"}) {
    EXPECT_NE(answers[2].body.find(said), std::string::npos) << answers[2].body;
  }
  EXPECT_TRUE(
      has_metric(R"(http_event_streams_refused_total{service="svc-gateway",full="share"} 1)"));
  // A client that leaves gives its place back.
  world_.run_for(1s);
  open.erase(open.begin());
  world_.run_for(1s);
  Answer again;
  const auto reopened = begin(Method::Get, "/stream", "", again);
  run_until([&] { return again.status != 0; });
  EXPECT_EQ(again.status, 200);
}

TEST_F(GatewayService, AReloadMovesTheRoutes) {
  start({&first_});
  EXPECT_EQ(get("/").status, 200);
  set_file({&second_}, "");
  ASSERT_TRUE(reload());
  const std::size_t before = first_.asked;
  EXPECT_EQ(get("/").status, 200);
  EXPECT_EQ(first_.asked, before);
  EXPECT_GE(second_.asked, 1U);
}

TEST_F(GatewayService, AnEncodedBodyIsJudgedBeforeItGoesOn) {
  start({&first_});
  fields_ = {{"Content-Encoding", "gzip"}};
  const Answer answer = post("/", "this is not gzip");
  EXPECT_EQ(answer.status, 400) << answer.body;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(first_.request.find("POST"), std::string::npos);
}

TEST_F(GatewayService, CountsTurns) {
  start({&first_});
  for (int i = 0; i < 3; ++i) get("/");
  EXPECT_TRUE(has_metric(R"(gateway_turns_total{service="svc-gateway",way="bypass"} 3)"));
  EXPECT_TRUE(has_metric(R"(gateway_turns_total{service="svc-gateway",way="queued"} 0)"));
}

TEST_F(GatewayService, WorkersThatFailAreStartedAgain) {
  start({&first_}, "", {"safety.danger_ok=true", "gateway.debug.fail_workers=3"});
  world_.run_for(5s);
  EXPECT_TRUE(has_metric(R"(tasks_restarted_total{service="svc-gateway",kind="worker"} 3)"));
  EXPECT_TRUE(has_metric(R"(gateway_workers{service="svc-gateway"} 2)"));
  EXPECT_TRUE(has_metric(R"(gateway_degraded{service="svc-gateway"} 0)"));
  EXPECT_EQ(get("/").status, 200);
}

TEST_F(GatewayService, StopsWithNothingLeft) {
  start({&first_, &second_});
  for (int i = 0; i < 4; ++i) get("/");
  stop();
  EXPECT_EQ(life_->aborted(), 0U);
}

}  // namespace
}  // namespace ron::gateway
