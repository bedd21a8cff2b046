// Accounts: who was served how much lately, once a second from the tenants' own counters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/meter.h"
#include "runtime/watch_state.h"
#include "services/gateway/tenant.h"

namespace ron::gateway {

struct TenantRow {
  std::string name;
  double share = 0;  // of everything served in the last minute
  std::uint32_t quantum = 1;
  std::uint32_t queued = 0;
  std::uint32_t in_flight = 0;
  Cost deficit = 0;
  Cost served = 0;
  std::uint64_t rejections = 0;
};

struct AccountsReading {
  std::vector<TenantRow> tenants;  // who was served most comes first
  double jain_index = 1;           // of what was served for each quantum
};

// One writer; read by any core.
class Accounts {
 public:
  // Labels of metrics: as many tenants by name, everyone else together.
  static constexpr std::size_t kNamed = 16;

  void sample(const std::vector<TenantPtr>& tenants);
  [[nodiscard]] std::shared_ptr<const AccountsReading> latest() const {
    return latest_.get().value;
  }

 private:
  runtime::WatchState<std::shared_ptr<const AccountsReading>> latest_{
      std::make_shared<const AccountsReading>()};
};

// One column for a metric: the first kNamed rows by name, the others added up.
runtime::Meters::Levels tenant_levels(const AccountsReading& reading,
                                      std::int64_t (*value)(const TenantRow&));

}  // namespace ron::gateway
