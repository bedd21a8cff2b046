// Scene: what everyone in one simulated world shares.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/history.h"
#include "sim/http_client.h"
#include "sim/journal.h"
#include "sim/judge.h"
#include "sim/plan.h"
#include "sim/request.h"
#include "sim/timeline.h"

namespace ron::sim {

struct Scene {
  Scene(const Plan& the_plan, platform::sim::World& the_world, Journal& the_journal)
      : plan(the_plan),
        world(the_world),
        journal(the_journal),
        tokens(make_tokens(Dice(the_plan.seed ^ 0x70C35ULL), the_world.unix_ms() / 1000)),
        maker(the_plan.payloads, tokens) {}
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  const Plan& plan;
  platform::sim::World& world;
  Journal& journal;
  const Tokens tokens;
  const RequestMaker maker;
  Timeline timeline;
  History history;
  // The longest of each over all settings of the plan.
  Duration longest_deadline{};
  Duration longest_read_timeout{};
  Duration longest_write_timeout{};
  Duration longest_idle_timeout{};
  Duration longest_queue{};                       // until the workers have done what is queued
  std::map<unsigned, std::uint64_t> heavy;        // requests that pass through admission, by life
  std::vector<std::unique_ptr<HttpClient>> held;  // connections their client forgot about

  // What the service can have held at most, now or at any time since then. The server may see a
  // moment later than its client that a read is over.
  [[nodiscard]] std::uint64_t most_bytes(unsigned life, TimePoint since) const {
    return sim::most_bytes(plan.payloads, history, life, since - plan.moment());
  }
};

}  // namespace ron::sim
