#include "services/gateway/health.h"

#include <mutex>
#include <utility>

namespace ron::gateway {

bool Health::note(const Vitals& vitals) {
  const std::size_t full = vitals.waiting * 100;
  crowded_ = full >= vitals.waiting_most * (crowded_ ? kTakeBelow : kShedAbove);
  std::vector<std::string> missing;
  if (vitals.workers < vitals.workers_wanted) {
    missing.push_back("worker: " + std::to_string(vitals.workers) + " of " +
                      std::to_string(vitals.workers_wanted));
  }
  if (!vitals.scheduler) missing.emplace_back("scheduler");
  if (crowded_) missing.emplace_back("queue: full");
  const bool degraded = !missing.empty();
  for (const std::string& name : vitals.lost_upstreams) missing.push_back("upstream: " + name);
  const bool all_lost = vitals.upstreams > 0 && vitals.lost_upstreams.size() == vitals.upstreams;
  // Without a scheduler or a single worker nobody gets a turn who has to wait for one.
  const bool serving = vitals.scheduler && vitals.workers > 0 && !all_lost;
  {
    const std::lock_guard lock(lock_);
    missing_ = std::move(missing);
  }
  serving_.store(serving, std::memory_order_relaxed);
  return degraded_.exchange(degraded, std::memory_order_relaxed) != degraded;
}

kit::Readiness Health::readiness() const {
  kit::Readiness state;
  state.ready = serving_.load(std::memory_order_relaxed);
  state.write_ready = state.ready && !sheds_writes();
  const std::lock_guard lock(lock_);
  state.missing = missing_;
  return state;
}

}  // namespace ron::gateway
