// For the tests of upstream groups: servers that do as they are told, in a simulated world.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "http/client_test_support.h"
#include "http/upstream_group.h"

namespace ron::http::test {

// What a backend does with a request: says `answer`, and then ends the connection or waits for the
// next one. Nothing to say and no end: it hangs.
struct Act {
  std::string answer{};
  bool closes = false;
  base::Duration after{};
};
inline Act answers(int status, std::string_view body = "ok") {
  return {.answer = "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + std::string(body)};
}
inline Act hangs() { return {}; }
inline Act closes() { return {.closes = true}; }
// Half of what it announced.
inline Act breaks_off() {
  return {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", .closes = true};
}
inline Act stalls() { return {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"}; }

// A server in a node of its own.
class Backend {
 public:
  explicit Backend(sim::World& world) : node_(world.add_node()) { live(); }

  [[nodiscard]] std::string url() const { return "http://" + node_.endpoint(80).text(); }
  [[nodiscard]] sim::Node& node() noexcept { return node_; }
  void live() { serving_ = std::make_unique<Root>(node_.core(), serve(this)); }
  // Connections are refused, and those there are end.
  void die() {
    serving_.reset();
    connections_.clear();
  }

  Act act = answers(200);   // to a request for which there is none of the following
  std::vector<Act> script;  // one each
  std::size_t asked = 0;    // requests
  std::string request;      // the last one

 private:
  static Task<void> serve(Backend* self) {
    const auto listener = self->node_.net().listen(self->node_.endpoint(80));
    for (;;) {
      auto stream = co_await platform::test::accept(listener->get());
      self->connections_.push_back(
          std::make_unique<Root>(self->node_.core(), talk(self, std::move(stream))));
    }
  }
  static bool is_whole(const std::string& text) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    constexpr std::string_view kLength = "Content-Length: ";
    const std::size_t at = text.find(kLength);
    const std::size_t body =
        at == std::string::npos ? 0 : std::stoul(text.substr(at + kLength.size()));
    return text.size() >= end + 4 + body;
  }
  static Task<void> talk(Backend* self, std::unique_ptr<platform::Stream> stream) {
    for (;;) {
      std::string text;
      while (!is_whole(text)) {
        const auto read = co_await platform::test::read_up_to(stream.get(), 1);
        if (read.text.empty()) co_return;
        text += read.text;
      }
      ++self->asked;
      self->request = text;
      Act act = self->act;
      if (!self->script.empty()) {
        act = std::move(self->script.front());
        self->script.erase(self->script.begin());
      }
      if (act.after > 0s) co_await runtime::sleep_for(act.after);
      co_await platform::test::write_all(stream.get(), act.answer);
      if (!act.closes) continue;
      stream->shutdown_write();
      co_await platform::test::read_up_to(stream.get(), SIZE_MAX);
      co_return;
    }
  }

  sim::Node& node_;
  std::vector<std::unique_ptr<Root>> connections_;
  std::unique_ptr<Root> serving_;
};

// What became of a request that was sent to a group.
struct GroupOutcome : Outcome {
  std::string upstream;
};

inline Task<void> fetch_from(UpstreamGroup* group, Client* client, ClientRequest request,
                             Deadline deadline, GroupOutcome* out, AnswerTime time = {}) {
  base::Result<ClientResponse> response = co_await group->send(client, request, deadline, time);
  if (response) {
    out->status = response->status();
    out->upstream = response->upstream()->name();
    const base::Result<base::Buffer> body = co_await response->read_all(base::kMiB);
    if (body) out->body = base::as_text(body->view());
    if (!body) out->error = body.error();
  } else {
    out->error = response.error();
  }
  out->at = since_start(platform::Executor::current()->now());
  out->done = true;
}

// A policy under which only what a test is about happens: nothing is tried again, no breaker opens.
inline UpstreamPolicy calm() {
  UpstreamPolicy policy;
  policy.retry.max_tries = 1;
  policy.breaker.min_volume = 1'000'000;
  policy.eject_after = 0;
  return policy;
}

class UpstreamTest : public testing::Test {
 protected:
  static constexpr Method kGet = Method::Get;

  // Members are called api.0, api.1, …
  void start(std::size_t backends, UpstreamPolicy policy = calm(), ClientSettings settings = {}) {
    std::vector<UpstreamGroup::Member> members;
    for (std::size_t i = 0; i < backends; ++i) {
      backends_.push_back(std::make_unique<Backend>(world_));
      base::Result<UpstreamAddress> address = UpstreamAddress::parse(backends_.back()->url());
      members.push_back({"api." + std::to_string(i), std::move(*address)});
    }
    world_.run_for(0ms);
    client_.emplace(peer_.net(), std::move(settings), meters_);
    group_.emplace("api", std::move(members), std::move(policy), meters_, peer_.host().random);
  }

  Backend& backend(std::size_t i) { return *backends_[i]; }
  [[nodiscard]] TimePoint now() const { return world_.now(); }

  // Starts a request; it is aborted when the handle goes.
  std::unique_ptr<Root> begin(ClientRequest what, GroupOutcome& out, base::Duration within = 60s) {
    return std::make_unique<Root>(
        peer_.core(), fetch_from(&*group_, &*client_, what, Deadline(now() + within), &out));
  }
  GroupOutcome run(ClientRequest what = {}, base::Duration within = 60s) {
    GroupOutcome out;
    const auto running = begin(what, out, within);
    EXPECT_EQ(world_.run_until([&] { return out.done; }, 600s), sim::Outcome::Done);
    return out;
  }
  void run_times(std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) run();
  }
  void probe() {
    const Root probing(peer_.core(), group_->probe(&*client_));
    EXPECT_EQ(world_.run_until([&] { return probing.done(); }, 600s), sim::Outcome::Done);
  }
  [[nodiscard]] UpstreamStatus status(std::size_t member) const {
    return group_->status(now())[member];
  }
  [[nodiscard]] std::int64_t count(std::string_view metric, std::size_t member,
                                   std::string_view outcome = {}) const {
    return reading(meters_, metric, "api." + std::to_string(member), outcome);
  }
  [[nodiscard]] std::int64_t retries() const {
    return reading(meters_, "backoff_retries_total", "upstream");
  }

  sim::World world_{7, exact_world()};
  sim::Node& peer_ = world_.add_node();
  runtime::Meters meters_{"svc-client"};
  std::vector<std::unique_ptr<Backend>> backends_;
  std::optional<Client> client_;
  std::optional<UpstreamGroup> group_;
};

}  // namespace ron::http::test
