#include "services/storage/quota.h"

#include "services/storage/wires.h"

namespace ron::storage {
namespace {

// `limit` 0 is none. The sum cannot wrap: every part is checked against what is left.
bool exceeds(std::uint64_t used, std::uint64_t asked, std::uint64_t limit) {
  return limit != 0 && (used > limit || asked > limit - used);
}

base::Error exceeded(const char* what, std::uint64_t used, std::uint64_t limit,
                     std::uint64_t asked) {
  return base::Error(base::Code::Quota, "the tenant's quota of " + std::string(what) +
                                            " is used up: " + std::to_string(used) + " of " +
                                            std::to_string(limit) + " are used, " +
                                            std::to_string(asked) + " more were asked for")
      .with("what", what)
      .with("used", std::to_string(used))
      .with("limit", std::to_string(limit))
      .with("asked", std::to_string(asked));
}

}  // namespace

Quotas::Quotas(const QuotaConfig& config) : lock_(kQuotasLock) { apply(config); }

void Quotas::apply(const QuotaConfig& config) {
  const std::lock_guard guard(lock_);
  default_ = {config.bytes.bytes, config.objects};
  limits_.clear();
  bool any = default_.bytes != 0 || default_.objects != 0;
  for (const TenantQuota& row : config.tenants) {
    limits_[row.name] = {row.bytes.bytes, row.objects};
    any = any || row.bytes.bytes != 0 || row.objects != 0;
  }
  any_.store(any, std::memory_order_relaxed);
}

volume::Usage Quotas::limit_of(std::string_view tenant) const {
  const auto own = limits_.find(tenant);
  return own == limits_.end() ? default_ : own->second;
}

Quotas::Standing Quotas::standing(std::string_view tenant) const {
  const std::lock_guard guard(lock_);
  const auto held = reserved_.find(tenant);
  return {limit_of(tenant), held == reserved_.end() ? volume::Usage() : held->second};
}

base::Result<Quotas::Reservation> Quotas::reserve(std::string_view tenant, volume::Usage asked,
                                                  const Stored& stored) {
  const std::lock_guard guard(lock_);
  const volume::Usage limit = limit_of(tenant);
  auto held = reserved_.find(tenant);
  volume::Usage used = stored(tenant);
  if (held != reserved_.end()) {
    used.bytes += held->second.bytes;
    used.objects += held->second.objects;
  }
  if (exceeds(used.bytes, asked.bytes, limit.bytes)) {
    return base::fail(exceeded("bytes", used.bytes, limit.bytes, asked.bytes));
  }
  if (exceeds(used.objects, asked.objects, limit.objects)) {
    return base::fail(exceeded("objects", used.objects, limit.objects, asked.objects));
  }
  if (held == reserved_.end()) held = reserved_.emplace(tenant, volume::Usage{}).first;
  held->second.bytes += asked.bytes;
  held->second.objects += asked.objects;
  return Reservation(this, std::string(tenant), asked);
}

void Quotas::let_go(const std::string& tenant, volume::Usage held) noexcept {
  const std::lock_guard guard(lock_);
  const auto found = reserved_.find(tenant);
  if (found == reserved_.end()) return;
  found->second.bytes -= held.bytes;
  found->second.objects -= held.objects;
  if (found->second.bytes == 0 && found->second.objects == 0) reserved_.erase(found);
}

}  // namespace ron::storage
