#include "sim/harness/scene.h"

#include <cassert>

namespace ron::sim {

std::shared_ptr<const config::Config> Scene::load(const Flags& flags) const {
  config::Inputs inputs;
  inputs.flags = flags;
  auto loaded = config::load(subject.schema(), inputs);
  assert(loaded && "a plan makes only good configurations");
  return *loaded;
}

void Scene::learn_limits() {
  const auto learn = [this](const Flags& flags) {
    const auto config = load(flags);
    const http::ServerSettings& limits = subject.settings(*config)->server;
    const auto longest = [](Duration& known, Duration now) { known = std::max(known, now); };
    longest(longest_deadline, limits.request_deadline);
    longest(longest_read_timeout, limits.read_timeout);
    longest(longest_write_timeout, limits.write_timeout);
    longest(longest_idle_timeout, limits.idle_timeout);
    longest(longest_queue, subject.longest_queue(*config));
  };
  for (const LifePlan& life : plan.lives) {
    learn(life.flags);
    for (const ReloadPlan& reload : life.reloads) learn(reload.flags);
  }
}

}  // namespace ron::sim
