#include "sim/index/plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "b3/hash.h"
#include "base/bytes.h"
#include "base/encoding.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;
using platform::sim::PerMillion;

constexpr Ports kPorts{8082, 9082};

std::string list_of(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "[\"" : ",\"") + item + "\"";
  return text.empty() ? "[]" : text + "]";
}

// Patient: a client that is alone is served in time, however slow a sync is.
void add_hot_flags(Dice& dice, bool patient, Flags& flags) {
  ServerScale server{.body_cap = 64 * base::kKiB};
  if (patient) {
    server.least_deadline_ms = 3000;
    server.most_deadline_ms = 6000;
  }
  add_server_flags(dice, "index", server, flags);
  const auto add = [&flags](std::string_view key, const std::string& value) {
    flags.push_back("index." + std::string(key) + "=" + value);
  };
  const std::uint64_t hedge = dice.between(5, 100);
  add("dht.alpha", std::to_string(dice.between(1, 3)));
  // In the end everybody is asked before it is said that nobody knows.
  add("dht.beta", std::to_string(patient ? 16 : dice.between(0, 2)));
  add("dht.hedge_ms", std::to_string(hedge));
  add("dht.deadline_ms", std::to_string(patient ? 2000 : dice.between(hedge + 100, 700)));
  add("cache.positive_ttl", draw_ms(dice, 0, 2000));
  add("cache.negative_ttl", draw_ms(dice, 0, 500));
  add("cache.entries", std::to_string(dice.pick({16U, 1000U})));
}

void add_fixed_flags(Dice& dice, const IndexPlan& plan, Flags& flags) {
  const auto add = [&flags](std::string_view key, const std::string& value) {
    flags.push_back("index." + std::string(key) + "=" + value);
  };
  std::vector<std::string> proxies;
  std::vector<std::string> peers;
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < plan.proxies.size(); ++i) {
    proxies.push_back(helper_url(plan, i, kProxyPort));
  }
  for (std::size_t i = 0; i < plan.peers; ++i) {
    peers.push_back(helper_url(plan, plan.proxies.size() + i, kPeerPorts.bind));
  }
  for (const auth::SigningKey& key : plan.nodes) {
    nodes.push_back(base::to_base64(key.public_key().bytes));
  }
  flags.emplace_back("safety.danger_ok=true");
  add("dht.proxies", list_of(proxies));
  add("peers", list_of(peers));
  add("discovery.nodes", list_of(nodes));
  add("server.route_concurrency", "100000");  // one limit at a time is judged
  add("workers", std::to_string(dice.pick({1U, 4U, 16U})));
  add("breaker.error_window_s", std::to_string(dice.between(1, 5)));
  add("breaker.cooldown_s", std::to_string(dice.between(1, 3)));
  add("breaker.half_open_probes", std::to_string(dice.between(1, 3)));
  add("channels.work", std::to_string(dice.pick({1U, 4U, 512U})));
  add("channels.writes", std::to_string(dice.pick({1U, 4U, 512U})));
  add("channels.cache_updates", std::to_string(dice.pick({1U, 4U, 64U})));
  add("channels.events", std::to_string(dice.pick({1U, 4U, 64U})));
}

auth::SigningKey draw_key(Dice& dice) {
  std::array<std::byte, auth::SigningKey::kSeedBytes> seed{};
  for (std::byte& byte : seed) byte = static_cast<std::byte>(dice.below(256));
  return *auth::SigningKey::from_seed(seed);
}

void draw_helpers(Dice& dice, IndexPlan& plan) {
  const bool well = dice.chance(25);
  const std::size_t proxies = dice.between(1, 5);
  for (std::size_t i = 0; i < proxies; ++i) {
    const unsigned misdeeds = well ? 0 : dice.pick({0U, 5U, 20U, 50U, 100U});
    plan.proxies.push_back({dice.next(), misdeeds});
  }
  plan.peers = 2;
  plan.helpers = proxies + plan.peers;
  for (std::size_t i = 0; i < plan.helpers; ++i) {
    platform::sim::LinkOptions link;
    link.latency = dice.pick<Duration>({20us, 200us, 2ms, 10ms});
    link.jitter = dice.between(Duration::zero(), link.latency);
    plan.links.push_back(link);
  }
  using Kind = IndexOutage::Kind;
  const std::size_t outages = well ? 0 : dice.below(6);
  for (std::size_t i = 0; i < outages; ++i) {
    plan.outages.push_back(
        {.kind = dice.pick({Kind::Kill, Kind::PowerCut, Kind::Partition, Kind::Freeze}),
         .helper = dice.below(plan.helpers),
         .at = dice.between(Duration::zero(), Duration(5s)),
         .lasts = dice.between(10ms, Duration(3s))});
  }
}

void draw_disk(Dice& dice, IndexPlan& plan) {
  platform::sim::FaultPlan& faults = plan.world.faults;
  if (dice.chance(40)) {
    faults.slow_sync = static_cast<PerMillion>(dice.below(20'000));
    faults.slow_sync_lasts = dice.between(10ms, Duration(2s));
    plan.start_slack = 30s;
  }
  if (dice.chance(40)) {
    plan.fail_write = static_cast<PerMillion>(dice.below(200'000));
    plan.fail_sync = static_cast<PerMillion>(dice.below(200'000));
  }
}

// Of the lives before the last six in ten end in the dark; that one is always audited.
void draw_lives(Dice& dice, IndexPlan& plan) {
  const std::size_t lives = dice.between(1, 4);
  for (std::size_t i = 1; i <= lives; ++i) {
    const bool last = i == lives;
    const LifeMaker maker{
        .section = "index",
        .ports = kPorts,
        .add_fixed = [&plan](Dice& own, Flags& flags) { add_fixed_flags(own, plan, flags); },
        .add_hot = [last](Dice& own, Flags& flags) { add_hot_flags(own, last, flags); }};
    LifePlan life = maker.draw(dice, last);
    if (last) life.stop_after.reset();
    if (!last && dice.chance(60)) {
      // Some while it still starts, some while it stops.
      life.cut_after = dice.chance(20) ? dice.between(0ms, Duration(30ms)) : *life.stop_after;
      life.stop_after.reset();
      life.abort_after.reset();
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

std::string_view text(ProxyDeed deed) noexcept {
  static constexpr std::array kTexts = {
#define RON_X(name, what) std::string_view(what),
      RON_SIM_PROXY_DEEDS(RON_X)
#undef RON_X
  };
  return kTexts[static_cast<std::size_t>(deed)];
}

bool IndexPlan::helpers_are_well() const {
  const platform::sim::FaultPlan& faults = world.faults;
  const bool is_network_well = faults.lose_segment == 0 && faults.reset_segment == 0 &&
                               faults.refuse_connect == 0 && faults.fail_accept == 0;
  return is_network_well && outages.empty() &&
         std::ranges::all_of(proxies, [](const ProxyPlan& proxy) { return proxy.misdeeds == 0; });
}

// Nodes are numbered from 10.0.0.1 on.
std::string helper_url(const Plan& plan, std::size_t helper, std::uint16_t port) {
  const std::size_t number = 2 + plan.clients.size() + helper;
  return "http://10.0.0." + std::to_string(number) + ":" + std::to_string(port);
}

IndexPlan make_index_plan(std::uint64_t seed) {
  Dice dice(Dice(seed * 0xBF58476D1CE4E5B9ULL).next());
  IndexPlan plan;
  plan.seed = seed;
  draw_world(dice, plan);
  draw_clients(dice, 5, plan);
  for (ClientPlan& client : plan.clients) client.rounds = 1 + client.rounds / 2;
  for (std::size_t i = 0; i < IndexPlan::kNodes; ++i) plan.nodes.push_back(draw_key(dice));
  plan.strangers.push_back(draw_key(dice));
  for (std::size_t i = 0; i < IndexPlan::kAddresses; ++i) {
    plan.addresses.push_back(b3::hash(base::as_bytes("object " + std::to_string(i))));
  }
  draw_helpers(dice, plan);
  draw_disk(dice, plan);
  draw_lives(dice, plan);
  plan.largest_body = 64 * base::kKiB;
  return plan;
}

}  // namespace ron::sim
