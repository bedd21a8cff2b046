#include "sim/gateway/audit.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/deadline.h"
#include "services/gateway/config.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<const gateway::GatewayConfig> settings_now(const Scene& scene) {
  return scene.timeline.now_living().eras.back().config->get(gateway::gateway_section());
}

}  // namespace

GatewayAuditor::GatewayAuditor(Talk* talk, const GatewayRequests* requests, const GatewayPlan* plan,
                               const Witness* witness)
    : talk_(*talk),
      scene_(talk->scene()),
      requests_(*requests),
      plan_(*plan),
      witness_(*witness),
      dice_(plan->seed ^ 0xA0D17ULL) {}

// Below the rate limits, however low they are.
Duration GatewayAuditor::pause() const {
  const auto settings = settings_now(scene_);
  const std::uint64_t rps = std::min(settings->server.max_rps, settings->drr.rate_limit_rps);
  return 1100ms / static_cast<Duration::rep>(rps);
}

// Enough for every breaker that is half open to close.
std::size_t GatewayAuditor::rounds() const {
  return plan_.members.size() * (1 + settings_now(scene_)->breaker.probes);
}

Task<bool> GatewayAuditor::ask(std::unique_ptr<GatewayRequest> request, std::string wanted) {
  const std::string what = request->what;
  co_await runtime::sleep_for(pause());
  const std::string outcome = co_await talk_.ask(std::move(request));
  if (outcome == wanted) co_return true;
  scene_.journal.violation("audit", "in a quiet world, " + what + " -> " +
                                        (outcome.empty() ? "no answer" : outcome) + ", not " +
                                        wanted);
  co_return false;
}

Task<void> GatewayAuditor::ask_group(std::size_t group) {
  const std::size_t rounds = this->rounds();
  for (std::size_t round = 0; round < rounds; ++round) {
    // More than one tenant is active, so that turns are needed.
    const Pass pass = dice_.pick({Pass::Tenant0, Pass::Tenant1, Pass::Nameless});
    const std::string method = dice_.pick({"GET", "PUT", "POST"});
    const bool good =
        co_await ask(requests_.plain(dice_, method, group, pass), "200 of an upstream");
    if (!good) co_return;
  }
}

Task<void> GatewayAuditor::ask_storage() {
  co_await runtime::sleep_for(pause());
  const std::string outcome = co_await talk_.ask(requests_.store(dice_, true, 0));
  // It may have been there before.
  if (outcome != "200" && outcome != "201") {
    scene_.journal.violation("audit", "in a quiet world, a store -> " + outcome);
    co_return;
  }
  co_await ask(requests_.store(dice_, false, 0), "200");
}

Task<void> GatewayAuditor::run() {
  for (std::size_t group = 0; group < plan_.groups.size(); ++group) {
    if (!scene_.journal.failed()) co_await ask_group(group);
  }
  if (scene_.journal.failed()) co_return;
  if (plan_.with_storage) co_await ask_storage();
  // Until the monitor has looked.
  co_await runtime::sleep_for(1s);
  if (const auto wrong = witness_.check_quiet()) {
    scene_.journal.violation("audit", "in a quiet world, " + *wrong);
  }
}

}  // namespace ron::sim
