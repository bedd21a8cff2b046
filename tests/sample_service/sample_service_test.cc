// svc-sample as processes hold it, in a simulated world.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/keys.h"
#include "app/reference.h"
#include "http/client.h"
#include "http/test_support.h"
#include "platform/posix/files.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"
#include "sample_service/config.h"
#include "sample_service/service.h"
#include "services/kit/capability_gate.h"
#include "services/kit/life.h"
#include "services/kit/otel.h"
#include "services/storage/config.h"
#include "services/storage/service.h"

namespace ron::sample {
namespace {

using namespace std::chrono_literals;
using http::Method;
using platform::Signal;
using platform::Task;
using platform::test::Root;
namespace sim = platform::sim;

using Flags = std::vector<std::string>;
using Kinds = std::vector<const kit::ServiceKind*>;

constexpr std::uint16_t kPort = 8080;
constexpr std::uint16_t kAdminPort = 9090;

// For the service that exports spans.
struct TracedConfig : kit::ServiceConfig {
  bool otel_enabled = false;
  std::string otel_endpoint;
};

const config::Section<TracedConfig>& traced_section() {
  static const config::Section<TracedConfig> section("traced", "svc-traced: an exporter", [] {
    using C = TracedConfig;
    config::Group<C> group;
    group.include(kit::service_keys({.bind = "127.0.0.1:8090", .admin = "127.0.0.1:9091"}));
    group.add(config::bool_key("otel.enabled", &C::otel_enabled, "false", {}, config::Reload::Hot,
                               "export a span for each request"));
    group.add(config::text_key("otel.endpoint", &C::otel_endpoint, "", {.max = "256"},
                               config::Reload::Hot, "where to"));
    return group;
  }());
  return section;
}

const config::Schema& schema() {
  static const config::Schema all = [] {
    config::Schema made;
    made.add(kit::auth_section());
    made.add(sample_section());
    made.add(storage::storage_section());
    made.add(traced_section());
    return made;
  }();
  return all;
}

// One answer.
struct Answer {
  bool done = false;
  int status = 0;
  std::string body;
  std::string retry_after;
  base::Duration took{};
};

Task<void> ask(http::Client* client, http::ClientRequest request, Answer* out) {
  const platform::TimePoint began = platform::Executor::current()->now();
  auto response = co_await client->send(request, runtime::Deadline::in(1min));
  EXPECT_TRUE(response) << response.error().message;
  if (response) {
    out->status = response->status();
    out->retry_after = response->head().find("Retry-After").value_or("");
    const auto body = co_await response->read_all(base::kMiB);
    EXPECT_TRUE(body) << body.error().message;
    if (body) out->body = base::as_text(body->view());
  }
  out->took = platform::Executor::current()->now() - began;
  out->done = true;
}

// What came of an event stream.
struct Followed {
  int status = 0;
  std::string text;
  bool ended = false;
  std::optional<base::Error> error;  // unless it ended as it should
};

Task<void> follow_events(http::Client* client, http::ClientRequest request, Followed* out) {
  auto response = co_await client->send(request, runtime::Deadline::in(1min));
  EXPECT_TRUE(response) << response.error().message;
  out->status = response ? response->status() : -1;
  while (response && !out->ended) {
    const auto piece = co_await response->next();
    out->ended = !piece || piece->empty();
    if (piece) out->text += base::as_text(*piece);
    if (!piece) out->error = piece.error();
  }
}

class SampleService : public ::testing::Test {
 protected:
  SampleService() : logs_({.unix_ms = [this] { return world_.unix_ms(); }}) {
    keyring_ = app::load_keyring({}, server_.host().random, now_unix_s()).value();
    token_ =
        "Bearer " + app::mint_admin_token(*keyring_, server_.host().random, now_unix_s()).value();
    client_.emplace(peer_.net(), http::ClientSettings{}, client_meters_);
  }
  ~SampleService() override {
    if (life_ && !root_->done()) stop();
    client_.reset();
    services_.clear();
  }

  // A process with these services, the last in front.
  void start(Flags flags = {}, const Kinds& kinds = {&kKind}) {
    flags_ = std::move(flags);
    root_ = std::make_unique<Root>(server_.core(), live(kinds));
    run_until([this] { return listening_; });
  }
  void stop() {
    server_.signals().raise(Signal::Terminate);
    run_until([this] { return root_->done(); });
  }
  // True when it was taken over.
  bool reload(Flags flags) {
    flags_ = std::move(flags);
    reloaded_.reset();
    server_.signals().raise(Signal::Reload);
    run_until([this] { return reloaded_.has_value(); });
    return *reloaded_;
  }

  // Begins a request; the answer is there once it is done.
  std::unique_ptr<Root> begin(Method method, std::string_view target, std::string_view body,
                              Answer& out) {
    bodies_.push_back(std::make_unique<base::ByteView>(base::as_bytes(body)));
    const std::uint16_t port = target == "/echo" ? kPort : kAdminPort;
    return std::make_unique<Root>(peer_.core(), ask(&*client_,
                                                    {.endpoint = server_.endpoint(port),
                                                     .method = method,
                                                     .target = target,
                                                     .fields = fields_,
                                                     .body = {bodies_.back().get(), 1}},
                                                    &out));
  }
  std::unique_ptr<Root> follow(Followed& out) {
    return std::make_unique<Root>(
        peer_.core(),
        follow_events(&*client_,
                      {.endpoint = server_.endpoint(kPort), .target = "/events", .fields = fields_},
                      &out));
  }
  Answer get(std::string_view target) { return finish(Method::Get, target, ""); }
  Answer echo(std::string_view text) { return finish(Method::Post, "/echo", text); }
  void authorized() { fields_ = {{"Authorization", token_}}; }
  double metric(std::string_view line_start) {
    const std::string text = "\n" + get("/metrics").body;
    const std::size_t at = text.find("\n" + std::string(line_start));
    if (at == std::string::npos) return -1;
    const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    return std::stod(line.substr(line.rfind(' ')));
  }
  void run_until(const std::function<bool()>& holds) {
    ASSERT_EQ(world_.run_until(holds, 10min), sim::Outcome::Done);
  }

  sim::World world_{1};
  sim::Node& server_ = world_.add_node({.cores = 2});
  sim::Node& peer_ = world_.add_node();
  std::optional<kit::Life> life_;
  std::vector<std::unique_ptr<kit::Service>> services_;

 private:
  [[nodiscard]] std::int64_t now_unix_s() const { return world_.unix_ms() / 1000; }
  Answer finish(Method method, std::string_view target, std::string_view body) {
    Answer answer;
    const auto asking = begin(method, target, body, answer);
    run_until([&answer] { return answer.done; });
    return answer;
  }
  [[nodiscard]] config::Inputs inputs() const {
    config::Inputs made;
    made.flags = flags_;
    made.flags.insert(made.flags.begin(), "storage.amnesia=true");
    for (const char* section : {"sample", "storage", "traced"}) {
      made.defaults.emplace_back(std::string(section) + ".bind",
                                 "0.0.0.0:" + std::to_string(kPort));
      made.defaults.emplace_back(std::string(section) + ".admin",
                                 "0.0.0.0:" + std::to_string(kAdminPort));
    }
    return made;
  }
  Task<void> live(Kinds kinds) {
    const auto config = config::load(schema(), inputs());
    EXPECT_TRUE(config) << config.error().text();
    std::vector<kit::Service*> all;
    for (const kit::ServiceKind* kind : kinds) {
      services_.push_back(kind->make({.host = server_.host(),
                                      .config = *config,
                                      .credentials = {keyring_, nullptr},
                                      .logs = &logs_,
                                      .listens = kind == kinds.back()},
                                     ""));
      all.push_back(services_.back().get());
    }
    for (std::size_t i = 0; i + 1 < all.size(); ++i) all.back()->show(*all[i]);
    life_.emplace(server_.signals(), all,
                  kit::LifeHooks{.next = [this] { return next(); },
                                 .on_listening = [this](auto&, auto&) { listening_ = true; },
                                 .on_reload = [this](const auto* why) { reloaded_ = !why; }});
    const base::Result<> lived = co_await life_->run();
    EXPECT_TRUE(lived) << lived.error().message;
  }
  std::expected<kit::NextSetup, config::ReloadRefused> next() {
    auto next = config::reload(schema(), *services_.back()->config(), inputs());
    if (!next) return std::unexpected(std::move(next.error()));
    return kit::NextSetup{std::move(*next), {keyring_, nullptr}};
  }

  observe::LogHub logs_;
  std::shared_ptr<const auth::Keyring> keyring_;
  std::string token_;
  std::vector<http::Field> fields_;
  std::vector<std::unique_ptr<base::ByteView>> bodies_;
  runtime::Meters client_meters_{"test"};
  std::optional<http::Client> client_;
  Flags flags_;
  bool listening_ = false;
  std::optional<bool> reloaded_;
  std::unique_ptr<Root> root_;
};

TEST_F(SampleService, SaysWhatItIsTold) {
  start();
  const Answer answer = echo("hello");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "hello");
  EXPECT_EQ(metric("sample_echoes_total{"), 1);
}

TEST_F(SampleService, HasTheRoutesOfEveryService) {
  start();
  EXPECT_EQ(get("/healthz").body, R"({"alive":true})");
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_NE(get("/version").body.find("svc-sample"), std::string::npos);
  EXPECT_NE(get("/debug/topology").body.find(R"("worker")"), std::string::npos);
  EXPECT_NE(get("/debug/config").body.find("sample.delay"), std::string::npos);
  EXPECT_EQ(metric(R"(queue_depth{service="svc-sample",queue="work"})"), 0);
  EXPECT_NE(get("/nowhere").body.find(R"("code":"NotFound")"), std::string::npos);
}

TEST_F(SampleService, OperatorsNeedACapability) {
  start();
  EXPECT_EQ(get("/admin/echoes").status, 401);
  authorized();
  echo("once");
  EXPECT_EQ(get("/admin/echoes").body, R"({"echoes":1})");
}

TEST_F(SampleService, AFullQueueIsToldAtOnce) {
  start({"sample.delay=1s", "sample.channels.work=1"});
  std::vector<Answer> answers(3);
  std::vector<std::unique_ptr<Root>> asking;
  for (std::size_t i = 0; i < answers.size(); ++i) {  // one is said, one waits
    asking.push_back(begin(Method::Post, "/echo", "x", answers[i]));
    world_.run_for(100ms);
  }
  EXPECT_EQ(answers[2].status, 429);
  EXPECT_NE(answers[2].body.find(R"("code":"Busy")"), std::string::npos);
  EXPECT_EQ(answers[2].retry_after, "1");
  const std::string labels = R"(service="svc-sample",endpoint="POST /echo",route="POST /echo")";
  EXPECT_EQ(metric("busy_rejections_total{" + labels + "}"), 1);
  run_until([&] { return answers[0].done && answers[1].done; });
  EXPECT_EQ(answers[0].status, 200);
  EXPECT_EQ(answers[1].status, 200);
}

TEST_F(SampleService, AClientThatLeavesFreesTheWorker) {
  start({"sample.delay=5m"});
  Answer answer;
  auto asking = begin(Method::Post, "/echo", "never mind", answer);
  world_.run_for(100ms);
  asking.reset();
  world_.run_for(100ms);
  EXPECT_EQ(metric(R"(work_abandoned_total{service="svc-sample",queue="work",stage="running"})"),
            1);
  EXPECT_TRUE(reload({"sample.delay=0s"}));
  EXPECT_LT(echo("next").took, 1s);
}

TEST_F(SampleService, AReloadChangesTheKey) {
  start({"sample.delay=2s"});
  EXPECT_GE(echo("slow").took, 2s);
  EXPECT_TRUE(reload({"sample.delay=0s"}));
  EXPECT_LT(echo("fast").took, 1s);
  EXPECT_FALSE(reload({"sample.delay=1s", "sample.channels.work=3"})) << "that needs a restart";
  EXPECT_LT(echo("still").took, 1s);
  EXPECT_EQ(metric("sample_reload_success_total{"), 1);
  EXPECT_EQ(metric(R"(sample_reload_fail_total{service="svc-sample",reason="restart_required"})"),
            1);
}

TEST_F(SampleService, ADrainLetsWorkInFlightFinish) {
  start({"sample.delay=1s"});
  Answer answer;
  const auto asking = begin(Method::Post, "/echo", "last", answer);
  world_.run_for(100ms);
  stop();
  EXPECT_EQ(life_->aborted(), 0U);
  run_until([&] { return answer.done; });
  EXPECT_EQ(answer.body, "last");
}

TEST_F(SampleService, FollowersHearOfEveryEcho) {
  start();
  Followed heard;
  const auto following = follow(heard);
  run_until([&heard] { return heard.status == 200; });
  echo("one");
  echo("two");
  run_until([&heard] { return heard.text.find("two") != std::string::npos; });
  EXPECT_EQ(heard.text, "event: echoed\ndata: one\n\nevent: echoed\ndata: two\n\n");
  EXPECT_FALSE(heard.ended);
}

TEST_F(SampleService, ADrainEndsTheEventStreamWholeAndInTime) {
  start({"sample.drain_deadline=2s"});
  Followed heard;
  const auto following = follow(heard);
  run_until([&heard] { return heard.status == 200; });
  echo("last");
  const platform::TimePoint began = world_.now();
  stop();
  EXPECT_LT(world_.now() - began, 2s);
  EXPECT_EQ(life_->aborted(), 0U);
  run_until([&heard] { return heard.ended; });
  EXPECT_EQ(heard.text, "event: echoed\ndata: last\n\n");
  EXPECT_FALSE(heard.error) << heard.error->message;
}

TEST_F(SampleService, ASecondServiceIsSeenThroughTheOneInFront) {
  start({}, {&storage::kKind, &kKind});
  authorized();
  EXPECT_EQ(echo("hello").body, "hello");
  EXPECT_EQ(metric(R"(storage_draining{service="svc-storage"})"), 0);
  EXPECT_EQ(metric(R"(sample_draining{service="svc-sample"})"), 0);
  const std::string topologies = get("/debug/topology").body;
  for (const char* service : {R"("service":"svc-sample")", R"("service":"svc-storage")"}) {
    EXPECT_NE(topologies.find(service), std::string::npos) << service;
  }
  EXPECT_EQ(get("/admin/echoes").status, 200);
  EXPECT_EQ(get("/admin/stats").status, 200) << "the other's routes for operators";
  EXPECT_TRUE(reload({"sample.delay=1ms"}));
  EXPECT_EQ(metric("storage_reload_success_total{"), 1) << "all take it over";
  EXPECT_EQ(metric("sample_reload_success_total{"), 1);
  EXPECT_FALSE(reload({"sample.delay=2ms", "storage.put_workers=9"}));
  EXPECT_EQ(metric(R"(sample_reload_fail_total{service="svc-sample",reason="restart_required"})"),
            1)
      << "or none";
}

constexpr auto kUnreadyTasks = kit::all_tasks();
constexpr auto kUnreadyChannels = kit::all_channels();
constexpr runtime::Wires kUnreadyWires{"svc-unready", kUnreadyTasks, kUnreadyChannels, {}};

// A service that misses something.
class Unready final : public kit::ServiceBase {
 public:
  static const kit::ServiceKind kind;
  explicit Unready(kit::ServiceParts parts) : ServiceBase(std::move(parts), kind) {}

 private:
  void start_tasks() override {}
  void apply(const config::Config&) override {}
  [[nodiscard]] kit::Readiness readiness() const override {
    return {.ready = true, .write_ready = false, .missing = {"a disk"}};
  }
};
const kit::ServiceKind Unready::kind{.name = "unready",
                                     .help = "",
                                     .wires = &kUnreadyWires,
                                     .life = kit::kLifeMetrics<"unready">,
                                     .metrics = {},
                                     .section = kit::section_of<sample_section>,
                                     .settings = kit::settings_of<sample_section>,
                                     .make = kit::make_service<Unready>};

TEST_F(SampleService, WhatASecondServiceMissesIsSaidByTheOneInFront) {
  start({}, {&Unready::kind, &kKind});
  const Answer answer = get("/readyz");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(
      answer.body,
      R"({"ready":true,"write_ready":false,"degraded":true,"missing":["svc-unready: a disk"]})");
}

constexpr auto kTracedTasks = kit::all_tasks(kit::kOtelTask);
constexpr auto kTracedChannels = kit::all_channels(kit::kSpansChannel, kit::kCollectorChannel);
constexpr runtime::Wires kTracedWires{"svc-traced", kTracedTasks, kTracedChannels, {}};

// A service that exports spans.
class Traced final : public kit::ServiceBase {
 public:
  static const kit::ServiceKind kind;
  explicit Traced(kit::ServiceParts parts)
      : ServiceBase(std::move(parts), kind), otel_({host(), &topology(), trust(), log()}) {
    router().add({Method::Post, "/echo", auth::Access::open(), http::test::echo});
    trace_to(otel_.spans());
  }

 private:
  void start_tasks() override {
    start_task(kit::kOtelTask, *host().cores[0],
               [this](runtime::Shutdown stop) { return otel_.run(std::move(stop)); });
  }
  void apply(const config::Config& config) override {
    const auto settings = config.get(traced_section());
    otel_.apply(settings->otel_enabled, settings->otel_endpoint);
  }

  kit::OtelExporter otel_;
};
const kit::ServiceKind Traced::kind{.name = "traced",
                                    .help = "",
                                    .wires = &kTracedWires,
                                    .life = kit::kLifeMetrics<"traced">,
                                    .metrics = {},
                                    .section = kit::section_of<traced_section>,
                                    .settings = kit::settings_of<traced_section>,
                                    .make = kit::make_service<Traced>};

Task<http::Response> take_spans(http::Request* request, std::vector<std::string>* out) {
  const auto body = co_await request->body->read_all();
  EXPECT_TRUE(body);
  out->emplace_back(base::as_text(body->view()));
  co_return http::Response::json(200, "{}");
}

TEST_F(SampleService, AReloadSaysWhetherAndWhereSpansGo) {
  http::test::TestServer collector(world_, peer_);
  std::vector<std::string> batches;
  collector.add(Method::Post, "/v1/traces",
                [&batches](http::Request* request) { return take_spans(request, &batches); });
  const std::string url = "http://" + collector.start(4318).text();
  start({}, {&Traced::kind});
  EXPECT_EQ(echo("unseen").status, 200);
  const Flags on = {"traced.otel.enabled=true", "traced.otel.endpoint=" + url};
  EXPECT_TRUE(reload(on));
  EXPECT_EQ(echo("seen").status, 200);
  EXPECT_EQ(metric("queue_depth{service=\"svc-traced\",queue=\"spans\"}"), 1);
  run_until([&batches] { return batches.size() == 1; });
  EXPECT_NE(batches[0].find(R"("name":"POST /echo")"), std::string::npos) << batches[0];
  EXPECT_NE(batches[0].find(R"({"stringValue":"svc-traced"})"), std::string::npos);
  EXPECT_EQ(batches[0].find("/metrics"), std::string::npos) << "operators are not traced";
  EXPECT_EQ(metric("otel_spans_exported_total{"), 1);
  EXPECT_TRUE(reload({}));
  EXPECT_EQ(echo("unseen").status, 200);
  world_.run_for(5s);
  EXPECT_EQ(batches.size(), 1U);
  EXPECT_TRUE(reload(on));
  EXPECT_EQ(echo("last").status, 200);
  stop();
  EXPECT_EQ(batches.size(), 2U) << "a stop sends what there is";
  EXPECT_EQ(life_->aborted(), 0U);
}

using Names = std::set<std::string_view>;

Names declared(const Kinds& kinds) {
  Names names;
  for (const runtime::MetricDecl* decl : app::declared_metrics(kinds)) names.insert(decl->name);
  return names;
}

TEST_F(SampleService, ExposesOnlyDeclaredMetricsAndAllOfItsOwn) {
  start();
  reload({"sample.channels.work=3"});
  Names exposed;
  for (const auto& family : services_.front()->meters().collect()) {
    exposed.insert(family.decl->name);
  }
  const Names known = declared({&kKind});
  EXPECT_TRUE(std::ranges::includes(known, exposed));
  for (const runtime::MetricDecl* own : kKind.metrics) EXPECT_TRUE(exposed.contains(own->name));
}

TEST(SampleServicePages, ComeFromItsDeclarations) {
  EXPECT_EQ(config::check_declarations(schema()).text(), "");
  const Kinds kinds = {&kKind};
  std::string all;
  for (const app::Page& page : app::reference_pages(kinds, schema())) all += page.text;
  for (const char* said : {"svc-sample", "says what it is told", "`sample_echoes_total`",
                           "sample_reload_fail_total", "sample.delay", "sample.channels.work"}) {
    EXPECT_NE(all.find(said), std::string::npos) << said;
  }
}

TEST(SampleServiceSize, IsAtMostThreeHundredLines) {
  const std::string folder = RON_SAMPLE_DIR;
  std::size_t lines = 0;
  for (const std::string& name : platform::posix::list_directory(folder).value()) {
    const bool is_code = name.ends_with(".h") || name.ends_with(".cc");
    if (!is_code || name.ends_with("_test.cc")) continue;
    const auto text = platform::posix::read_small_file(folder + "/" + name, base::kMiB);
    ASSERT_TRUE(text) << name;
    lines += static_cast<std::size_t>(std::ranges::count(*text, '\n'));
  }
  EXPECT_GT(lines, 100U);
  EXPECT_LE(lines, 300U);
}

}  // namespace
}  // namespace ron::sample
