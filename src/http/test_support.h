// For the tests of this folder: a real server in a simulated world, and peers that speak to it (or
// to our client) byte by byte. Everything runs on virtual time: one link trip is kTrip, exactly.
#pragma once

#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "http/ingress.h"
#include "http/message.h"
#include "http/response_head.h"
#include "http/router.h"
#include "http/server.h"
#include "observe/log.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"
#include "runtime/shutdown.h"

namespace ron::http::test {

using namespace std::chrono_literals;
namespace sim = platform::sim;
using platform::Task;
using platform::TimePoint;
using platform::test::Root;

inline constexpr base::Duration kTrip = 1ms;

inline sim::WorldOptions exact_world() {
  sim::WorldOptions options;
  options.network.link = {.latency = kTrip, .jitter = 0ms, .bytes_per_second = 0};
  return options;
}

inline base::Duration since_start(TimePoint at) { return at.time_since_epoch(); }

// The value of a counter or gauge series; zero when it was never touched.
inline std::int64_t reading(const runtime::Meters& meters, std::string_view name,
                            std::string_view label = {}, std::string_view second = {}) {
  std::int64_t sum = 0;
  for (const runtime::FamilyReading& family : meters.collect()) {
    if (family.decl->name != name) continue;
    for (const runtime::SeriesReading& series : family.series) {
      if (!label.empty() && series.labels[0] != label) continue;
      if (!second.empty() && series.labels[1] != second) continue;
      sum += series.level + static_cast<std::int64_t>(series.count);
    }
  }
  return sum;
}

// Short, distinct limits, so that a test can tell which one it ran into.
inline ServerSettings test_settings() {
  ServerSettings settings;
  settings.max_conns = 100;
  settings.max_conns_per_ip = 100;
  settings.read_timeout = 5s;
  settings.write_timeout = 7s;
  settings.idle_timeout = 60s;
  settings.max_inflight = 100;
  settings.max_rps = 1'000'000;
  settings.request_deadline = 30s;
  settings.max_body_bytes = {64 * base::kKiB};
  settings.decode_abs_cap_bytes = {128 * base::kKiB};
  settings.decode_ratio_max = 10;
  return settings;
}

class CapturedLog : public observe::LogSink {
 public:
  void write(std::string_view lines) override { text += lines; }
  std::string text;
};

// What routes answer.
inline Task<Response> hello(Request*) { co_return Response::text(200, "hello", "text/plain"); }

inline Task<Response> slow(Request*) {
  co_await runtime::sleep_for(10s);
  co_return Response::text(200, "late", "text/plain");
}

inline Task<Response> echo(Request* request) {
  base::Result<base::Buffer> body = co_await request->body->read_all();
  if (!body) co_return Response::error(body.error(), request->corr_id);
  co_return Response::text(200, std::string(base::as_text(body->view())), "text/plain");
}

// A body in pieces; the piece "fail" is an IntegrityFail instead.
class ListSource final : public BodySource {
 public:
  explicit ListSource(std::deque<std::string> pieces) : pieces_(std::move(pieces)) {}
  Task<base::Result<base::ByteView>> next() override {
    if (pieces_.empty()) co_return base::ByteView();
    current_ = std::move(pieces_.front());
    pieces_.pop_front();
    if (current_ == "fail") co_return base::fail(base::Code::IntegrityFail, "rot");
    co_return base::as_bytes(current_);
  }

 private:
  std::deque<std::string> pieces_;
  std::string current_;
};

// A server on a simulated node, with whatever routes the test declares before start().
class TestServer {
 public:
  TestServer(
      sim::World& world, sim::Node& node, ServerSettings settings = test_settings(),
      Authorize authorize = [](Request&, const Route&) -> base::Result<void> { return {}; },
      std::string_view standing_lines = {})
      : router(meters),
        ingress(meters, settings, std::move(authorize)),
        server({.host = node.host(),
                .router = &router,
                .ingress = &ingress,
                .meters = &meters,
                .log = observe::Log(hub_, meters),
                .standing_lines = standing_lines},
               std::make_shared<const ServerSettings>(settings)),
        world_(world),
        node_(node) {}

  void get(std::string pattern, Handler handler, Weight weight = Weight::Heavy) {
    router.add({Method::Get, std::move(pattern), auth::Access::open(), std::move(handler), weight});
  }
  void add(Method method, std::string pattern, Handler handler) {
    router.add({method, std::move(pattern), auth::Access::open(), std::move(handler)});
  }

  // Binds and serves on every core of the node.
  platform::Endpoint start(std::uint16_t port = 80) {
    const Root binding(node_.core(), bind(this, node_.endpoint(port)));
    EXPECT_EQ(world_.run_until([&] { return binding.done(); }, 1s), sim::Outcome::Done);
    run();
    return endpoint_;
  }
  // What a supervisor does, at first and after a failure.
  void run() {
    for (std::size_t core = 0; core < server.cores(); ++core) {
      runs_.push_back(std::make_unique<Root>(node_.core(core), server.run(core, shutdown)));
    }
    world_.run_for(0ms);
  }
  void abort() { runs_.clear(); }
  void stop() { shutdown.trigger(runtime::StopReason::Signal); }
  [[nodiscard]] bool stopped() const {
    return std::ranges::all_of(runs_, [](const auto& run) { return run->done(); });
  }
  std::string log() {
    CapturedLog sink;
    hub_.drain(sink);
    return sink.text;
  }

 private:
  static Task<void> bind(TestServer* self, platform::Endpoint endpoint) {
    const auto bound = co_await self->server.bind(endpoint);
    EXPECT_TRUE(bound.has_value());
    if (bound) self->endpoint_ = *bound;
  }

  observe::LogHub hub_{{.unix_ms = [] { return std::int64_t{0}; }}};

 public:
  runtime::Meters meters{"svc-test"};
  runtime::Shutdown shutdown;
  Router router;
  Ingress ingress;
  Server server;

 private:
  sim::World& world_;
  sim::Node& node_;
  platform::Endpoint endpoint_;
  std::vector<std::unique_ptr<Root>> runs_;  // last: they use everything above
};

struct Answer {
  int status = 0;
  std::string head;
  std::string body;
  TimePoint at{};  // when its last byte arrived

  [[nodiscard]] bool says(std::string_view line) const {
    return head.find("\r\n" + std::string(line) + "\r\n") != std::string::npos;
  }
};

// A client that says exactly what it is told and remembers what it heard and when.
class RawClient {
 public:
  RawClient(sim::World& world, sim::Node& node, platform::Endpoint to) : world_(world) {
    auto connected = node.net().connect(to);
    EXPECT_TRUE(connected.has_value());
    stream_ = std::move(*connected);
    EXPECT_EQ(world_.run_until([&] { return !stream_->try_write({}).would_block(); }, 10s),
              sim::Outcome::Done);
    reader_ = std::make_unique<Root>(node.core(), listen(this));
  }

  // Everything must fit into the connection's window.
  void send(std::string_view text) {
    const base::ByteView bytes = base::as_bytes(text);
    const platform::IoResult result = stream_->try_write({&bytes, 1});
    EXPECT_TRUE(result.ok() && result.bytes == text.size());
  }
  // As much as goes out now; the rest stays in `text`.
  void send_some(std::string& text) {
    const base::ByteView bytes = base::as_bytes(text);
    const platform::IoResult result = stream_->try_write({&bytes, 1});
    text.erase(0, result.bytes);
  }
  // The next answer, once all of it is there.
  Answer answer(Method request = Method::Get, base::Duration limit = 120s) {
    std::optional<Answer> parsed;
    EXPECT_EQ(world_.run_until([&] { return (parsed = take(request)).has_value(); }, limit),
              sim::Outcome::Done)
        << "received: " << received;
    return parsed.value_or(Answer());
  }
  Answer ask(std::string_view text, Method request = Method::Get) {
    send(text);
    return answer(request);
  }
  // Runs until the server has ended the connection.
  bool wait_closed(base::Duration limit = 120s) {
    return world_.run_until([&] { return closed; }, limit) == sim::Outcome::Done;
  }
  void finish_sending() { stream_->shutdown_write(); }
  void stop_reading() { reader_.reset(); }
  void leave() {
    reader_.reset();
    stream_.reset();
  }

  std::string received;  // and not taken yet
  bool closed = false;
  bool reset = false;  // closed by a reset
  TimePoint closed_at{};

 private:
  static Task<void> listen(RawClient* self) {
    std::string buffer(65536, '\0');
    for (;;) {
      const platform::IoResult result =
          self->stream_->try_read({reinterpret_cast<std::byte*>(buffer.data()), buffer.size()});
      if (result.ok()) {
        self->received.append(buffer, 0, result.bytes);
        self->heard_at_ = platform::Executor::current()->now();
      } else if (result.would_block()) {
        co_await self->stream_->readable().wait();
      } else {
        self->closed = true;
        self->reset = result.kind == platform::IoResult::Kind::Failed;
        self->closed_at = platform::Executor::current()->now();
        co_return;
      }
    }
  }
  std::optional<Answer> take(Method request) {
    ParsedResponse head;
    const HeadOutcome outcome = parse_response_head(received, request, head);
    if (outcome.progress != Progress::Done) return std::nullopt;
    const std::size_t length = head.body == BodyKind::Length ? *head.content_length : 0;
    if (received.size() < outcome.consumed + length) return std::nullopt;
    Answer answer{head.status, received.substr(0, outcome.consumed),
                  received.substr(outcome.consumed, length), heard_at_};
    received.erase(0, outcome.consumed + length);
    return answer;
  }

  sim::World& world_;
  std::unique_ptr<platform::Stream> stream_;
  std::unique_ptr<Root> reader_;
  TimePoint heard_at_{};
};

// A server in one node and a client in another. Declare routes, then start().
class ServerTest : public testing::Test {
 protected:
  void make(ServerSettings settings = test_settings()) { server_.emplace(world_, node_, settings); }
  void start() { endpoint_ = server_->start(); }
  std::unique_ptr<RawClient> connect() {
    return std::make_unique<RawClient>(world_, peer_, endpoint_);
  }
  [[nodiscard]] base::Duration now() const { return since_start(world_.now()); }
  [[nodiscard]] std::int64_t counted(std::string_view name, std::string_view label = {},
                                     std::string_view second = {}) const {
    return reading(server_->meters, name, label, second);
  }

  sim::World world_{7, exact_world()};
  sim::Node& node_ = world_.add_node();
  sim::Node& peer_ = world_.add_node();
  platform::Endpoint endpoint_;
  std::optional<TestServer> server_;
};

}  // namespace ron::http::test
