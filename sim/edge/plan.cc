#include "sim/edge/plan.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ron::sim {
namespace {

unsigned draw(Dice& dice, unsigned low, unsigned high) {
  return static_cast<unsigned>(dice.between(low, high));
}

using namespace std::chrono_literals;
using platform::sim::PerMillion;

constexpr Ports kPorts{8084, 9084};

// Patient: a client that is alone is served in time, however slow the disk is.
void add_hot_flags(Dice& dice, const EdgePlan& plan, bool patient, Flags& flags) {
  ServerScale server{.body_cap = 64 * base::kKiB, .least_deadline_ms = 200};
  if (patient) {
    server.least_deadline_ms = 6000;
    server.most_deadline_ms = 9000;
  }
  add_server_flags(dice, "edge", server, flags);
  // Of what origins say, not of what clients do.
  std::erase_if(flags, [](const std::string& flag) {
    return flag.starts_with("edge.limits.decode_abs_cap_bytes=");
  });
  const auto add = [&flags](std::string_view key, const std::string& value) {
    flags.push_back("edge." + std::string(key) + "=" + value);
  };
  const bool unhurried = patient || plan.origins_are_well();
  add("limits.decode_abs_cap_bytes", std::to_string(512 * base::kKiB));
  add("mode", !patient && dice.chance(4) ? "offline" : "live");
  add("fill.timeout", unhurried ? "5s" : draw_ms(dice, 100, 1500));
  add("fill.max_tries", std::to_string(dice.between(1, 3)));
  add("fill.max_waiting", std::to_string(dice.pick({1U, 4U, 1024U, 1024U})));
  add("fill.max_object_bytes", std::to_string(256 * base::kKiB));
  add("cache.bytes", std::to_string(dice.pick({1U, 64U}) * base::kMiB));
  // Without a disk there is nowhere else to keep anything.
  const bool needs_memory = patient && plan.amnesia;
  const std::uint64_t memory_kib = needs_memory ? 16 * 1024 : dice.pick({0U, 64U, 1024U, 16'384U});
  add("cache.ram_bytes", std::to_string(memory_kib * base::kKiB));
  add("tiles.missing", dice.chance(50) ? "204" : "404");
  add("cache.negative_ttl", draw_ms(dice, 0, 3000));
  add("cache.stale_if_error", draw_ms(dice, 0, dice.chance(50) ? 3000 : 60'000));
}

void add_fixed_flags(Dice& dice, const EdgePlan& plan, Flags& flags) {
  const auto add = [&flags](std::string_view key, const std::string& value) {
    flags.push_back("edge." + std::string(key) + "=" + value);
  };
  flags.emplace_back("safety.danger_ok=true");
  add("allow", R"(["*.example.org"])");
  add("packs_dir", std::string(kMapDirectory));
  add("amnesia", plan.amnesia ? "true" : "false");
  add("workers", std::to_string(dice.pick({1U, 4U, 16U})));
  add("cache.entries", std::to_string(dice.pick({16U, 32U, 1000U})));
  add("channels.work", std::to_string(dice.pick({1U, 4U, 512U})));
  add("channels.events", std::to_string(dice.pick({1U, 4U, 64U})));
  add("loaders", std::to_string(dice.pick({1U, 8U})));
}

CachePolicy draw_policy(Dice& dice) {
  CachePolicy policy;
  switch (dice.below(12)) {
    case 0:
      policy.no_store = true;
      break;
    case 1:
      policy.is_private = true;
      policy.max_age_s = 10;
      break;
    case 2:
      policy.no_cache = true;
      break;
    case 3:
      policy.max_age_s = 60;
      policy.s_maxage_s = draw(dice, 0, 2);
      break;
    case 4:
      policy.max_age_s = draw(dice, 0, 2);
      policy.must_revalidate = true;
      break;
    case 5:
      policy.max_age_s = 60;
      policy.age_s = draw(dice, 57, 60);
      break;
    case 6:
      policy.max_age_s = 1;
      policy.stale_if_error_s = draw(dice, 0, 3);
      break;
    default:
      policy.max_age_s = dice.pick({0U, 1U, 2U, 5U, 60U});
      break;
  }
  policy.sets_cookie = dice.chance(60);
  policy.is_public = policy.sets_cookie && dice.chance(80);
  return policy;
}

UrlPlan draw_url(Dice& dice, std::size_t number, std::size_t origins) {
  UrlPlan url;
  url.origin = dice.below(origins);
  url.target = "/p/" + std::to_string(number) + (dice.chance(20) ? "?v=1&q=a%20b" : "");
  url.policy = draw_policy(dice);
  url.bytes = dice.chance(5) ? 0 : dice.between(30, dice.chance(70) ? 4000 : 60'000);
  if (dice.chance(70)) url.changes_every = dice.between(300ms, Duration(6s));
  url.varies = dice.chance(15);
  url.lacks_odd = dice.chance(50);
  return url;
}

void draw_urls(Dice& dice, EdgePlan& plan) {
  const std::size_t urls = EdgePlan::kHot + dice.between(10, 50);
  for (std::size_t i = 0; i < urls; ++i) {
    plan.urls.push_back(draw_url(dice, i, plan.origins.size()));
  }
  // Some lead to another one, on whichever origin; none further than that.
  for (std::size_t i = 0; i + 1 < urls; i += 5) {
    if (!dice.chance(50)) continue;
    plan.urls[i].leads_to = i + 1;
    plan.urls[i].redirect_lasts_s = dice.pick({0U, 1U, 60U});
  }
}

void draw_origins(Dice& dice, EdgePlan& plan) {
  const bool well = dice.chance(20);
  const std::size_t origins = dice.between(2, 3);
  plan.helpers = origins;
  for (std::size_t i = 0; i < origins; ++i) {
    plan.origins.push_back({.seed = dice.next(),
                            .misdeeds = well ? 0 : dice.pick({0U, 5U, 20U, 50U, 100U}),
                            .bad_names = well ? 0 : dice.pick({0U, 0U, 10U, 40U})});
    platform::sim::LinkOptions link;
    link.latency = dice.pick<Duration>({20us, 200us, 2ms, 10ms});
    link.jitter = dice.between(Duration::zero(), link.latency);
    plan.links.push_back(link);
  }
  using Kind = EdgeOutage::Kind;
  const std::size_t outages = well ? 0 : dice.below(6);
  for (std::size_t i = 0; i < outages; ++i) {
    plan.outages.push_back(
        {.kind = dice.pick({Kind::Kill, Kind::PowerCut, Kind::Partition, Kind::Freeze}),
         .origin = dice.below(origins),
         .at = dice.between(Duration::zero(), Duration(5s)),
         .lasts = dice.between(10ms, Duration(3s))});
  }
}

void draw_map(Dice& dice, EdgePlan& plan) {
  const std::size_t changes = dice.below(6);
  for (std::size_t i = 0; i < changes; ++i) {
    plan.map_changes.push_back(dice.between(100ms, Duration(20s)));
  }
}

void draw_disk(Dice& dice, EdgePlan& plan) {
  platform::sim::FaultPlan& faults = plan.world.faults;
  plan.amnesia = dice.chance(15);
  if (plan.amnesia) return;
  if (dice.chance(30)) {
    faults.slow_sync = static_cast<PerMillion>(dice.below(20'000));
    faults.slow_sync_lasts = dice.between(10ms, Duration(2s));
    plan.start_slack = 30s;
  }
  if (dice.chance(40)) {
    plan.fail_write = static_cast<PerMillion>(dice.below(200'000));
    plan.fail_sync = static_cast<PerMillion>(dice.below(200'000));
    plan.fail_read = static_cast<PerMillion>(dice.below(200'000));
    plan.rot_on_read = static_cast<PerMillion>(dice.below(100'000));
  }
}

// Of the lives before the last six in ten end in the dark; that one is always audited.
void draw_lives(Dice& dice, EdgePlan& plan) {
  const std::size_t lives = dice.between(1, 4);
  for (std::size_t i = 1; i <= lives; ++i) {
    const bool last = i == lives;
    const LifeMaker maker{
        .section = "edge",
        .ports = kPorts,
        .add_fixed = [&plan](Dice& own, Flags& flags) { add_fixed_flags(own, plan, flags); },
        .add_hot = [&plan, last](Dice& own,
                                 Flags& flags) { add_hot_flags(own, plan, last, flags); }};
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

// Nodes are numbered from 1 on: the service, its clients, the origins.
std::string address(const Plan& plan, std::string_view network, std::size_t origin) {
  return std::string(network) + std::to_string(2 + plan.clients.size() + origin);
}

}  // namespace

std::string_view text(OriginDeed deed) noexcept {
  static constexpr std::array kTexts = {
#define RON_X(name, what) std::string_view(what),
      RON_SIM_ORIGIN_DEEDS(RON_X)
#undef RON_X
  };
  return kTexts[static_cast<std::size_t>(deed)];
}

std::string CachePolicy::text() const {
  std::string out;
  const auto add = [&out](const std::string& directive) {
    out += (out.empty() ? "" : ", ") + directive;
  };
  if (no_store) add("no-store");
  if (is_private) add("private");
  if (no_cache) add("no-cache");
  if (max_age_s) add("max-age=" + std::to_string(*max_age_s));
  if (s_maxage_s) add("s-maxage=" + std::to_string(*s_maxage_s));
  if (must_revalidate) add("must-revalidate");
  if (stale_if_error_s) add("stale-if-error=" + std::to_string(*stale_if_error_s));
  if (is_public && !no_store && !is_private) add("public");
  return out;
}

Duration CachePolicy::fresh_for() const {
  const unsigned lifetime_s = s_maxage_s.value_or(max_age_s.value_or(0));
  return std::chrono::seconds(lifetime_s) - std::chrono::seconds(age_s);
}

bool EdgePlan::origins_are_well() const {
  const platform::sim::FaultPlan& faults = world.faults;
  const bool is_network_well = faults.lose_segment == 0 && faults.reset_segment == 0 &&
                               faults.refuse_connect == 0 && faults.fail_accept == 0;
  return is_network_well && outages.empty() &&
         std::ranges::all_of(origins, [](const OriginPlan& origin) {
           return origin.misdeeds == 0 && origin.bad_names == 0;
         });
}

std::string private_address(const Plan& plan, std::size_t origin) {
  return address(plan, "10.0.0.", origin);
}

std::string public_address(const Plan& plan, std::size_t origin) {
  return address(plan, "45.0.0.", origin);
}

EdgePlan make_edge_plan(std::uint64_t seed) {
  Dice dice(Dice(seed * 0x94D049BB133111EBULL).next());
  EdgePlan plan;
  plan.seed = seed;
  draw_world(dice, plan);
  draw_clients(dice, 5, plan);
  for (ClientPlan& client : plan.clients) client.rounds = 1 + client.rounds / 2;
  draw_origins(dice, plan);
  draw_urls(dice, plan);
  draw_map(dice, plan);
  draw_disk(dice, plan);
  draw_lives(dice, plan);
  plan.largest_body = 64 * base::kKiB;
  return plan;
}

}  // namespace ron::sim
