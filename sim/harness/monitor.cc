#include "sim/harness/monitor.h"

#include <string>
#include <utility>
#include <vector>

#include "runtime/deadline.h"
#include "sim/harness/talk.h"
#include "sim/harness/tokens.h"

namespace ron::sim {

using namespace std::chrono_literals;

ClientPlan good_client() { return {.link = platform::sim::LinkOptions()}; }

RequestPtr make_probe(Dice& dice, std::string_view path) {
  auto request = std::make_unique<Request>();
  request->what = path.substr(1);
  request->corr_id = draw_corr_id(dice);
  request->asks_ready = path == "/readyz";
  request->head = "GET " + std::string(path) +
                  " HTTP/1.1\r\nHost: service\r\nX-Corr-ID: " + request->corr_id + "\r\n\r\n";
  return request;
}

Monitor::Monitor(Scene& scene, platform::sim::Node& node)
    : scene_(scene), node_(node), task_(node.core(), watch()) {}

Task<void> Monitor::watch() {
  Dice dice(scene_.plan.seed ^ 0x3017ULL);
  while (!stopping_ && !scene_.journal.failed()) {
    Talk talk(scene_, "monitor", node_.host(), good_client());
    bool stands = co_await talk.open(true, 200ms);
    for (int turn = 0; turn < 5 && stands && !stopping_; ++turn) {
      std::vector<RequestPtr> requests;
      requests.push_back(make_probe(dice, "/readyz"));
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

}  // namespace ron::sim
