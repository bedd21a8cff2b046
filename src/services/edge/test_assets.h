// For the tests of this folder: the core of an edge on a simulated machine, and origins by script.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "config/load.h"
#include "http/uri.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"
#include "services/edge/core.h"
#include "services/edge/routes.h"
#include "services/edge/wires.h"

namespace ron::edge::testing {

// What an origin says.
struct OriginAnswer {
  int status = 200;
  std::string body{};
  KeptFields fields{};
  std::optional<base::Error> error{};  // after `sent` bytes of the body
  std::size_t sent = 0;
  base::Duration takes = std::chrono::milliseconds(10);
  bool says_length = true;
  std::string final_url{};
  Restraints restraints{};  // of a 304
};

class ScriptedOrigins final : public Origins {
 public:
  using Script = std::function<OriginAnswer(const FetchRequest&)>;
  explicit ScriptedOrigins(platform::Clock& clock) : clock_(clock) {}

  base::Result<> check(const FetchRequest& request) override {
    if (request.host_port.starts_with("denied.")) {
      return base::fail(base::Code::NotAllowed, "edge.allow does not have it");
    }
    return {};
  }
  platform::Task<base::Result<Fetched>> get(FetchRequest request, BodySink* sink,
                                            runtime::Deadline) override {
    asked.push_back(request);
    OriginAnswer answer = script(request);
    Fetched head;
    head.status = answer.status;
    head.fields = std::move(answer.fields);
    head.final_url = std::move(answer.final_url);
    head.restraints = std::move(answer.restraints);
    head.requested_ms = clock_.unix_ms();
    co_await runtime::sleep_for(answer.takes);
    head.received_ms = clock_.unix_ms();
    const bool is_refused = answer.error && answer.sent == 0;
    if (is_refused) co_return base::fail(*answer.error);
    if (answer.status == 200) {
      if (answer.says_length) head.length = answer.body.size();
      const base::Result<> begun = co_await sink->begin(&head);
      if (!begun) co_return base::fail(begun.error());
      const std::size_t until = answer.error ? answer.sent : answer.body.size();
      for (std::size_t at = 0; at < until; at += kPiece) {
        const auto piece = std::string_view(answer.body).substr(at, std::min(kPiece, until - at));
        const base::Result<> written = co_await sink->write(base::as_bytes(piece));
        if (!written) co_return base::fail(written.error());
        co_await runtime::sleep_for(std::chrono::microseconds(1));
      }
      if (answer.error) co_return base::fail(*answer.error);
    }
    co_return head;
  }

  Script script;
  std::vector<FetchRequest> asked;

 private:
  static constexpr std::size_t kPiece = 100'000;
  platform::Clock& clock_;
};

struct Answer {
  int status = 0;
  std::string lines;
  std::string body;
  bool is_cut = false;

  [[nodiscard]] std::string field(std::string_view name) const {
    const std::string wanted = "\r\n" + std::string(name) + ": ";
    const std::string all = "\r\n" + lines;
    const std::size_t at = all.find(wanted);
    if (at == std::string::npos) return "";
    const std::size_t from = at + wanted.size();
    return all.substr(from, all.find("\r\n", from) - from);
  }
};

// A request under way. Stays where it was made.
class Asked {
 public:
  Asked(platform::Executor& core, http::Router& router, std::string_view method,
        std::string_view target, std::string_view lines, runtime::Deadline deadline)
      : text_(std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: edge\r\n" +
              std::string(lines) + "\r\n") {
    EXPECT_EQ(http::parse_head(text_, head_).progress, http::Progress::Done) << text_;
    request_.head = &head_;
    const http::Target parts = http::split_target(head_.target);
    request_.path = *http::decode_path(parts.path, scratch_);
    request_.query = parts.query;
    request_.deadline = deadline;
    EXPECT_FALSE(router.route(request_)) << target;
    root_.emplace(core, run(this));
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  [[nodiscard]] bool done() const noexcept { return answer_.has_value(); }
  [[nodiscard]] const Answer& operator*() const { return *answer_; }
  [[nodiscard]] const Answer* operator->() const { return &*answer_; }

 private:
  static platform::Task<void> run(Asked* self) {
    http::Response response = co_await self->request_.route->handler(&self->request_);
    Answer answer;
    answer.status = response.status;
    answer.lines = response.lines + std::string(response.prepared_lines);
    if (auto* sized = std::get_if<http::SizedBody>(&response.body); sized && sized->source) {
      for (;;) {
        const auto piece = co_await sized->source->next();
        answer.is_cut = !piece;
        if (!piece || piece->empty()) break;
        answer.body += base::as_text(*piece);
      }
    } else {
      answer.body = base::as_text(response.bytes());
    }
    self->answer_ = std::move(answer);
  }

  const std::string text_;
  http::RequestHead head_;
  http::UriScratch scratch_;
  http::Request request_;
  std::optional<Answer> answer_;
  std::optional<platform::test::Root> root_;
};

// One life of the core and its tasks; destroying it is a crash.
class EdgeLife {
 public:
  EdgeLife(platform::sim::World& world, platform::sim::Node& node, ScriptedOrigins& origins,
           std::vector<std::string> flags, std::string directory)
      : world_(world), node_(node), config_(load(std::move(flags))) {
    core_.emplace(CoreParts{.host = node.host(),
                            .topology = &topology_,
                            .directory = std::move(directory),
                            .tls = nullptr,
                            .log = {},
                            .origins = &origins},
                  config_);
    base::Result<> opened = base::fail(base::Code::Internal, "not yet");
    const platform::test::Root opening(node.core(), keep(core_->open(), &opened));
    run_until([&] { return opening.done(); });
    EXPECT_TRUE(opened) << opened.error().message;
    add_asset_routes(router_, *core_);
    add_cache_admin_routes(router_, *core_);
    if (AssetStore* store = core_->assets().store()) {
      start(store->volume().committer(stop_));
      start(store->volume().recoverer(stop_));
      start(store->volume().compactor(stop_));
      start(store->janitor(stop_));
    }
    for (std::uint64_t i = 0; i < config_->workers; ++i) start(core_->loader().do_fills(stop_));
    for (std::uint64_t i = 0; i < config_->loaders; ++i) start(core_->loader().do_loads(stop_));
  }
  // As a process does: the workers have nothing left to do, and the janitor writes everything down.
  void stop() {
    stop_.trigger(runtime::StopReason::Signal);
    run_until([this] {
      return std::ranges::all_of(tasks_, [](const auto& task) { return task->done(); });
    });
  }

  std::unique_ptr<Asked> ask(std::string_view target, std::string_view lines = "",
                             std::string_view method = "GET") {
    return std::make_unique<Asked>(node_.core(), router_, method, target, lines,
                                   runtime::Deadline(world_.now() + std::chrono::seconds(5)));
  }
  Answer get(std::string_view target, std::string_view lines = "",
             std::string_view method = "GET") {
    const std::unique_ptr<Asked> asked = ask(target, lines, method);
    run_until([&] { return asked->done(); });
    return asked->done() ? **asked : Answer{};
  }
  std::uint64_t purge(std::function<bool(const Asset&)> is_one) {
    base::Result<std::uint64_t> purged = 0;
    const platform::test::Root root(
        node_.core(), keep(core_->assets().purge(std::move(is_one), runtime::Deadline()), &purged));
    run_until([&] { return root.done(); });
    EXPECT_TRUE(purged);
    return purged.value_or(0);
  }
  // Until nothing is left to be done on disk.
  void settle() { world_.run_for(std::chrono::seconds(2)); }
  void run_until(const std::function<bool()>& holds) {
    ASSERT_EQ(world_.run_until(holds, std::chrono::minutes(10)), platform::sim::Outcome::Done);
  }
  std::uint64_t counted(std::string_view name, std::string_view label = {}) {
    std::uint64_t sum = 0;
    for (const runtime::FamilyReading& family : meters_.collect()) {
      if (family.decl->name != name) continue;
      for (const auto& series : family.series) {
        const bool wanted =
            label.empty() || std::ranges::find(series.labels, label) != series.labels.end();
        if (wanted) sum += series.count;
      }
    }
    return sum;
  }
  Core& core() { return *core_; }
  UrlTable& table() { return const_cast<UrlTable&>(core_->assets().table()); }

 private:
  static SettingsPtr load(std::vector<std::string> flags) {
    config::Schema schema;
    schema.add(edge_section());
    config::Inputs inputs;
    inputs.flags = std::move(flags);
    const auto config = config::load(schema, inputs);
    EXPECT_TRUE(config) << (config ? "" : config.error().text());
    return (*config)->get(edge_section());
  }
  template <class T>
  static platform::Task<void> keep(platform::Task<T> task, T* out) {
    *out = co_await task;
  }
  void start(platform::Task<void> task) {
    tasks_.push_back(std::make_unique<platform::test::Root>(node_.core(), std::move(task)));
  }

  platform::sim::World& world_;
  platform::sim::Node& node_;
  SettingsPtr config_;
  runtime::Meters meters_{"svc-edge"};
  runtime::Topology topology_{kWires, meters_};
  http::Router router_{meters_};
  std::optional<Core> core_;
  runtime::Shutdown stop_;
  std::vector<std::unique_ptr<platform::test::Root>> tasks_;
};

// Fields of an answer that is fresh for so long.
inline KeptFields fresh_for(int seconds, std::string tag = "\"v1\"") {
  return {{"Content-Type", "text/plain"},
          {"Cache-Control", "max-age=" + std::to_string(seconds)},
          {"ETag", std::move(tag)}};
}

inline std::string noise(std::size_t size, std::uint64_t seed = 1) {
  std::string text(size, '\0');
  platform::FastRandom random(seed * 1'000'003 + size);
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(text.data() + i, &word, std::min<std::size_t>(8, size - i));
  }
  return text;
}

inline constexpr std::string_view kUrl = "/edge/assets/example.org/a.txt";

// An edge and an origin that says `answer_` to everything.
class AssetsTest : public ::testing::Test {
 protected:
  AssetsTest() {
    origins_.script = [this](const FetchRequest&) { return answer_; };
    answer_.body = "hello";
    answer_.fields = fresh_for(60);
  }
  void start(std::vector<std::string> flags = {}, bool is_amnesiac = false) {
    flags.emplace_back("edge.mode=live");
    life_.reset();
    life_.emplace(world_, node_, origins_, std::move(flags), is_amnesiac ? "" : "/edge");
  }
  Answer get(std::string_view target = kUrl, std::string_view lines = "",
             std::string_view method = "GET") {
    return life_->get(target, lines, method);
  }
  std::size_t asked() const { return origins_.asked.size(); }
  void fail_with(base::Code code) { answer_.error = base::Error(code, "so it is"); }

  platform::sim::World world_{1};
  platform::sim::Node& node_ = world_.add_node();
  ScriptedOrigins origins_{node_.clock()};
  OriginAnswer answer_;
  std::optional<EdgeLife> life_;
};

}  // namespace ron::edge::testing
