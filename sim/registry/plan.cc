#include "sim/registry/plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/encoding.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;
using platform::sim::PerMillion;

constexpr Ports kPorts{8083, 9083};

// Patient: a client that is alone is served in time, however slow a sync is, and a stop has the
// time for a last checkpoint and for putting the ends of both logs on record.
void add_hot_flags(Dice& dice, std::uint64_t keep, bool patient, Flags& flags) {
  ServerScale server{.body_cap = 64 * base::kKiB};
  if (patient) {
    server.least_deadline_ms = 3000;
    server.most_deadline_ms = 6000;
    server.least_drain_ms = 50;
  }
  add_server_flags(dice, "registry", server, flags);
  const auto add = [&flags](std::string_view key, const std::string& value) {
    flags.push_back("registry." + std::string(key) + "=" + value);
  };
  add("storage.checkpoint_interval", draw_ms(dice, 10, dice.chance(50) ? 100 : 2000));
  add("storage.checkpoint_versions", std::to_string(dice.pick({1U, 3U, 1000U})));
  add("storage.slow_after", draw_ms(dice, 10, 500));
  add("retention.keep_versions", std::to_string(keep));
  add("verify.slice", draw_ms(dice, 1, 50));
  add("verify.pause", draw_ms(dice, 0, 100));
}

void add_fixed_flags(Dice& dice, const std::string& signers, Flags& flags) {
  const auto add = [&flags](std::string_view key, const std::string& value) {
    flags.push_back("registry." + std::string(key) + "=" + value);
  };
  flags.emplace_back("safety.danger_ok=true");
  add("storage.segment_bytes", "64KiB");
  add("proposals.max_pending", "65536");
  add("genesis.signers", signers);
  add("genesis.threshold", std::to_string(RegistryPlan::kThreshold));
  add("channels.proposals", std::to_string(dice.pick({1U, 4U, 512U})));
  add("channels.approvals", std::to_string(dice.pick({1U, 4U, 512U})));
  add("channels.committed", std::to_string(dice.pick({1U, 4U, 64U})));
  add("channels.events", std::to_string(dice.pick({1U, 4U, 64U})));
  add("channels.retention", std::to_string(dice.pick({1U, 8U})));
}

std::string signers_text(const RegistryPlan& plan) {
  std::string text;
  for (std::size_t i = 0; i < RegistryPlan::kSigners; ++i) {
    text += (i == 0 ? "[\"s" : ",\"s") + std::to_string(i) + "=" +
            base::to_base64(plan.signers[i].public_key().bytes) + "\"";
  }
  return text + "]";
}

void draw_signers(Dice& dice, RegistryPlan& plan) {
  for (std::size_t i = 0; i < RegistryPlan::kKeys; ++i) {
    std::array<std::byte, auth::SigningKey::kSeedBytes> seed{};
    for (std::byte& byte : seed) byte = static_cast<std::byte>(dice.below(256));
    plan.signers.push_back(*auth::SigningKey::from_seed(seed));
  }
}

void draw_disk(Dice& dice, RegistryPlan& plan) {
  platform::sim::FaultPlan& faults = plan.world.faults;
  if (dice.chance(40)) {
    faults.slow_sync = static_cast<PerMillion>(dice.below(20'000));
    faults.slow_sync_lasts = dice.between(10ms, Duration(2s));
    plan.start_slack = 30s;
  }
  if (dice.chance(40)) faults.reject_blocking = static_cast<PerMillion>(dice.below(50'000));
  if (dice.chance(40)) {
    plan.trouble.fail_write = static_cast<PerMillion>(dice.below(200'000));
    plan.trouble.fail_sync = static_cast<PerMillion>(dice.below(200'000));
    plan.trouble.fills_up = dice.chance(30);
  }
  plan.clock_jumps = dice.chance(30);
  plan.keep_versions = dice.chance(50) ? dice.between(1, 6) : 0;
  plan.rotates = dice.chance(40);
}

// Of the lives before the last six in ten end in the dark; that one is always audited.
void draw_lives(Dice& dice, RegistryPlan& plan) {
  const std::string signers = signers_text(plan);
  const std::size_t lives = dice.between(1, 5);
  for (std::size_t i = 1; i <= lives; ++i) {
    const bool last = i == lives;
    const LifeMaker maker{
        .section = "registry",
        .ports = kPorts,
        .add_fixed = [&signers](Dice& own, Flags& flags) { add_fixed_flags(own, signers, flags); },
        .add_hot = [&plan, last](
                       Dice& own,
                       Flags& flags) { add_hot_flags(own, plan.keep_versions, last, flags); }};
    LifePlan life = maker.draw(dice, last);
    if (last) life.stop_after.reset();
    if (!last && dice.chance(60)) {
      // Some while it still starts.
      life.cut_after = dice.chance(20) ? dice.between(0ms, Duration(30ms)) : *life.stop_after;
      life.stop_after.reset();
      life.abort_after.reset();
      // And some while it stops.
      const Duration stops_for = dice.between(0ms, Duration(100ms));
      if (dice.chance(20)) life.stop_after = std::max(*life.cut_after - stops_for, Duration(0ms));
    }
    const std::size_t mischief = dice.chance(60) ? dice.between(1, 4) : 0;
    for (std::size_t j = 0; j < mischief; ++j) {
      life.task_failures.push_back(dice.between(1ms, Duration(3s)));
    }
    plan.lives.push_back(std::move(life));
  }
}

}  // namespace

RegistryPlan make_registry_plan(std::uint64_t seed) {
  Dice dice(seed * 0x9E3779B97F4A7C15ULL + 3);
  RegistryPlan plan;
  plan.seed = seed;
  draw_world(dice, plan);
  draw_clients(dice, 6, plan);
  draw_signers(dice, plan);
  draw_disk(dice, plan);
  draw_lives(dice, plan);
  plan.largest_body = 128 * base::kKiB;
  plan.helpers = 1;  // whoever reads the event stream
  return plan;
}

}  // namespace ron::sim
