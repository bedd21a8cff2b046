#include "services/index/store.h"

#include <gtest/gtest.h>

#include "services/index/test_index.h"

namespace ron::index {
namespace {

using testing::named;
using testing::removed;
using testing::TestStore;

constexpr std::uint64_t kSeeds = 40;

TEST(Store, WhatWasCommittedIsThereAfterAPowerCut) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    volume::Machine machine(seed);
    std::uint64_t acknowledged = 0;
    for (int life = 0; life < 4; ++life) {
      auto store = std::make_unique<TestStore>(machine);
      ASSERT_TRUE(store->open());
      const auto kept = store->name("docs");
      ASSERT_EQ(kept ? kept->version : 0, acknowledged) << "seed " << seed;
      for (int i = 0; i < 5; ++i) {
        const auto set = store->set(named("docs", std::to_string(life * 10 + i)));
        ASSERT_TRUE(set);
        acknowledged = set->version.version;
      }
      machine.node.power_cut();
      store.reset();
      machine.node.restart();
    }
  }
}

// The log gives its segments back, and the map has what they held.
TEST(Store, TidyingLosesNothing) {
  volume::Machine machine(1);
  auto store = std::make_unique<TestStore>(machine);
  ASSERT_TRUE(store->open());
  const std::string large(base::kMiB, 'x');
  for (int i = 0; i < 80; ++i) {
    ASSERT_TRUE(store->commit({{{"k" + std::to_string(i), large}}}));
    ASSERT_TRUE(store->tidy());
  }
  machine.node.power_cut();
  store.reset();
  machine.node.restart();
  TestStore again(machine);
  ASSERT_TRUE(again.open());
  for (int i = 0; i < 80; ++i) {
    const auto value = testing::run(machine, again->map().get("k" + std::to_string(i)));
    ASSERT_TRUE(value.value()) << i;
  }
}

TEST(Store, AFailedWriteIsUndoneByTheRepair) {
  volume::Machine machine(3);
  TestStore store(machine);
  ASSERT_TRUE(store.open());
  ASSERT_TRUE(store.set(named("docs", "1")));
  machine.world.faults().fail_write = 1'000'000;
  EXPECT_FALSE(store.set(named("docs", "2")));
  EXPECT_TRUE(store->needs_repair());
  machine.world.faults().fail_write = 0;
  ASSERT_TRUE(store.repair());
  EXPECT_FALSE(store->needs_repair());
  EXPECT_EQ(store.name("docs")->version, 1U);
  ASSERT_TRUE(store.set(named("docs", "3")));
  EXPECT_EQ(store.name("docs")->version, 2U);
}

TEST(Store, InAmnesiaAFullMemoryTakesRemovalsOnly) {
  volume::Machine machine(5);
  TestStore store(machine, true);
  ASSERT_TRUE(store.open());
  const std::string large(base::kMiB, 'x');
  int taken = 0;
  while (store.commit({{{"k" + std::to_string(taken), large}}})) ASSERT_LT(++taken, 1000);
  EXPECT_GT(taken, 200);
  EXPECT_FALSE(store->needs_repair());
  ASSERT_TRUE(store.commit({{{"k0", std::nullopt}}}));
  ASSERT_TRUE(store.commit({{{"again", large}}}));
}

TEST(Store, InAmnesiaNothingIsOnDisk) {
  volume::Machine machine(5);
  TestStore store(machine, true);
  ASSERT_TRUE(store.open());
  ASSERT_TRUE(store.set(named("docs", "1")));
  EXPECT_EQ(store.name("docs")->version, 1U);
  EXPECT_GT(store->memory_bytes(), 0U);
}

}  // namespace
}  // namespace ron::index
