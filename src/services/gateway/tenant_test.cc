#include "services/gateway/tenant.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace ron::gateway {
namespace {

using namespace std::chrono_literals;

constexpr platform::TimePoint kStart{1h};

TenantTable table(config::CountMap quanta = {}) {
  return TenantTable({.default_quantum = 2, .quanta = std::move(quanta), .rps = 10});
}

TEST(TenantTable, KnowsEachTenantOnce) {
  auto tenants = table({{"gold", 5}});
  const TenantPtr gold = tenants.use("gold", kStart);
  EXPECT_EQ(tenants.use("gold", kStart), gold);
  EXPECT_EQ(gold->quantum.load(), 5U);
  EXPECT_EQ(tenants.use("other", kStart)->quantum.load(), 2U);
}

TEST(TenantTable, CountsWhoIsActive) {
  auto tenants = table();
  EXPECT_EQ(tenants.active(), 0U);
  tenants.use("a", kStart);
  tenants.use("a", kStart);
  EXPECT_EQ(tenants.active(), 1U);
  tenants.use("b", kStart + 5s);
  EXPECT_EQ(tenants.active(), 2U);
  tenants.tick(kStart + Tenant::kActive);
  EXPECT_EQ(tenants.active(), 1U);
  tenants.tick(kStart + 5s + Tenant::kActive);
  EXPECT_EQ(tenants.active(), 0U);
  tenants.use("a", kStart + 1h);
  EXPECT_EQ(tenants.active(), 1U);
}

TEST(TenantTable, WhoHasSomethingInFlightIsActive) {
  auto tenants = table();
  const TenantPtr tenant = tenants.use("a", kStart);
  ++tenant->in_flight;
  tenants.tick(kStart + 1h);
  EXPECT_EQ(tenants.active(), 1U);
  --tenant->in_flight;
  tenants.tick(kStart + 1h);
  EXPECT_EQ(tenants.active(), 0U);
}

TEST(TenantTable, IsBoundedAndForgetsTheLongestUnused) {
  auto tenants = table();
  for (std::size_t i = 0; i < TenantTable::kMost; ++i) tenants.use(std::to_string(i), kStart);
  const TenantPtr first = tenants.use("0", kStart);
  tenants.use("one more", kStart);
  EXPECT_EQ(tenants.all().size(), TenantTable::kMost);
  EXPECT_EQ(tenants.active(), TenantTable::kMost);
  EXPECT_EQ(tenants.use("0", kStart), first);  // used lately: still there
}

TEST(TenantTable, NewLimitsHoldAtOnce) {
  auto tenants = table();
  const TenantPtr tenant = tenants.use("a", kStart);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(tenant->rate.try_take(kStart));
  EXPECT_FALSE(tenant->rate.try_take(kStart));
  tenants.apply({.default_quantum = 1, .quanta = {{"a", 7}}, .rps = 1000}, kStart);
  EXPECT_EQ(tenant->quantum.load(), 7U);
  EXPECT_TRUE(tenant->rate.try_take(kStart + 1ms));
}

TEST(Tenant, SharesAreOfTheLastMinute) {
  Tenant tenant("a", 1, 1);
  tenant.served(100);
  EXPECT_EQ(tenant.served_lately(), 100);
  for (std::size_t i = 0; i < Tenant::kWindowSeconds; ++i) {
    tenant.tick();
    EXPECT_EQ(tenant.served_lately(), 100);
  }
  tenant.tick();
  EXPECT_EQ(tenant.served_lately(), 0);
}

TEST(Tenant, TheMeanFollowsWhatRequestsCost) {
  Tenant tenant("a", 1, 1);
  for (int i = 0; i < 100; ++i) tenant.served(1000);
  EXPECT_NEAR(static_cast<double>(tenant.mean_cost.load()), 1000, 20);
}

TEST(JainIndex, IsOneForAllAlikeAndOneNthForOneAlone) {
  EXPECT_DOUBLE_EQ(jain_index({}), 1);
  EXPECT_DOUBLE_EQ(jain_index({5, 5, 5}), 1);
  EXPECT_DOUBLE_EQ(jain_index({1, 0, 0, 0}), 0.25);
}

}  // namespace
}  // namespace ron::gateway
