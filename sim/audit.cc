#include "sim/audit.h"

#include <utility>

#include "runtime/deadline.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;

// The auditor's node has a good link.
ClientPlan good_client() { return {.link = platform::sim::LinkOptions()}; }

}  // namespace

Monitor::Monitor(Scene& scene, platform::sim::Node& node)
    : scene_(scene), node_(node), task_(node.core(), watch()) {}

Task<void> Monitor::watch() {
  Dice dice(scene_.plan.seed ^ 0x3017ULL);
  while (!stopping_ && !scene_.journal.failed()) {
    Talk talk(scene_, "monitor", node_.host(), good_client());
    bool stands = co_await talk.open(true, 200ms);
    for (int turn = 0; turn < 5 && stands && !stopping_; ++turn) {
      std::vector<Request> requests = {scene_.maker.plain(dice, Kind::Ready, 0)};
      stands = co_await talk.exchange(std::move(requests), Conduct());
      if (stands) co_await runtime::sleep_for(dice.between(1ms, Duration(40ms)));
    }
    co_await runtime::sleep_for(dice.between(1ms, Duration(80ms)));
  }
}

void check_quiet(Scene& scene, ServerNode& server) {
  const auto expect_none = [&](std::string_view gauge) {
    const std::int64_t level = server.gauge(gauge);
    if (level == 0) return;
    scene.journal.violation(
        "audit", std::string(gauge) + " is " + std::to_string(level) + " when all are gone");
  };
  expect_none("http_connections");
  expect_none("http_inflight_requests");
  expect_none("queue_depth");
}

Auditor::Auditor(Scene& scene, platform::sim::Node& node, ServerNode& server)
    : scene_(scene),
      node_(node),
      server_(server),
      dice_(scene.plan.seed ^ 0xA0D17ULL),
      task_(node.core(), audit()) {}

// Below the rate limit, however low that is.
Duration Auditor::pause() const {
  const auto& server = scene_.timeline.now_living().eras.back().config->server;
  return 1100ms / static_cast<Duration::rep>(server.max_rps);
}

void Auditor::expect(std::string outcome, std::string wanted, std::string what) {
  if (outcome == wanted) return;
  scene_.journal.violation("audit", "in a quiet world, " + what + " -> " +
                                        (outcome.empty() ? "no answer" : outcome) + ", not " +
                                        wanted);
}

Task<std::string> Auditor::ask(Kind kind, std::size_t object) {
  co_await runtime::sleep_for(pause());
  std::vector<Request> requests = {scene_.maker.plain(dice_, kind, object)};
  const bool stands = co_await talk_->exchange(std::move(requests), Conduct());
  std::string outcome = talk_->last_outcome();
  if (!stands && !scene_.journal.failed()) {
    talk_ = std::make_unique<Talk>(scene_, "audit", node_.host(), good_client());
    co_await talk_->open(false, 1s);
  }
  co_return outcome;
}

Task<bool> Auditor::read_everything() {
  for (std::size_t object = 0; object < scene_.plan.payloads.size(); ++object) {
    const std::string outcome = co_await ask(Kind::Get, object);
    if (outcome == "200") {
      ++present_;
      present_bytes_ += scene_.plan.payloads[object].bytes.size();
    } else {
      expect(outcome, "404 NotFound", "get #" + std::to_string(object));
    }
    if (scene_.journal.failed()) co_return false;
  }
  co_return true;
}

Task<void> Auditor::store_and_remove() {
  const std::size_t object = scene_.plan.payloads.size() - 1;
  const auto& config = *scene_.timeline.now_living().eras.back().config;
  const bool too_slow = config.debug_work_delay + 1ms >= config.server.request_deadline;
  std::string outcome = co_await ask(Kind::Put, object);
  if (too_slow && outcome == "504 Timeout") {
    co_return co_await runtime::sleep_for(config.debug_work_delay);
  }
  // Memory may be full: then the refusal was judged.
  if (outcome == "503 Amnesia") co_return;
  expect(std::move(outcome), "201", "put");
  outcome = co_await ask(Kind::Get, object);
  expect(std::move(outcome), "200", "get after put");
  outcome = co_await ask(Kind::Delete, object);
  expect(std::move(outcome), "204", "delete");
  outcome = co_await ask(Kind::Get, object);
  expect(std::move(outcome), "404 NotFound", "get after delete");
}

// What the service says it holds is what can be read.
void Auditor::check_books() {
  constexpr std::uint64_t kMostOverhead = 1024;
  const auto counted = static_cast<std::size_t>(server_.gauge("storage_objects"));
  if (counted != present_) {
    scene_.journal.violation("audit", std::to_string(counted) + " objects are stored, but " +
                                          std::to_string(present_) + " can be read");
  }
  const auto bytes = static_cast<std::uint64_t>(server_.gauge("storage_memory_bytes"));
  if (bytes < present_bytes_ || bytes > present_bytes_ + present_ * kMostOverhead) {
    scene_.journal.violation("audit", std::to_string(bytes) + " bytes are counted for " +
                                          std::to_string(present_bytes_) + " stored");
  }
}

Task<void> Auditor::audit() {
  talk_ = std::make_unique<Talk>(scene_, "audit", node_.host(), good_client());
  const bool open = co_await talk_->open(false, 1s);
  if (!open) {
    scene_.journal.violation("audit", "cannot connect in a quiet world");
    co_return;
  }
  const bool read = co_await read_everything();
  if (!read) co_return;
  check_books();
  std::string outcome = co_await ask(Kind::Ready, 0);
  expect(std::move(outcome), "200", "readiness");
  co_await store_and_remove();
  ++scene_.journal.tally.events["audits"];
}

}  // namespace ron::sim
