// svc-edge as a process holds it, in front of a real origin over TLS, in a simulated world.
#include "services/edge/service.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "auth/test_support.h"
#include "http/client.h"
#include "services/edge/test_origin.h"
#include "services/kit/capability_gate.h"
#include "services/kit/life.h"

namespace ron::edge {
namespace {

using namespace std::chrono_literals;
using platform::Signal;
using platform::Task;
using platform::test::Root;
namespace sim = platform::sim;

constexpr std::uint16_t kPort = 8084;
constexpr std::uint16_t kAdminPort = 9084;

const config::Schema& schema() {
  static const config::Schema all = [] {
    config::Schema made;
    made.add(kit::auth_section());
    made.add(edge_section());
    return made;
  }();
  return all;
}

struct Answer {
  bool done = false;
  int status = 0;
  std::string body;
  std::string head;
};

Task<void> ask(http::Client* client, http::ClientRequest request, Answer* out) {
  auto response = co_await client->send(request, runtime::Deadline::in(1min));
  if (response) {
    out->status = response->status();
    for (const http::Field& field : response->head().fields()) {
      out->head += std::string(field.name) + ": " + std::string(field.value) + "\n";
    }
    auto body = co_await response->read_all(base::kMiB);
    if (body) out->body = base::as_text(body->view());
  }
  out->done = true;
}

class EdgeService : public ::testing::Test {
 protected:
  EdgeService() : logs_({.unix_ms = [this] { return world_.unix_ms(); }}) {
    client_.emplace(peer_.net(), http::ClientSettings{}, client_meters_);
    server_.resolver().set(origin_.host(), {origin_.address()});
  }
  ~EdgeService() override {
    if (life_ && !root_->done()) stop();
    client_.reset();
    service_.reset();
  }

  void start(std::vector<std::string> flags = {}) {
    flags_ = std::move(flags);
    for (const char* flag : {"safety.danger_ok=true", "edge.mode=live",
                             "edge.allow=[\"a.example\"]", "edge.egress.allow_private=true"}) {
      flags_.emplace_back(flag);
    }
    root_ = std::make_unique<Root>(server_.core(), live());
    run_until([this] { return listening_; });
  }
  void stop() {
    server_.signals().raise(Signal::Terminate);
    run_until([this] { return root_->done(); });
  }
  void reload(std::string flag) {
    flags_.push_back(std::move(flag));
    reloaded_.reset();
    server_.signals().raise(Signal::Reload);
    run_until([this] { return reloaded_.has_value(); });
    EXPECT_TRUE(*reloaded_);
  }
  Answer get(std::string_view target, std::uint16_t port = kPort,
             std::vector<http::Field> fields = {}) {
    Answer answer;
    const Root asking(peer_.core(), ask(&*client_,
                                        {.endpoint = server_.endpoint(port),
                                         .method = http::Method::Get,
                                         .target = target,
                                         .fields = fields},
                                        &answer));
    run_until([&answer] { return answer.done; });
    return answer;
  }
  bool has_metric(const std::string& line) {
    return get("/metrics", kAdminPort).body.find("\n" + line + "\n") != std::string::npos;
  }
  void run_until(const std::function<bool()>& holds) {
    ASSERT_EQ(world_.run_until(holds, 10min), sim::Outcome::Done);
  }

  sim::World world_{1};
  sim::Node& server_ = world_.add_node({.cores = 2});
  sim::Node& peer_ = world_.add_node();
  test::Origin origin_{world_, "a.example"};
  std::optional<kit::Life> life_;
  std::unique_ptr<kit::Service> service_;

 private:
  [[nodiscard]] config::Inputs inputs() const {
    config::Inputs made;
    made.flags = flags_;
    made.defaults = {{"edge.bind", "0.0.0.0:" + std::to_string(kPort)},
                     {"edge.admin", "0.0.0.0:" + std::to_string(kAdminPort)}};
    return made;
  }
  Task<void> live() {
    const auto config = config::load(schema(), inputs());
    EXPECT_TRUE(config) << config.error().text();
    service_ = kKind.make({.host = server_.host(),
                           .config = *config,
                           .credentials = {keyring_, nullptr, trust_},
                           .logs = &logs_},
                          "/edge");
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
    return kit::NextSetup{std::move(*next), {keyring_, nullptr, trust_}};
  }

  observe::LogHub logs_;
  std::shared_ptr<const auth::Keyring> keyring_ =
      std::make_shared<const auth::Keyring>(auth::testing::keyring());
  std::shared_ptr<const platform::TlsClient> trust_ =
      platform::TlsClient::trusting(origin_.certificate()).value();
  runtime::Meters client_meters_{"test"};
  std::optional<http::Client> client_;
  std::vector<std::string> flags_;
  bool listening_ = false;
  std::optional<bool> reloaded_;
  std::unique_ptr<Root> root_;
};

constexpr std::string_view kUrl = "/edge/assets/a.example/a";

TEST_F(EdgeService, FillsFromAnOriginOnceAndThenAnswersItself) {
  origin_.act = test::answers(200, "hello", "Cache-Control: max-age=60\r\n");
  start();
  const Answer miss = get(kUrl);
  EXPECT_EQ(miss.status, 200);
  EXPECT_EQ(miss.body, "hello");
  EXPECT_NE(miss.head.find("X-Cache: miss\n"), std::string::npos) << miss.head;
  const Answer hit = get(kUrl);
  EXPECT_EQ(hit.body, "hello");
  EXPECT_NE(hit.head.find("X-Cache: hit\n"), std::string::npos) << hit.head;
  EXPECT_EQ(origin_.requests.size(), 1U);
  stop();
  EXPECT_EQ(life_->aborted(), 0U);
}

TEST_F(EdgeService, CountsRefusalsByRangeDeadlineAndRule) {
  start();
  get(kUrl);
  EXPECT_EQ(get(kUrl, kPort, {{"Range", "bytes=10-"}}).status, 416);
  EXPECT_EQ(get(kUrl, kPort, {{"Range", "bytes=x"}}).status, 400);
  EXPECT_TRUE(has_metric(R"(edge_rejects_total{service="svc-edge",reason="invalid_range"} 2)"));
  origin_.act = test::hangs();
  EXPECT_EQ(get("/edge/assets/a.example/late").status, 504);
  EXPECT_TRUE(has_metric(R"(edge_rejects_total{service="svc-edge",reason="timeout"} 1)"));
  EXPECT_EQ(get("/edge/assets/b.example/other").status, 403);
  EXPECT_TRUE(has_metric(R"(edge_rejects_total{service="svc-edge",reason="not_allowed"} 1)"));
}

TEST_F(EdgeService, TheRateIsLimitedAndSaysSo) {
  start({"edge.server.max_rps=1"});
  EXPECT_EQ(get(kUrl).status, 200);
  EXPECT_EQ(get(kUrl).status, 429);
  EXPECT_TRUE(has_metric(R"(edge_rejects_total{service="svc-edge",reason="rate_limit"} 1)"));
}

TEST_F(EdgeService, IsDegradedWhileWorkersAreStartedAgain) {
  start({"edge.workers=4"});
  EXPECT_EQ(get("/readyz").body.find("worker"), std::string::npos);
  reload("edge.debug.fail_workers=2");
  const Answer lost = get("/readyz");
  EXPECT_NE(lost.body.find("worker: 2 of 4"), std::string::npos) << lost.body;
  EXPECT_NE(lost.body.find("\"degraded\":true"), std::string::npos) << lost.body;
  world_.run_for(1s);
  const Answer back = get("/readyz");
  EXPECT_NE(back.body.find("\"degraded\":false"), std::string::npos) << back.body;
  EXPECT_EQ(get(kUrl).status, 200);
}

// In `ron up` it speaks for the whole process: nobody is sent away for it.
TEST_F(EdgeService, SaysWhatToAskForInstead) {
  start();
  for (const auto& [target, says] : std::vector<std::pair<std::string, std::string>>{
           {"/edge/assets/a.example", "/edge/assets/HOST/PATH"},
           {"/edge/sites/", "/edge/sites/SITE/"},
           {"/edge/preview", "/edge/preview/PACK"}}) {
    const Answer answer = get(target);
    EXPECT_EQ(answer.status, 404) << target;
    EXPECT_NE(answer.body.find(says), std::string::npos) << answer.body;
  }
}

// All three tries would take longer than the client waits, and so does the first.
TEST_F(EdgeService, AFillThatOutlivesItsClientIsCountedOnce) {
  origin_.act = test::hangs();
  start();
  EXPECT_EQ(get(kUrl, kPort, {{"Request-Timeout", "2"}}).status, 504);
  world_.run_for(1s);
  EXPECT_TRUE(has_metric(R"(edge_fills_total{service="svc-edge",outcome="timeout"} 1)"));
  EXPECT_TRUE(has_metric(R"(io_timeouts_total{service="svc-edge",op="fill"} 1)"));
  EXPECT_TRUE(has_metric(R"(edge_rejects_total{service="svc-edge",reason="timeout"} 1)"));
}

TEST_F(EdgeService, IsReadyWithoutAPackOrASite) {
  start({R"(edge.packs=[{name="world",path="/maps/absent.pmtiles"}])",
         R"(edge.sites=[{name="docs",target="sites/docs"}])"});
  world_.run_for(1s);
  const Answer answer = get("/readyz");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"ready":true,"write_ready":true,"degraded":true,)"
                         R"("missing":["pack world","edge.origin"]})");
}

}  // namespace
}  // namespace ron::edge
