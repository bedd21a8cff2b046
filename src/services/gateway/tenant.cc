#include "services/gateway/tenant.h"

#include <algorithm>
#include <mutex>
#include <tuple>
#include <utility>

#include "services/gateway/wires.h"

namespace ron::gateway {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::uint64_t next_table_id() noexcept {
  static constinit std::atomic<std::uint64_t> last = 0;
  return last.fetch_add(1, kRelaxed) + 1;
}

}  // namespace

Tenant::Tenant(TenantId id, std::uint32_t quantum_in, std::uint64_t rps)
    : name(id.shown()),
      quantum(quantum_in),
      rate(std::max<std::uint64_t>(1, rps), std::max<std::uint64_t>(1, rps)),
      text_(id.text()),
      id_(id.within(text_)) {
  if (rps == 0) rate.set_unlimited();
}

void Tenant::set_rate(platform::TimePoint now, std::uint64_t rps) noexcept {
  if (rps == 0) {
    rate.set_unlimited();
  } else {
    rate.set_rate(now, rps, rps);
  }
}

bool Tenant::touch(platform::TimePoint now) noexcept {
  last_used_ns_.store(now.time_since_epoch().count(), kRelaxed);
  if (counted_.load(kRelaxed)) return false;
  return !counted_.exchange(true);
}

std::uint32_t Tenant::queued() const noexcept {
  std::uint32_t sum = 0;
  for (const Line& line : lines_) sum += line.queued.load(kRelaxed);
  return sum;
}

bool Tenant::is_busy() const noexcept { return in_flight.load(kRelaxed) > 0 || queued() > 0; }

bool Tenant::is_active(platform::TimePoint now) const noexcept {
  const base::Duration since(now.time_since_epoch().count() - last_used_ns());
  return since < kActive || is_busy();
}

void Tenant::served(Cost cost) noexcept {
  this_second_.fetch_add(cost, kRelaxed);
  // An estimate, so that a lost update does not matter.
  const Cost mean = scaled_mean_.load(kRelaxed);
  scaled_mean_.store(mean + cost - mean / kMeanScale, kRelaxed);
}

Cost Tenant::mean_cost() const noexcept {
  return std::max<Cost>(1, scaled_mean_.load(kRelaxed) / kMeanScale);
}

void Tenant::tick() noexcept {
  const Cost closing = this_second_.exchange(0, kRelaxed);
  const Cost leaving = std::exchange(seconds_[second_], closing);
  second_ = (second_ + 1) % kWindowSeconds;
  last_second_.store(closing, kRelaxed);
  closed_seconds_.fetch_add(closing - leaving, kRelaxed);
}

Cost Tenant::served_lately() const noexcept {
  return closed_seconds_.load(kRelaxed) + this_second_.load(kRelaxed);
}

TenantTable::TenantTable(TenantLimits limits)
    : id_(next_table_id()), lock_(kTenantsLock), limits_(std::move(limits)) {}

std::uint32_t TenantTable::quantum_of(std::string_view shown) const {
  for (const auto& [tenant, quantum] : limits_.quanta) {
    if (tenant == shown) return static_cast<std::uint32_t>(quantum);
  }
  return limits_.default_quantum;
}

TenantTable::Remembered& TenantTable::remembered(const TenantId& id) noexcept {
  constexpr std::size_t kPlaces = 64;
  static thread_local std::array<Remembered, kPlaces> places;
  return places[id.hash() % kPlaces];
}

// Counting comes before the look at forgotten_, and forgetting before the look at counted_: so a
// tenant that is counted and forgotten at once is found by one of the two, and exactly one of them
// takes it off the count.
bool TenantTable::count(Tenant& tenant, platform::TimePoint now) noexcept {
  if (tenant.touch(now)) active_.fetch_add(1, kRelaxed);
  if (!tenant.forgotten_.load()) return true;
  uncount(tenant);
  return false;
}
void TenantTable::uncount(Tenant& tenant) noexcept {
  if (tenant.leave()) active_.fetch_sub(1, kRelaxed);
}

TenantPtr TenantTable::use(TenantId id, platform::TimePoint now) {
  Remembered& place = remembered(id);
  const bool is_known = place.table == id_ && place.tenant->id() == id;
  if (is_known && count(*place.tenant, now)) return place.tenant;
  for (;;) {
    TenantPtr tenant = find_or_make(id);
    if (!count(*tenant, now)) continue;
    place = {id_, tenant};
    return tenant;
  }
}

TenantPtr TenantTable::find_or_make(const TenantId& id) {
  const std::lock_guard lock(lock_);
  if (const auto found = by_id_.find(id); found != by_id_.end()) {
    return tenants_[found->second];
  }
  auto tenant = std::make_shared<Tenant>(id, quantum_of(id.shown()), limits_.rps);
  std::size_t index = tenants_.size();
  if (index < kMost) {
    tenants_.push_back(tenant);
  } else {
    index = victim();
    Tenant& old = *tenants_[index];
    old.forgotten_.store(true);
    uncount(old);
    by_id_.erase(old.id());
    tenants_[index] = tenant;
  }
  by_id_.emplace(tenant->id(), index);
  return tenant;
}

std::size_t TenantTable::victim() {
  const auto worth = [this](std::size_t index) {
    return std::tuple(tenants_[index]->is_busy(), tenants_[index]->last_used_ns());
  };
  std::size_t least = hand_;
  for (std::size_t i = 1; i < kCandidates; ++i) {
    const std::size_t index = (hand_ + i) % kMost;
    if (worth(index) < worth(least)) least = index;
  }
  hand_ = (hand_ + kCandidates) % kMost;
  return least;
}

void TenantTable::apply(TenantLimits limits, platform::TimePoint now) {
  const std::lock_guard lock(lock_);
  limits_ = std::move(limits);
  for (const TenantPtr& tenant : tenants_) {
    tenant->quantum.store(quantum_of(tenant->name), kRelaxed);
    tenant->set_rate(now, limits_.rps);
  }
}

void TenantTable::tick(platform::TimePoint now) {
  Cost sum = 0;
  for (const TenantPtr& tenant : all()) {
    tenant->tick();
    sum += tenant->served_lately();
    if (!tenant->is_active(now)) uncount(*tenant);
  }
  served_lately_.store(sum, kRelaxed);
}

std::vector<TenantPtr> TenantTable::all() const {
  const std::lock_guard lock(lock_);
  return tenants_;
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
