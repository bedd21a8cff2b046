#include "sim/harness/plan.h"

#include <algorithm>
#include <utility>

namespace ron::sim {
namespace {

using namespace std::chrono_literals;
using platform::sim::PerMillion;

std::string address(std::uint16_t port) { return "10.0.0.1:" + std::to_string(port); }

ClientPlan draw_client(Dice& dice) {
  ClientPlan client;
  client.seed = dice.next();
  client.link.latency = dice.pick<Duration>({20us, 200us, 2ms, 20ms});
  client.link.jitter = dice.between(Duration::zero(), client.link.latency);
  if (dice.chance(20)) client.link.bytes_per_second = dice.pick({200U, 2000U}) * 1000ULL;
  client.sessions = dice.between(1, 4);
  client.rounds = dice.between(4, 30);
  return client;
}

PerMillion rate(Dice& dice, PerMillion most) {
  return dice.chance(40) ? 0 : static_cast<PerMillion>(dice.below(most));
}

void draw_faults(Dice& dice, platform::sim::FaultPlan& faults) {
  faults.split_segment = rate(dice, 600'000);
  faults.lose_segment = rate(dice, 20'000);
  faults.reset_segment = rate(dice, 4'000);
  faults.short_write = rate(dice, 500'000);
  faults.spurious_ready = rate(dice, 200'000);
  faults.refuse_connect = rate(dice, 50'000);
  faults.fail_accept = rate(dice, 50'000);
}

Mishap draw_mishap(Dice& dice, std::size_t clients) {
  using Kind = Mishap::Kind;
  Mishap mishap;
  mishap.kind = dice.pick({Kind::Partition, Kind::Deafen, Kind::Reset, Kind::Vanish});
  mishap.at = dice.between(Duration::zero(), Duration(4s));
  mishap.client = dice.below(clients);
  mishap.lasts = dice.between(1ms, Duration(800ms));
  return mishap;
}

}  // namespace

std::string draw_ms(Dice& dice, std::uint64_t low, std::uint64_t high) {
  return std::to_string(dice.between(low, high)) + "ms";
}

void add_server_flags(Dice& dice, const std::string& section, const ServerScale& scale,
                      Flags& flags) {
  const auto add = [&](std::string_view key, const std::string& value) {
    flags.push_back(section + "." + std::string(key) + "=" + value);
  };
  add("limits.max_body_bytes", std::to_string(dice.chance(85) ? scale.body_cap : base::kKiB));
  add("limits.decode_abs_cap_bytes", std::to_string(dice.pick({1U, 16U, 512U}) * base::kKiB));
  add("limits.decode_ratio_max", std::to_string(dice.between(2, 10)));
  add("server.max_inflight", std::to_string(dice.pick({1U, 8U, 64U, 64U})));
  add("server.max_rps", std::to_string(dice.pick({20U, 200U, 100'000U, 100'000U})));
  const std::uint64_t short_deadline = std::max<std::uint64_t>(200, scale.least_deadline_ms + 150);
  add("server.request_deadline",
      draw_ms(dice, scale.least_deadline_ms,
              dice.chance(50) ? short_deadline : scale.most_deadline_ms));
  add("max_conns", std::to_string(dice.pick({3U, 8U, 32U, 32U})));
  add("max_conns_per_ip", std::to_string(dice.pick({1U, 3U, 32U, 32U})));
  add("read_timeout", draw_ms(dice, 50, 500));
  add("write_timeout", draw_ms(dice, 50, 500));
  add("idle_timeout", draw_ms(dice, 100, 1500));
  const std::uint64_t short_drain = std::max<std::uint64_t>(100, scale.least_drain_ms);
  add("drain_deadline", draw_ms(dice, scale.least_drain_ms, dice.chance(50) ? short_drain : 1500));
  flags.push_back(std::string("auth.public_reads=") + (dice.chance(85) ? "true" : "false"));
}

Flags LifeMaker::addresses(const Ports& at) const {
  return {section + ".bind=" + address(at.bind), section + ".admin=" + address(at.admin)};
}

// The same service with other hot keys and perhaps other ports; or both listeners would move, and
// one of them cannot.
ReloadPlan LifeMaker::draw_reload(Dice& dice, const Flags& fixed, std::uint16_t number) const {
  ReloadPlan reload;
  reload.after = dice.chance(15) ? Duration::zero() : dice.between(1ms, Duration(3s));
  Ports at = ports;
  if (dice.chance(40)) at.bind = static_cast<std::uint16_t>(at.bind + number);
  if (dice.chance(15)) at.admin = static_cast<std::uint16_t>(at.admin + number);
  if (dice.chance(30)) {
    constexpr std::uint16_t kFar = 100;
    at = {static_cast<std::uint16_t>(ports.bind + kFar),
          static_cast<std::uint16_t>(ports.admin + kFar)};
    reload.occupied_port = dice.pick({at.bind, at.admin});
  }
  reload.flags = addresses(at);
  reload.flags.insert(reload.flags.end(), fixed.begin(), fixed.end());
  add_hot(dice, reload.flags);
  return reload;
}

LifePlan LifeMaker::draw(Dice& dice, bool last) const {
  LifePlan life;
  Flags fixed;
  add_fixed(dice, fixed);
  life.flags = addresses(ports);
  life.flags.insert(life.flags.end(), fixed.begin(), fixed.end());
  add_hot(dice, life.flags);
  const std::size_t reloads = dice.chance(40) ? dice.between(1, 2) : 0;
  for (std::size_t i = 1; i <= reloads; ++i) {
    life.reloads.push_back(draw_reload(dice, fixed, static_cast<std::uint16_t>(i)));
  }
  std::ranges::sort(life.reloads, {}, &ReloadPlan::after);
  if (!last || dice.chance(25)) {
    life.stop_after = dice.chance(10) ? Duration::zero() : dice.between(1ms, Duration(4s));
  }
  if (dice.chance(25)) life.abort_after = dice.between(0ms, Duration(200ms));
  life.down_for = dice.between(200ms, Duration(600ms));
  return life;
}

Duration Plan::moment() const { return 20ms + world.job_cost * 5000; }

Duration Plan::network_slack(const ClientPlan& client, std::size_t bytes) const {
  Duration slack = 8 * (client.link.latency + client.link.jitter) + moment();
  if (client.link.bytes_per_second != 0) {
    // The other sessions take their share of the line.
    const std::uint64_t queued = client.sessions * (bytes + 2 * world.network.window_bytes);
    slack += Duration(
        static_cast<Duration::rep>(queued * 1'000'000'000ULL / client.link.bytes_per_second));
  }
  // A window has to come and go for every part of the bytes.
  const auto windows = static_cast<int>(bytes / world.network.window_bytes);
  slack += windows * 2 * (client.link.latency + client.link.jitter);
  if (world.faults.fail_accept != 0) slack += 500ms;
  if (world.faults.lose_segment != 0) slack += 6s + windows * 100ms;
  for (const Mishap& mishap : mishaps) slack += mishap.lasts + 2 * world.network.retransmit;
  return slack;
}

void draw_world(Dice& dice, Plan& plan) {
  plan.cores = dice.between(1, 3);
  plan.by_reference = dice.chance(50);
  plan.world.job_cost = dice.pick<Duration>({0us, 0us, 1us, 5us});
  plan.world.steps = 20'000'000;
  plan.world.steps_per_instant = 500'000;
  plan.world.network.window_bytes = dice.pick({2U, 16U, 256U}) * base::kKiB;
  plan.world.network.backlog = dice.pick({4U, 128U});
}

void draw_clients(Dice& dice, std::size_t most, Plan& plan) {
  const bool calm = dice.chance(20);
  if (!calm) draw_faults(dice, plan.world.faults);
  const std::size_t clients = dice.between(2, most);
  for (std::size_t i = 0; i < clients; ++i) plan.clients.push_back(draw_client(dice));
  const std::size_t mishaps = calm ? 0 : dice.below(5);
  for (std::size_t i = 0; i < mishaps; ++i) plan.mishaps.push_back(draw_mishap(dice, clients));
}

}  // namespace ron::sim
