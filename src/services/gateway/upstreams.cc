#include "services/gateway/upstreams.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "services/gateway/in_process.h"

namespace ron::gateway {
namespace {

// The first lane that nobody of these has.
template <class Known>
std::size_t free_lane(const std::vector<Known>& before, const std::vector<Known>& after) {
  const auto is_taken = [&](std::size_t lane) {
    const auto has_it = [lane](const Known& one) { return one.upstream->lane() == lane; };
    return std::ranges::any_of(before, has_it) || std::ranges::any_of(after, has_it);
  };
  std::size_t lane = 0;
  while (lane < Upstreams::kMost && is_taken(lane)) ++lane;
  // All of them changed at once: what the old ones still have under way counts for the new ones.
  return lane < Upstreams::kMost ? lane : after.size() % Upstreams::kMost;
}

EventKind kind_of(http::UpstreamState state) noexcept {
  switch (state) {
    case http::UpstreamState::Down:
      return EventKind::MemberDown;
    case http::UpstreamState::Ejected:
      return EventKind::MemberEjected;
    case http::UpstreamState::Drained:
      return EventKind::MemberDrained;
    case http::UpstreamState::Healthy:
      break;
  }
  return EventKind::MemberBack;
}

}  // namespace

void Upstreams::add_neighbour(kit::Service& service) {
  constexpr std::string_view kPrefix = "svc-";
  std::string name(service.name());
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  neighbours_.emplace(std::move(name), &service);
}

Upstreams::Known Upstreams::make_one(const UpstreamPlan& plan, std::size_t lane) const {
  Known known{.plan = plan, .upstream = nullptr, .group = nullptr};
  if (plan.members.empty()) {
    const auto found = neighbours_.find(plan.service);
    kit::Service* const target = found == neighbours_.end() ? nullptr : found->second;
    known.upstream = std::make_shared<InProcess>(plan.service, lane, target);
  } else {
    std::vector<http::UpstreamGroup::Member> members;
    for (const http::UpstreamAddress& address : plan.members) {
      members.push_back({plan.name + "." + std::to_string(members.size()), address});
    }
    known.group = std::make_shared<HttpUpstream>(
        lane, std::make_unique<http::UpstreamGroup>(plan.name, std::move(members), policy_, meters_,
                                                    random_));
    known.upstream = known.group;
  }
  return known;
}

std::vector<std::shared_ptr<Upstream>> Upstreams::make(const RouteTable& table) {
  const std::lock_guard lock(lock_);
  std::vector<Known> next;
  for (const UpstreamPlan& plan : table.upstreams()) {
    const auto same = std::ranges::find_if(known_, [&plan](const Known& one) {
      return one.plan.name == plan.name && one.plan.as_given == plan.as_given;
    });
    next.push_back(same != known_.end() ? *same : make_one(plan, free_lane(known_, next)));
  }
  known_ = std::move(next);
  std::vector<std::shared_ptr<Upstream>> upstreams;
  for (const Known& one : known_) upstreams.push_back(one.upstream);
  return upstreams;
}

std::vector<std::shared_ptr<HttpUpstream>> Upstreams::groups() const {
  const std::lock_guard lock(lock_);
  std::vector<std::shared_ptr<HttpUpstream>> out;
  for (const Known& one : known_) {
    if (one.group) out.push_back(one.group);
  }
  return out;
}

base::Result<> Upstreams::set_drained(std::string_view name, bool drained) {
  for (const auto& upstream : groups()) {
    if (upstream->name() == name) {
      upstream->group().set_all_drained(drained);
      return {};
    }
    if (upstream->group().set_drained(name, drained)) return {};
  }
  return base::fail(base::Code::NotFound,
                    "no group of upstreams and no member of one has that name");
}

http::UpstreamPolicy policy_of(const GatewayConfig& config) {
  http::UpstreamPolicy policy;
  policy.retry = {.max_tries = static_cast<std::uint32_t>(config.retry.max_tries),
                  .base = config.retry.base,
                  .cap = config.retry.cap,
                  .budget = config.retry.budget};
  policy.breaker = config.breaker.policy();
  policy.eject_after = static_cast<std::uint32_t>(config.upstream.eject_after);
  policy.eject_for = config.upstream.eject_for;
  policy.probe.path = config.upstream.probe_path;
  policy.probe.interval = config.upstream.probe_interval;
  policy.probe.timeout = config.upstream.probe_timeout;
  return policy;
}

std::vector<GatewayEvent> note_members(const Upstreams& upstreams, MemberStates& states) {
  std::vector<GatewayEvent> events;
  MemberStates after;
  for (const auto& upstream : upstreams.groups()) {
    for (const http::UpstreamStatus& member : upstream->status()) {
      const auto known = states.find(member.name);
      const http::UpstreamState before =
          known == states.end() ? http::UpstreamState::Healthy : known->second;
      if (member.state != before) events.push_back({kind_of(member.state), member.name});
      after.emplace(member.name, member.state);
    }
  }
  states = std::move(after);
  return events;
}

}  // namespace ron::gateway
