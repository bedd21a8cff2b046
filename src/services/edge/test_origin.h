// For the tests of this folder: origins that do as they are told, over TLS in a simulated world,
// and whoever asks them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "config/load.h"
#include "http/test_support.h"
#include "platform/test_tls.h"
#include "services/edge/config.h"
#include "services/edge/fetch.h"
#include "services/edge/loader.h"
#include "services/edge/wires.h"

namespace ron::edge::test {

using namespace std::chrono_literals;
namespace sim = platform::sim;
using http::test::reading;
using platform::Task;
using platform::test::Root;

// What an origin does with a request: waits, says `answer`, and then waits for the next one, closes
// the connection or resets it. Nothing to say and no end: it hangs.
struct Act {
  enum class End : std::uint8_t { Keep, Close, Reset };
  std::string answer{};
  End end = End::Keep;
  base::Duration after{};
};

inline constexpr std::string_view kTag = "\"v1\"";

// With a strong ETag, and as long as it is.
inline Act answers(int status, std::string_view body, std::string_view fields = {},
                   std::string_view tag = kTag) {
  std::string text = "HTTP/1.1 " + std::to_string(status) + " X\r\n" + std::string(fields);
  if (!tag.empty()) text += "ETag: " + std::string(tag) + "\r\n";
  text += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  return {.answer = std::move(text)};
}
inline Act redirects(std::string_view to, int status = 302, std::string_view fields = {}) {
  return {.answer = "HTTP/1.1 " + std::to_string(status) + " X\r\nLocation: " + std::string(to) +
                    "\r\n" + std::string(fields) + "Content-Length: 0\r\n\r\n"};
}
inline Act hangs() { return {}; }
inline Act resets() { return {.end = Act::End::Reset}; }

// One host in a node of its own, with a certificate of its own, on port 443.
class Origin {
 public:
  Origin(sim::World& world, std::string host)
      : host_(std::move(host)),
        node_(world.add_node()),
        identity_(platform::test::make_identity({.host = host_})),
        tls_(platform::TlsServer::make(identity_).value()),
        serving_(node_.core(), serve(this)) {}

  [[nodiscard]] const std::string& host() const noexcept { return host_; }
  [[nodiscard]] const std::string& certificate() const noexcept { return identity_.certificates; }
  [[nodiscard]] platform::Endpoint address() const noexcept { return node_.endpoint(kHttpsPort); }
  [[nodiscard]] sim::Node& node() noexcept { return node_; }

  Act act = answers(200, "hello");    // to a request for which there is none of the following
  std::vector<Act> script;            // one each
  std::vector<std::string> requests;  // their heads

 private:
  static Task<void> serve(Origin* self) {
    const auto listener = self->node_.net().listen(self->node_.endpoint(kHttpsPort));
    for (;;) {
      auto stream = co_await platform::test::accept(listener->get());
      self->connections_.push_back(
          std::make_unique<Root>(self->node_.core(), talk(self, std::move(stream))));
    }
  }
  static Task<void> talk(Origin* self, std::unique_ptr<platform::Stream> plain) {
    const auto stream = self->tls_->secure(std::move(plain));
    const base::Result<> agreed = co_await stream->handshake(platform::kNever);
    if (!agreed) co_return;
    for (;;) {
      std::string text;
      while (!text.ends_with("\r\n\r\n")) {
        const auto read = co_await platform::test::read_up_to(stream.get(), 1);
        if (read.text.empty()) co_return;
        text += read.text;
      }
      self->requests.push_back(text);
      Act act = self->act;
      if (!self->script.empty()) {
        act = std::move(self->script.front());
        self->script.erase(self->script.begin());
      }
      if (act.after > 0s) co_await runtime::sleep_for(act.after);
      co_await platform::test::write_all(stream.get(), act.answer);
      if (act.end == Act::End::Keep) continue;
      if (act.end == Act::End::Reset) {
        stream->abort();
        co_return;
      }
      stream->shutdown_write();
      co_await platform::test::read_up_to(stream.get(), SIZE_MAX);
      co_return;
    }
  }

  std::string host_;
  sim::Node& node_;
  platform::TlsIdentity identity_;
  std::shared_ptr<const platform::TlsServer> tls_;
  std::vector<std::unique_ptr<Root>> connections_;
  Root serving_;
};

// Keeps what it is given.
class TextSink final : public BodySink {
 public:
  Task<base::Result<>> begin(const Fetched* head) override {
    ++begun;
    text.clear();
    announced = head->length;
    co_return refuses ? base::Result<>(base::fail(*refuses)) : base::Result<>();
  }
  Task<base::Result<>> write(base::ByteView piece) override {
    text += base::as_text(piece);
    co_return base::Result<>();
  }

  std::size_t begun = 0;
  std::string text;
  std::optional<std::uint64_t> announced;
  std::optional<base::Error> refuses;
};

inline EdgeConfig default_config() {
  config::Schema schema;
  schema.add(edge_section());
  return *config::load(schema, {}).value()->get(edge_section());
}

// Some origins and an edge that may ask them. Nodes of the simulation have private addresses, which
// are allowed here; all other rules are those of egress.h.
class OriginTest : public testing::Test {
 protected:
  struct Outcome {
    bool done = false;
    std::optional<Fetched> fetched;
    std::optional<base::Error> error;
    base::Duration took{};

    [[nodiscard]] int status() const { return fetched ? fetched->status : 0; }
    [[nodiscard]] std::optional<base::Code> code() const {
      return error ? std::optional(error->code) : std::nullopt;
    }
    [[nodiscard]] std::string detail(std::string_view key) const {
      if (!error) return "";
      for (const auto& [name, value] : error->details) {
        if (name == key) return value;
      }
      return "";
    }
  };

  Origin& add_origin(const std::string& host) {
    origins_.push_back(std::make_unique<Origin>(world_, host));
    Origin& origin = *origins_.back();
    edge_.resolver().set(host, {origin.address()});
    config_.allow.push_back(host);
    return origin;
  }
  // After all origins were added and the configuration is as it is to be.
  void start() {
    std::string trusted;
    for (const auto& origin : origins_) trusted += origin->certificate();
    settings_.emplace(topology_, kSettings, std::make_shared<const EdgeConfig>(config_));
    events_.emplace(topology_, kEvents, 64);
    heard_.emplace(events_->subscribe());
    rejects_.emplace(meters_);
    fetcher_.emplace(EdgeParts{.host = edge_.host(),
                               .topology = &topology_,
                               .directory = {},
                               .tls = platform::TlsClient::trusting(trusted).value(),
                               .log = observe::Log(),
                               .settings = &*settings_,
                               .events = &*events_,
                               .loader = nullptr,
                               .rejects = &*rejects_},
                     [](const platform::Endpoint& endpoint) {
                       return is_public(endpoint) || (endpoint.is_v4() && endpoint.ip[12] == 10);
                     });
    world_.run_for(0ms);
  }
  static Task<void> fetch(Fetcher* fetcher, FetchRequest request, BodySink* sink,
                          runtime::Deadline deadline, Outcome* out) {
    const platform::TimePoint since = platform::Executor::current()->now();
    base::Result<Fetched> fetched = co_await fetcher->get(std::move(request), sink, deadline);
    out->took = platform::Executor::current()->now() - since;
    if (fetched) out->fetched = std::move(*fetched);
    if (!fetched) out->error = fetched.error();
    out->done = true;
  }
  Outcome run(FetchRequest request, base::Duration within = 60s) {
    Outcome out;
    const Root running(edge_.core(), fetch(&*fetcher_, std::move(request), &sink_,
                                           runtime::Deadline(world_.now() + within), &out));
    EXPECT_EQ(world_.run_until([&] { return out.done; }, 600s), sim::Outcome::Done);
    return out;
  }
  Outcome run(const Origin& origin, std::string target = "/a") {
    return run({.host_port = origin.host(), .target = std::move(target)});
  }

  [[nodiscard]] std::int64_t rejected(std::string_view reason) const {
    return reading(meters_, "edge_rejects_total", reason);
  }
  [[nodiscard]] std::int64_t fills(std::string_view outcome) const {
    return reading(meters_, "edge_fills_total", outcome);
  }
  [[nodiscard]] std::int64_t retries() const {
    return reading(meters_, "backoff_retries_total", "live_fill");
  }
  [[nodiscard]] std::int64_t timeouts() const {
    return reading(meters_, "io_timeouts_total", "fill");
  }
  // The events since the last call.
  std::vector<EdgeEvent> events() {
    std::vector<EdgeEvent> heard;
    const Root listening(edge_.core(), listen(&*heard_, &heard));
    world_.run_for(1ms);
    return heard;
  }
  static Task<void> listen(runtime::Broadcast<EdgeEvent>::Subscription* from,
                           std::vector<EdgeEvent>* into) {
    for (;;) {
      auto event = co_await from->recv();
      if (event) into->push_back(std::get<EdgeEvent>(*event));
    }
  }

  sim::World world_{7, http::test::exact_world()};
  sim::Node& edge_ = world_.add_node();
  runtime::Meters meters_{"svc-edge"};
  runtime::Topology topology_{kWires, meters_};
  EdgeConfig config_ = [] {
    EdgeConfig config = default_config();
    config.mode = Mode::Live;
    return config;
  }();
  std::vector<std::unique_ptr<Origin>> origins_;
  std::optional<runtime::Watch<SettingsPtr>> settings_;
  std::optional<runtime::Broadcast<EdgeEvent>> events_;
  std::optional<runtime::Broadcast<EdgeEvent>::Subscription> heard_;
  std::optional<Rejects> rejects_;
  std::optional<Fetcher> fetcher_;
  TextSink sink_;
};

}  // namespace ron::edge::test
