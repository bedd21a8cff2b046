#include "services/gateway/tenant.h"

#include <algorithm>
#include <utility>

namespace ron::gateway {

Tenant::Tenant(std::string name_in, std::uint32_t quantum_in, std::uint64_t rps)
    : name(std::move(name_in)), quantum(quantum_in), rate(rps, rps) {}

bool Tenant::touch(platform::TimePoint now) noexcept {
  last_used_ns_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  if (counted_.load(std::memory_order_relaxed)) return false;
  return !counted_.exchange(true, std::memory_order_relaxed);
}

bool Tenant::is_active(platform::TimePoint now) const noexcept {
  const base::Duration since(now.time_since_epoch().count() -
                             last_used_ns_.load(std::memory_order_relaxed));
  return since < kActive || in_flight.load(std::memory_order_relaxed) > 0;
}

void Tenant::served(Cost cost) noexcept {
  this_second_.fetch_add(cost, std::memory_order_relaxed);
  // An estimate, so that a lost update does not matter.
  const Cost mean = mean_cost.load(std::memory_order_relaxed);
  mean_cost.store(std::max<Cost>(1, mean + (cost - mean) / 8), std::memory_order_relaxed);
}

void Tenant::tick() noexcept {
  const std::size_t second = second_.load(std::memory_order_relaxed);
  seconds_[second].store(this_second_.exchange(0, std::memory_order_relaxed),
                         std::memory_order_relaxed);
  second_.store((second + 1) % kWindowSeconds, std::memory_order_relaxed);
}

Cost Tenant::served_lately() const noexcept {
  Cost sum = this_second_.load(std::memory_order_relaxed);
  for (const std::atomic<Cost>& second : seconds_) sum += second.load(std::memory_order_relaxed);
  return sum;
}

TenantTable::TenantTable(TenantLimits limits) : limits_(std::move(limits)) {}

std::uint32_t TenantTable::quantum_of(std::string_view name) const {
  for (const auto& [tenant, quantum] : limits_.quanta) {
    if (tenant == name) return static_cast<std::uint32_t>(quantum);
  }
  return limits_.default_quantum;
}

TenantPtr TenantTable::use(std::string_view name, platform::TimePoint now) {
  TenantPtr tenant;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_name_.find(name); found != by_name_.end()) {
      tenant = found->second.tenant;
      by_use_.splice(by_use_.end(), by_use_, found->second.place);
    } else {
      if (by_name_.size() >= kMost) {
        const auto oldest = by_name_.find(by_use_.front());
        if (oldest->second.tenant->leave()) active_.fetch_sub(1, std::memory_order_relaxed);
        by_use_.pop_front();
        by_name_.erase(oldest);
      }
      tenant = std::make_shared<Tenant>(std::string(name), quantum_of(name), limits_.rps);
      const auto place = by_use_.insert(by_use_.end(), tenant->name);
      by_name_.emplace(tenant->name, Entry{tenant, place});
    }
  }
  if (tenant->touch(now)) active_.fetch_add(1, std::memory_order_relaxed);
  return tenant;
}

void TenantTable::apply(TenantLimits limits, platform::TimePoint now) {
  const std::lock_guard lock(mutex_);
  limits_ = std::move(limits);
  for (const auto& [name, entry] : by_name_) {
    entry.tenant->quantum.store(quantum_of(name), std::memory_order_relaxed);
    entry.tenant->rate.set_rate(now, limits_.rps, limits_.rps);
  }
}

void TenantTable::tick(platform::TimePoint now) {
  for (const TenantPtr& tenant : all()) {
    tenant->tick();
    if (!tenant->is_active(now) && tenant->leave()) {
      active_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
}

std::vector<TenantPtr> TenantTable::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<TenantPtr> out;
  out.reserve(by_name_.size());
  for (const auto& [name, entry] : by_name_) out.push_back(entry.tenant);
  return out;
}

double jain_index(const std::vector<double>& shares) noexcept {
  double sum = 0;
  double squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  if (squares == 0) return 1;
  return sum * sum / (static_cast<double>(shares.size()) * squares);
}

}  // namespace ron::gateway
