// Scene: what everyone in one simulated world shares.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/harness/http_client.h"
#include "sim/harness/journal.h"
#include "sim/harness/plan.h"
#include "sim/harness/refusals.h"
#include "sim/harness/subject.h"
#include "sim/harness/timeline.h"

namespace ron::sim {

class ServerNode;

struct Scene {
  Scene(Subject& the_subject, platform::sim::World& the_world, Journal& the_journal)
      : subject(the_subject),
        plan(the_subject.plan()),
        world(the_world),
        journal(the_journal),
        refusals(the_world) {}
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  Subject& subject;
  const Plan& plan;
  platform::sim::World& world;
  Journal& journal;
  Timeline timeline;
  Refusals refusals;
  ServerNode* server = nullptr;
  // The longest of each over all settings of the plan.
  Duration longest_deadline{};
  Duration longest_read_timeout{};
  Duration longest_write_timeout{};
  Duration longest_idle_timeout{};
  Duration longest_queue{};                       // until the workers have done what is queued
  std::map<unsigned, std::uint64_t> heavy;        // requests that pass through admission, by life
  std::vector<std::unique_ptr<HttpClient>> held;  // connections their client forgot about

  // The machines that the plan adds to those of the service and its clients.
  [[nodiscard]] platform::sim::Node& helper(std::size_t index) const {
    return world.node(1 + plan.clients.size() + index);
  }
  // The configuration these flags make; plans make only good ones.
  [[nodiscard]] std::shared_ptr<const config::Config> load(const Flags& flags) const;
  // Reads every configuration of the plan for the limits above.
  void learn_limits();
};

}  // namespace ron::sim
