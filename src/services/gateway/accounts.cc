#include "services/gateway/accounts.h"

#include <algorithm>
#include <utility>

namespace ron::gateway {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

void Accounts::sample(const std::vector<TenantPtr>& tenants) {
  auto reading = std::make_shared<AccountsReading>();
  double all = 0;
  std::vector<double> per_quantum;
  for (const TenantPtr& tenant : tenants) {
    TenantRow row;
    row.name = tenant->name;
    row.quantum = std::max(1U, tenant->quantum.load(kRelaxed));
    row.queued = tenant->queued();
    row.in_flight = tenant->in_flight.load(kRelaxed);
    row.deficit = tenant->deficit.load(kRelaxed);
    row.served = tenant->served_lately();
    row.rejections = tenant->rejections.load(kRelaxed);
    all += static_cast<double>(row.served);
    if (row.served > 0) per_quantum.push_back(static_cast<double>(row.served) / row.quantum);
    reading->tenants.push_back(std::move(row));
  }
  for (TenantRow& row : reading->tenants) {
    row.share = all > 0 ? static_cast<double>(row.served) / all : 0;
  }
  std::ranges::sort(reading->tenants, [](const TenantRow& a, const TenantRow& b) {
    return a.served != b.served ? a.served > b.served : a.name < b.name;
  });
  reading->jain_index = jain_index(per_quantum);
  latest_.set(std::move(reading));
}

runtime::Meters::Levels tenant_levels(const AccountsReading& reading,
                                      std::int64_t (*value)(const TenantRow&)) {
  runtime::Meters::Levels levels;
  std::int64_t others = 0;
  for (std::size_t i = 0; i < reading.tenants.size(); ++i) {
    const TenantRow& row = reading.tenants[i];
    if (i < Accounts::kNamed) {
      levels.emplace_back(row.name, value(row));
    } else {
      others += value(row);
    }
  }
  if (reading.tenants.size() > Accounts::kNamed) levels.emplace_back(runtime::kOtherLabel, others);
  return levels;
}

}  // namespace ron::gateway
