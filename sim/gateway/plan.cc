#include "sim/gateway/plan.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ron::sim {
namespace {

using namespace std::chrono_literals;

constexpr Ports kPorts{8080, 9080};
constexpr std::size_t kObjects = 4;
constexpr std::uint64_t kBodyCap = 32 * base::kKiB;
constexpr std::uint64_t kLargestAnswer = 48 * base::kKiB;

MemberPlan draw_member(Dice& dice, bool calm) {
  MemberPlan member;
  member.seed = dice.next();
  member.misdeeds = calm ? 0 : dice.pick({0U, 3U, 10U, 30U, 80U});
  member.bad_probes = calm ? 0 : dice.pick({0U, 0U, 10U, 60U});
  member.link.latency = dice.pick<Duration>({20us, 200us, 2ms});
  member.link.jitter = dice.between(Duration::zero(), member.link.latency);
  return member;
}

Outage draw_outage(Dice& dice, std::size_t members) {
  using Kind = Outage::Kind;
  Outage outage;
  outage.kind = dice.pick({Kind::Kill, Kind::PowerCut, Kind::Partition, Kind::Freeze, Kind::Drain});
  outage.member = dice.below(members);
  outage.at = dice.between(Duration::zero(), Duration(4s));
  outage.lasts = dice.between(10ms, Duration(2s));
  return outage;
}

void draw_upstreams(Dice& dice, GatewayPlan& plan) {
  const bool calm = dice.chance(20);
  const std::size_t in_first = dice.between(1, 3);
  plan.groups = {{"/a", 0, in_first}, {"/b", in_first, dice.between(1, 2)}};
  const std::size_t members = in_first + plan.groups[1].count;
  for (std::size_t i = 0; i < members; ++i) plan.members.push_back(draw_member(dice, calm));
  plan.helpers = members;
  const std::size_t outages = calm ? 0 : dice.below(6);
  for (std::size_t i = 0; i < outages; ++i) plan.outages.push_back(draw_outage(dice, members));
  std::ranges::sort(plan.outages, {}, &Outage::at);
}

std::string address_of(const GatewayPlan& plan, std::size_t member) {
  return "http://10.0.0." + std::to_string(member_node(plan, member) + 1) + ":" +
         std::to_string(kMemberPort);
}

// A row of the routes, of the first `count` members.
std::string row_of(const GatewayPlan& plan, const GroupPlan& group, std::size_t count,
                   const std::string& keys) {
  std::string members;
  for (std::size_t i = 0; i < count; ++i) {
    members += (i == 0 ? "\"" : ", \"") + address_of(plan, group.first + i) + "\"";
  }
  return "{ prefix = \"" + group.prefix + "\", upstream = [" + members + "]" + keys + " }";
}

// The first group is always there, perhaps without its last member or for reading only; the second
// is open to everyone, and comes and goes.
std::string draw_routes(Dice& dice, const GatewayPlan& plan, bool whole) {
  const GroupPlan& first = plan.groups[0];
  const bool shrinks = !whole && first.count > 1 && dice.chance(15);
  std::string keys = ", cost = " + std::to_string(dice.pick({1U, 10U}));
  if (!whole && dice.chance(15)) keys += ", methods = [\"GET\", \"PUT\"]";
  if (dice.chance(20)) keys += ", deadline = \"" + draw_ms(dice, 300, 1500) + "\"";
  if (dice.chance(15)) keys += ", inline = true";
  std::string rows = row_of(plan, first, first.count - (shrinks ? 1 : 0), keys);
  if (whole || dice.chance(80)) {
    rows += ", " + row_of(plan, plan.groups[1], plan.groups[1].count, ", open = true");
  }
  if (plan.with_storage) rows += R"(, { prefix = "/o", upstream = ["inproc:storage"] })";
  return "[" + rows + "]";
}

void add_hot_flags(Dice& dice, const GatewayPlan& plan, bool patient, Flags& flags) {
  const auto add = [&flags](std::string_view key, const std::string& value) {
    flags.push_back("gateway." + std::string(key) + "=" + value);
  };
  ServerScale server{.body_cap = kBodyCap};
  if (patient) server.least_deadline_ms = 400;
  add_server_flags(dice, "gateway", server, flags);
  add("routes", draw_routes(dice, plan, patient));
  add("drr.default_quantum", std::to_string(dice.between(1, 3)));
  add("drr.tenant_quanta", dice.chance(50) ? "{}" : "{ t0 = 5, t1 = 2 }");
  add("drr.rate_limit_rps", std::to_string(dice.pick({20U, 100U, 100'000U, 100'000U})));
  add("upstream.concurrency", std::to_string(dice.pick({1U, 2U, 4U, 64U})));
  add("hosts", dice.chance(70) ? "[]" : R"(["gateway"])");
}

// Keys that take a restart.
void add_fixed_flags(Dice& dice, Flags& flags) {
  const auto add = [&flags](std::string_view key, const std::string& value) {
    flags.push_back("gateway." + std::string(key) + "=" + value);
  };
  const auto add_count = [&](std::string_view key, std::uint64_t value) {
    add(key, std::to_string(value));
  };
  flags.emplace_back("safety.danger_ok=true");
  flags.emplace_back("storage.amnesia=true");
  flags.emplace_back("storage.cache_bytes=64MiB");
  flags.emplace_back("storage.channels.work=4096");
  add_count("workers", dice.between(1, 3));
  add_count("channels.work", dice.pick({1U, 4U, 16U, 512U}));
  add_count("channels.sched", dice.pick({1U, 4U, 512U}));
  add_count("channels.events", dice.pick({1U, 4U, 64U}));
  add("upstream.connect_timeout", draw_ms(dice, 60, 500));
  add("upstream.deadline", draw_ms(dice, 200, 1500));
  add_count("upstream.max_connections", dice.pick({1U, 4U, 64U}));
  add("upstream.probe_interval", draw_ms(dice, 100, 1000));
  add("upstream.probe_timeout", draw_ms(dice, 50, 300));
  add("upstream.probe_path", std::string(kProbePath));
  add_count("upstream.eject_after", dice.between(2, 5));
  add("upstream.eject_for", draw_ms(dice, 50, 800));
  add_count("retry.max_tries", dice.between(1, 3));
  add("retry.base", draw_ms(dice, 1, 50));
  add("retry.budget", dice.pick({"0", "0.1", "0.2", "0.5"}));
  add_count("breaker.min_volume", dice.pick({2U, 5U, 20U}));
  add_count("breaker.error_percent", dice.pick({30U, 50U, 80U}));
  add("breaker.window", draw_ms(dice, 500, 5000));
  add("breaker.open_for", draw_ms(dice, 50, 800));
  add_count("breaker.probes", dice.between(1, 3));
}

void draw_lives(Dice& dice, GatewayPlan& plan) {
  const std::size_t lives = dice.pick({1U, 1U, 2U});
  for (std::size_t i = 1; i <= lives; ++i) {
    const bool last = i == lives;
    const LifeMaker maker{
        .section = "gateway",
        .ports = kPorts,
        .add_fixed = [](Dice& drawn, Flags& flags) { add_fixed_flags(drawn, flags); },
        .add_hot = [&plan, last](Dice& drawn,
                                 Flags& flags) { add_hot_flags(drawn, plan, last, flags); }};
    LifePlan life = maker.draw(dice, last);
    // Three in four of the last ones end by themselves, and are audited.
    if (last && dice.chance(50)) life.stop_after.reset();
    if (!last && dice.chance(20)) {
      // Not while it starts: what runs then of a neighbour could not be taken apart.
      life.cut_after = std::max<Duration>(*life.stop_after, 50ms);
      life.stop_after.reset();
      life.abort_after.reset();
    }
    const std::size_t failures = dice.chance(40) ? dice.between(1, 3) : 0;
    for (std::size_t failure = 0; failure < failures; ++failure) {
      life.task_failures.push_back(dice.between(1ms, Duration(3s)));
    }
    plan.lives.push_back(std::move(life));
  }
}

// A request costs two exchanges here: fewer of them.
void shorten(GatewayPlan& plan) {
  for (ClientPlan& client : plan.clients) {
    client.sessions = std::min<std::size_t>(client.sessions, 3);
    client.rounds = 1 + client.rounds / 2;
  }
}

}  // namespace

std::string_view text(Deed deed) noexcept {
  static constexpr std::array kTexts = {
#define RON_X(name, what) std::string_view(what),
      RON_SIM_DEEDS(RON_X)
#undef RON_X
  };
  return kTexts[static_cast<std::size_t>(deed)];
}

std::string GatewayPlan::member_name(std::size_t member) const {
  for (const GroupPlan& group : groups) {
    if (member >= group.first && member < group.first + group.count) {
      return group.name() + "." + std::to_string(member - group.first);
    }
  }
  return {};
}

bool GatewayPlan::upstreams_are_well() const {
  return outages.empty() && std::ranges::all_of(members, [](const MemberPlan& member) {
           return member.misdeeds == 0 && member.bad_probes == 0;
         });
}

GatewayPlan make_gateway_plan(std::uint64_t seed) {
  // Another multiplier than the generator's own step: seeds that follow each other share nothing.
  Dice dice(Dice(seed * 0xD1B54A32D192ED03ULL).next());
  GatewayPlan plan;
  plan.seed = seed;
  draw_world(dice, plan);
  draw_clients(dice, 5, plan);
  shorten(plan);
  plan.with_storage = dice.chance(40);
  draw_upstreams(dice, plan);
  draw_lives(dice, plan);
  for (std::size_t i = 0; i < kObjects; ++i) {
    plan.objects.push_back("object " + std::to_string(i) + std::string(dice.below(900), 'x'));
  }
  plan.largest_body = kLargestAnswer;
  return plan;
}

}  // namespace ron::sim
