#include "services/gateway/tenant.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ron::gateway {
namespace {

using namespace std::chrono_literals;

constexpr platform::TimePoint kStart{1h};

TenantId named(std::string_view name) { return TenantId::named(name); }

TenantTable table(config::CountMap quanta = {}) {
  return TenantTable({.default_quantum = 2, .quanta = std::move(quanta), .rps = 10});
}

TEST(TenantTable, KnowsEachTenantOnce) {
  auto tenants = table({{"gold", 5}});
  const TenantPtr gold = tenants.use(named("gold"), kStart);
  EXPECT_EQ(tenants.use(named("gold"), kStart), gold);
  EXPECT_EQ(gold->quantum.load(), 5U);
  EXPECT_EQ(tenants.use(named("other"), kStart)->quantum.load(), 2U);
}

TEST(TenantTable, ANameIsNeverAnAddress) {
  auto tenants = table({{"192.0.2.7", 5}, {"name:192.0.2.7", 3}});
  const AddressText address("192.0.2.7");
  const TenantPtr at = tenants.use(TenantId::at(address), kStart);
  const TenantPtr named_so = tenants.use(named("192.0.2.7"), kStart);
  EXPECT_NE(at, named_so);
  EXPECT_EQ(tenants.use(TenantId::at(address), kStart), at);
  EXPECT_EQ(tenants.use(named("192.0.2.7"), kStart), named_so);
  EXPECT_EQ(tenants.active(), 2U);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(named_so->rate.try_take(kStart));
  EXPECT_FALSE(named_so->rate.try_take(kStart));
  EXPECT_TRUE(at->rate.try_take(kStart)) << "the flood was the other one's";
  EXPECT_EQ(at->quantum.load(), 5U);
  EXPECT_EQ(named_so->quantum.load(), 3U);
}

TEST(TenantTable, CountsWhoIsActive) {
  auto tenants = table();
  EXPECT_EQ(tenants.active(), 0U);
  tenants.use(named("a"), kStart);
  tenants.use(named("a"), kStart);
  EXPECT_EQ(tenants.active(), 1U);
  tenants.use(named("b"), kStart + 5s);
  EXPECT_EQ(tenants.active(), 2U);
  tenants.tick(kStart + Tenant::kActive);
  EXPECT_EQ(tenants.active(), 1U);
  tenants.tick(kStart + 5s + Tenant::kActive);
  EXPECT_EQ(tenants.active(), 0U);
  tenants.use(named("a"), kStart + 1h);
  EXPECT_EQ(tenants.active(), 1U);
}

TEST(TenantTable, WhoHasSomethingInFlightIsActive) {
  auto tenants = table();
  const TenantPtr tenant = tenants.use(named("a"), kStart);
  ++tenant->in_flight;
  tenants.tick(kStart + 1h);
  EXPECT_EQ(tenants.active(), 1U);
  --tenant->in_flight;
  tenants.tick(kStart + 1h);
  EXPECT_EQ(tenants.active(), 0U);
}

// A table full of names that were each used once, a moment apart from each other.
struct FullTable : testing::Test {
  FullTable() {
    for (std::size_t i = 0; i < TenantTable::kMost; ++i) use_new();
  }
  void use_new() {
    now += 1us;
    tenants.use(named("flood " + std::to_string(made++)), now);
  }
  TenantTable tenants{{.default_quantum = 1, .quanta = {}, .rps = 10}};
  platform::TimePoint now = kStart;
  std::size_t made = 0;
};

TEST_F(FullTable, StaysBounded) {
  for (std::size_t i = 0; i < 3 * TenantTable::kMost; ++i) use_new();
  EXPECT_EQ(tenants.all().size(), TenantTable::kMost);
  EXPECT_EQ(tenants.active(), TenantTable::kMost);
}

TEST_F(FullTable, WhoeverWasUsedLatelyStays) {
  const TenantPtr regular = tenants.use(named("regular"), now);
  for (std::size_t i = 0; i < 3 * TenantTable::kMost; ++i) {
    use_new();
    if (i % 100 == 0) EXPECT_EQ(tenants.use(named("regular"), now), regular);
  }
}

TEST_F(FullTable, WhoeverHasSomethingInFlightOrWaitingStays) {
  const TenantPtr downloading = tenants.use(named("downloading"), now);
  const TenantPtr waiting = tenants.use(named("waiting"), now);
  ++downloading->in_flight;
  ++waiting->line(3).queued;
  for (std::size_t i = 0; i < 3 * TenantTable::kMost; ++i) use_new();
  EXPECT_EQ(tenants.use(named("downloading"), now), downloading);
  EXPECT_EQ(tenants.use(named("waiting"), now), waiting);
}

TEST_F(FullTable, WhoWasForgottenIsMadeAgainAndCountedOnce) {
  const TenantPtr before = tenants.use(named("one"), now);
  for (std::size_t i = 0; i < 2 * TenantTable::kMost; ++i) use_new();
  const TenantPtr after =
      tenants.use(named("one"), now);  // this thread remembers the one from before
  EXPECT_NE(after, before);
  EXPECT_EQ(tenants.active(), TenantTable::kMost);
  tenants.tick(now + Tenant::kActive);
  EXPECT_EQ(tenants.active(), 0U);
}

TEST(TenantTable, DoesNotMistakeAnotherTablesTenantForItsOwn) {
  TenantPtr before;
  {
    auto tenants = table();
    before = tenants.use(named("a"), kStart);
  }
  auto tenants = table();
  EXPECT_NE(tenants.use(named("a"), kStart), before);
}

// Names share places in what a thread remembers; none is mistaken for another.
TEST(TenantTable, ManyNamesAreKeptApart) {
  auto tenants = table();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 1000; ++i) {
      const std::string name = std::to_string(i);
      ASSERT_EQ(tenants.use(named(name), kStart)->name, name);
    }
  }
  EXPECT_EQ(tenants.all().size(), 1000U);
}

// Counted, forgotten and made again from several threads at once: the number of active tenants is
// what lets a single one bypass the queue, so it must come back to zero.
TEST(TenantTable, TheCountOfActiveTenantsIsExactUnderContention) {
  auto tenants = table();
  const auto use_many = [&](std::size_t offset) {
    for (std::size_t i = 0; i < 20'000; ++i) {
      tenants.use(named(std::to_string((i * 7 + offset) % (TenantTable::kMost + 64))), kStart);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t offset : {0U, 1U, 2000U}) threads.emplace_back(use_many, offset);
  }
  EXPECT_EQ(tenants.active(), tenants.all().size());
  tenants.tick(kStart + Tenant::kActive);
  EXPECT_EQ(tenants.active(), 0U);
}

TEST(TenantTable, TheSharesOfAllAreSummedOnceASecond) {
  auto tenants = table();
  tenants.use(named("a"), kStart)->served(30);
  tenants.use(named("b"), kStart)->served(12);
  tenants.tick(kStart);
  EXPECT_EQ(tenants.served_lately(), 42);
}

TEST(TenantTable, ARateOfZeroIsNoLimit) {
  TenantTable tenants({.default_quantum = 1, .quanta = {}, .rps = 0});
  const TenantPtr tenant = tenants.use(named("a"), kStart);
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(tenant->rate.try_take(kStart));
  tenants.apply({.default_quantum = 1, .quanta = {}, .rps = 1}, kStart);
  EXPECT_TRUE(tenant->rate.try_take(kStart));
  EXPECT_FALSE(tenant->rate.try_take(kStart));
  tenants.apply({.default_quantum = 1, .quanta = {}, .rps = 0}, kStart);
  EXPECT_TRUE(tenant->rate.try_take(kStart));
}

TEST(TenantTable, NewLimitsHoldAtOnce) {
  auto tenants = table();
  const TenantPtr tenant = tenants.use(named("a"), kStart);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(tenant->rate.try_take(kStart));
  EXPECT_FALSE(tenant->rate.try_take(kStart));
  tenants.apply({.default_quantum = 1, .quanta = {{"a", 7}}, .rps = 1000}, kStart);
  EXPECT_EQ(tenant->quantum.load(), 7U);
  EXPECT_TRUE(tenant->rate.try_take(kStart + 1ms));
}

TEST(Tenant, SharesAreOfTheLastMinute) {
  Tenant tenant(named("a"), 1, 1);
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
  Tenant tenant(named("a"), 1, 1);
  for (int i = 0; i < 100; ++i) tenant.served(1000);
  EXPECT_NEAR(static_cast<double>(tenant.mean_cost()), 1000, 20);
}

TEST(JainIndex, IsOneForAllAlikeAndOneNthForOneAlone) {
  EXPECT_DOUBLE_EQ(jain_index({}), 1);
  EXPECT_DOUBLE_EQ(jain_index({5, 5, 5}), 1);
  EXPECT_DOUBLE_EQ(jain_index({1, 0, 0, 0}), 0.25);
}

}  // namespace
}  // namespace ron::gateway
