#include "services/gateway/accounts.h"

#include <string>

#include <gtest/gtest.h>

namespace ron::gateway {
namespace {

TenantPtr tenant(const std::string& name, std::uint32_t quantum, Cost served) {
  auto made = std::make_shared<Tenant>(TenantId::named(name), quantum, 1000);
  made->served(served);
  return made;
}

TEST(Accounts, SharesAreOfEverythingServed) {
  Accounts accounts;
  accounts.sample({tenant("a", 1, 100), tenant("b", 1, 300)});
  const auto reading = accounts.latest();
  ASSERT_EQ(reading->tenants.size(), 2U);
  EXPECT_EQ(reading->tenants[0].name, "b");
  EXPECT_DOUBLE_EQ(reading->tenants[0].share, 0.75);
  EXPECT_DOUBLE_EQ(reading->tenants[1].share, 0.25);
  EXPECT_DOUBLE_EQ(reading->jain_index, 400.0 * 400.0 / (2 * (100.0 * 100.0 + 300.0 * 300.0)));
}

TEST(Accounts, AShareByQuantumIsFair) {
  Accounts accounts;
  accounts.sample({tenant("a", 1, 100), tenant("b", 3, 300), tenant("idle", 1, 0)});
  EXPECT_DOUBLE_EQ(accounts.latest()->jain_index, 1);
}

TEST(Accounts, OnlyTheLargestAreNamed) {
  Accounts accounts;
  std::vector<TenantPtr> many;
  for (int i = 0; i < 20; ++i) many.push_back(tenant("t" + std::to_string(i), 1, 1000 - i));
  accounts.sample(many);
  const auto levels = tenant_levels(
      *accounts.latest(), [](const TenantRow& row) -> std::int64_t { return row.served; });
  ASSERT_EQ(levels.size(), Accounts::kNamed + 1);
  EXPECT_EQ(levels[0].first, "t0");
  EXPECT_EQ(levels.back().first, runtime::kOtherLabel);
  EXPECT_EQ(levels.back().second, 984 + 983 + 982 + 981);
}

}  // namespace
}  // namespace ron::gateway
