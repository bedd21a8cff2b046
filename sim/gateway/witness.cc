#include "sim/gateway/witness.h"

#include <algorithm>
#include <utility>

#include "http/client_metrics.h"
#include "http/upstream_metrics.h"
#include "runtime/metric_names.h"
#include "services/gateway/wires.h"

namespace ron::sim {
namespace {

using runtime::BreakerState;

// Tokens that a new retry budget has (runtime/retry.h).
constexpr double kRetryReserve = 10;

BreakerState state_of(const runtime::Gauge& open, const runtime::Gauge& half_open) {
  if (open.value() != 0) return BreakerState::Open;
  return half_open.value() != 0 ? BreakerState::HalfOpen : BreakerState::Closed;
}

}  // namespace

void Witness::watch(gateway::Core& core, runtime::Meters& meters) {
  namespace shared = runtime::metrics;
  core_ = &core;
  settings_ = timeline_.now_living().eras.back().config->get(gateway::gateway_section());
  dropped_ = &meters.counter(shared::kQueueDroppedTotal, {gateway::kSched.name});
  retries_ = &meters.counter(shared::kBackoffRetriesTotal, {"upstream"});
  stale_retries_ = &meters.counter(http::metrics::kStaleRetriesTotal);
  dropped_before_ = dropped_->value();
  members_.clear();
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    const std::string name = plan_.member_name(i);
    const auto requests = [&](std::string_view outcome) {
      return &meters.counter(http::metrics::kUpstreamRequestsTotal, {name, outcome});
    };
    const auto breaker = [&](std::string_view state) {
      return &meters.gauge(shared::kBreakerState, {name, state});
    };
    members_.push_back(
        {.name = name,
         .closed = breaker("closed"),
         .open = breaker("open"),
         .half_open = breaker("half_open"),
         .answered = requests("answered"),
         .unavailable = requests("unavailable"),
         .failed = requests("failed"),
         .abandoned = requests("abandoned"),
         .ejections = &meters.counter(http::metrics::kUpstreamEjectionsTotal, {name}),
         .returns = &meters.counter(http::metrics::kUpstreamReturnsTotal, {name}),
         .state = BreakerState::Closed,
         .since = {},
         .bad_before = 0,
         .answers_before = 0});
  }
}

void Witness::leave(TimePoint now) {
  if (core_ == nullptr) return;
  note(shedding_, false, now);
  for (Spans& spans : not_closed_) note(spans, false, now);
  core_ = nullptr;
}

const gateway::GatewayConfig& Witness::settings() const { return *settings_; }

void Witness::note(Spans& spans, bool holds, TimePoint now) {
  const bool held = !spans.empty() && spans.back().until == kNever;
  if (held == holds) return;
  if (holds) {
    spans.push_back({now, kNever});
  } else {
    spans.back().until = now;
  }
}

bool Witness::overlaps(const Spans& spans, TimePoint from, TimePoint until) {
  return std::ranges::any_of(
      spans, [&](const Span& span) { return span.from <= until && span.until >= from; });
}

bool Witness::dropped_turns(TimePoint from, TimePoint until) const {
  return std::ranges::any_of(drops_, [&](TimePoint at) { return at >= from && at <= until; });
}

bool Witness::breaker_was_open(const GroupPlan& group, TimePoint from, TimePoint until) const {
  for (std::size_t i = group.first; i < group.first + group.count; ++i) {
    if (overlaps(not_closed_[i], from, until)) return true;
  }
  return false;
}

// Something is missing that comes back, or the queue is full: the monitor looks every now and then,
// so that a moment ago counts, too.
bool Witness::may_shed() const {
  const Life& life = timeline_.now_living();
  if (!life.task_failures.empty() || life.stop_asked != kNever) return true;
  std::size_t queued = 0;
  for (const gateway::TenantPtr& tenant : core_->tenants().all()) queued += tenant->queued();
  return queued * 100 >= settings().work_capacity * gateway::Health::kShedAbove;
}

std::optional<std::string> Witness::look(TimePoint now) {
  if (core_ == nullptr) return std::nullopt;
  const bool sheds = core_->health().sheds_writes();
  const bool shed = !shedding_.empty() && shedding_.back().until == kNever;
  if (sheds && !shed && !may_shed()) return "degraded without a reason";
  note(shedding_, sheds, now);
  const std::uint64_t dropped = dropped_->value();
  if (dropped != dropped_before_) drops_.push_back(now);
  dropped_before_ = dropped;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (auto wrong = look_at_breaker(i, now)) return wrong;
  }
  return std::nullopt;
}

bool Witness::regrouped() const {
  const auto& eras = timeline_.now_living().eras;
  const auto rows = [](const Era& era) -> const std::vector<gateway::RouteConfig>& {
    return era.config->get(gateway::gateway_section())->routes;
  };
  const auto members_of = [&](const Era& era, const std::string& prefix) {
    for (const gateway::RouteConfig& row : rows(era)) {
      if (row.prefix == prefix) return row.upstream;
    }
    return config::TextList();
  };
  return std::ranges::any_of(plan_.groups, [&](const GroupPlan& group) {
    const auto first = members_of(eras.front(), group.prefix);
    return std::ranges::any_of(
        eras, [&](const Era& era) { return members_of(era, group.prefix) != first; });
  });
}

std::optional<std::string> Witness::look_at_breaker(std::size_t member, TimePoint now) {
  Seen& seen = members_[member];
  const BreakerState state = state_of(*seen.open, *seen.half_open);
  if (state == seen.state) return std::nullopt;
  auto wrong = judge_change(seen, member, state, now);
  note(not_closed_[member], state != BreakerState::Closed, now);
  seen.state = state;
  seen.since = now;
  seen.bad_before = seen.bad();
  seen.answers_before = book_.answers(member);
  return wrong;
}

std::optional<std::string> Witness::judge_change(const Seen& seen, std::size_t member,
                                                 BreakerState to, TimePoint now) const {
  if (regrouped()) return std::nullopt;
  const runtime::BreakerPolicy policy = settings().breaker.policy();
  std::string what = "the breaker of " + seen.name + " went from " +
                     std::string(runtime::name(seen.state)) + " to " +
                     std::string(runtime::name(to));
  switch (seen.state) {
    case BreakerState::Closed: {
      if (to != BreakerState::Open) return what;
      const std::uint64_t least = (policy.min_volume * policy.error_percent + 99) / 100;
      if (seen.bad() < least) return what + " after too few failures";
      return std::nullopt;
    }
    case BreakerState::Open:
      if (to != BreakerState::HalfOpen) return what;
      if (now - seen.since < policy.open_for) return what + " before its time";
      return std::nullopt;
    case BreakerState::HalfOpen:
      if (to == BreakerState::Open && seen.bad() == seen.bad_before) {
        return what + " without a failure";
      }
      if (to == BreakerState::Closed &&
          book_.answers(member) - seen.answers_before < policy.probes) {
        return what + " after too few answers";
      }
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> Witness::check_books(unsigned life) const {
  const Book::Sums sums = book_.sums(life);
  std::uint64_t attempts = 0;
  for (const Seen& seen : members_) {
    attempts += seen.attempts();
    if (seen.ejections->value() < seen.returns->value()) return seen.name + " returned too often";
    if (seen.ejections->value() * settings().upstream.eject_after > seen.bad()) {
      return seen.name + " was ejected more often than it failed";
    }
  }
  const std::uint64_t retries = retries_->value();
  const std::uint64_t stale = stale_retries_->value();
  const auto counts = [&](std::string_view what) {
    return std::string(what) + ": " + std::to_string(sums.errands) + " requests, seen " +
           std::to_string(sums.sightings) + " times, " + std::to_string(sums.repetitions) +
           " repetitions; counted: " + std::to_string(attempts) + " attempts, " +
           std::to_string(retries) + " retries, " + std::to_string(stale) + " of stale connections";
  };
  const std::size_t groups = plan_.groups.size() * timeline_.life(life).eras.size();
  const double most = kRetryReserve * static_cast<double>(groups) +
                      settings().retry.budget * static_cast<double>(sums.errands);
  if (static_cast<double>(retries) > most) return counts("more retries than the budget allows");
  if (sums.repetitions > retries + stale) return counts("upstreams saw more repetitions");
  if (attempts > sums.errands + retries) return counts("more attempts than requests and retries");
  return std::nullopt;
}

std::optional<std::string> Witness::check_quiet() const {
  for (const gateway::TenantPtr& tenant : core_->tenants().all()) {
    if (tenant->in_flight.load() != 0) return "requests of " + tenant->name + " are in flight";
    if (tenant->queued() != 0) return "requests of " + tenant->name + " wait";
  }
  for (const auto& group : core_->upstreams().groups()) {
    for (const http::UpstreamStatus& member : group->status()) {
      if (member.in_flight != 0) return member.name + " has requests in flight";
      if (member.state != http::UpstreamState::Healthy) return member.name + " is not healthy";
      if (member.breaker != BreakerState::Closed) return "the breaker of " + member.name;
    }
  }
  for (const Seen& seen : members_) {
    const bool all_back = seen.ejections->value() == seen.returns->value();
    if (!all_back && !regrouped()) return seen.name + " was ejected and not counted as returned";
    const std::int64_t states = seen.closed->value() + seen.open->value() + seen.half_open->value();
    if (states > 1) return "the breaker of " + seen.name + " is in two states";
  }
  if (core_->health().sheds_writes()) return "degraded";
  if (core_->workers() != core_->workers_wanted()) return "a worker is missing";
  return std::nullopt;
}

}  // namespace ron::sim
