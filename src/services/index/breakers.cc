#include "services/index/breakers.h"

#include <algorithm>
#include <cassert>

#include "runtime/metric_names.h"
#include "runtime/wait_either.h"
#include "services/index/wires.h"

namespace ron::index {
namespace {

using runtime::BreakerState;
using runtime::Deadline;

constexpr std::uint64_t kStateBits = 2;
constexpr std::uint64_t kStateMask = (1U << kStateBits) - 1;

BreakerState state_of(std::uint64_t published) noexcept {
  return static_cast<BreakerState>(published & kStateMask);
}

// Without jitter: the cool-down is what was declared, and one janitor does not come back at once
// with many others.
runtime::BreakerPolicy policy_of(const BreakerSettings& settings) noexcept {
  return {.error_percent = settings.trip_percent,
          .above_only = true,
          .min_volume = BreakerTable::kMinVolume,
          .window = settings.error_window,
          .open_for = settings.cooldown,
          .open_jitter_percent = 0,
          .probes = settings.half_open_probes};
}

platform::Task<void> probe_once(platform::Task<bool> probe, BreakerTable::Pass pass) {
  const bool there = co_await probe;
  if (there) {
    pass.succeeded();
  } else {
    pass.failed();
  }
}

}  // namespace

BreakerTable::BreakerTable(runtime::Topology& topology, const std::vector<std::string>& names,
                           BreakerSettings settings, platform::Random& random)
    : settings_(settings), outcomes_(topology, kOutcomes, kOutcomes.capacity) {
  entries_.reserve(names.size());
  for (const std::string& name : names) {
    entries_.push_back(
        std::make_unique<Entry>(topology.meters(), name, policy_of(settings), random));
  }
}

void BreakerTable::Pass::report(bool good) noexcept {
  if (table_ == nullptr) return;
  // A full queue drops its oldest outcome, a closed one belongs to a service that has stopped.
  (void)std::exchange(table_, nullptr)->outcomes_.try_send({target_, published_, good});
}

std::optional<BreakerTable::Pass> BreakerTable::try_pass(std::uint32_t target) noexcept {
  Entry& entry = *entries_[target];
  const std::uint64_t published = entry.published.load(std::memory_order_acquire);
  if (state_of(published) == BreakerState::Closed) return Pass(*this, target, published, {});
  if (state_of(published) == BreakerState::HalfOpen) {
    if (runtime::Limit::Permit probe = entry.probes.try_acquire()) {
      return Pass(*this, target, published, std::move(probe));
    }
  }
  entry.refused.add();
  return std::nullopt;
}

BreakerState BreakerTable::state(std::uint32_t target) const noexcept {
  return state_of(entries_[target]->published.load(std::memory_order_acquire));
}

platform::Task<void> BreakerTable::run_janitor(Probe probe, runtime::Shutdown shutdown) {
  using Received = std::expected<Outcome, runtime::Waited>;
  std::vector<Probing> probing;
  for (;;) {
    begin_probes(probe, probing, platform::Executor::current()->now());
    runtime::Background<Received> receiving(outcomes_.recv(next_due()));
    co_await runtime::wait_either(receiving.finished(), runtime::StopOp{shutdown}, Deadline());
    if (!receiving.done()) co_return;
    const Received outcome = receiving.take();
    if (outcome) {
      record(*outcome, platform::Executor::current()->now());
    } else if (outcome.error() == runtime::Waited::Closed) {
      co_return;
    }
  }
}

void BreakerTable::record(const Outcome& outcome, platform::TimePoint now) {
  Entry& entry = *entries_[outcome.target];
  if (outcome.published != entry.published.load(std::memory_order_relaxed)) return;
  std::optional<runtime::Breaker::Permit> permit;
  if (entry.to_prove.empty()) {
    permit = entry.breaker.try_admit(now);
  } else {
    permit = std::move(entry.to_prove.back());
    entry.to_prove.pop_back();
  }
  assert(permit && "what is published is what the breaker says");
  if (outcome.good) {
    permit->succeeded(now);
  } else {
    permit->failed(now);
  }
  publish(entry, now);
}

// Whose rest is over is let half open and probed. One that is half open still is probed again after
// as long a time: an outcome may have been dropped on its way.
void BreakerTable::begin_probes(const Probe& probe, std::vector<Probing>& probing,
                                platform::TimePoint now) {
  std::erase_if(probing, [](const Probing& one) { return one.running->done(); });
  for (std::uint32_t target = 0; target < size(); ++target) {
    Entry& entry = *entries_[target];
    if (entry.due.at() > now) continue;
    if (state(target) == BreakerState::Open) half_open(entry, now);
    entry.due = Deadline(now + settings_.cooldown);
    const auto under_way = std::ranges::count(probing, target, &Probing::target);
    for (std::size_t i = static_cast<std::size_t>(under_way); i < entry.to_prove.size(); ++i) {
      std::optional<Pass> pass = try_pass(target);
      if (!pass) break;
      probing.push_back({target, std::make_unique<runtime::Background<void>>(
                                     probe_once(probe(target), std::move(*pass)))});
    }
  }
}

void BreakerTable::half_open(Entry& entry, platform::TimePoint now) {
  while (auto permit = entry.breaker.try_admit(now)) entry.to_prove.push_back(std::move(*permit));
  publish(entry, now);
}

// Makes a change of state known to the resolvers.
void BreakerTable::publish(Entry& entry, platform::TimePoint now) {
  const std::uint64_t before = entry.published.load(std::memory_order_relaxed);
  const BreakerState state = entry.breaker.state();
  if (state == state_of(before)) return;
  if (state != BreakerState::HalfOpen) entry.to_prove.clear();
  entry.due = state == BreakerState::Closed ? Deadline() : Deadline(now + settings_.cooldown);
  const std::uint64_t after =
      (((before >> kStateBits) + 1) << kStateBits) | static_cast<std::uint64_t>(state);
  entry.published.store(after, std::memory_order_release);
}

Deadline BreakerTable::next_due() const noexcept {
  Deadline soonest;
  for (const auto& entry : entries_) soonest = soonest.sooner(entry->due);
  return soonest;
}

}  // namespace ron::index
