#include <string>

#include <gtest/gtest.h>

#include "sim/harness/run.h"
#include "sim/harness/test_seeds.h"
#include "sim/registry/plant.h"
#include "sim/registry/subject.h"

namespace ron::sim {
namespace {

TEST(RegistrySim, SeedsPass) {
  Tally total;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const RunResult result = run_seed(seed, make_registry_subject, {});
    EXPECT_EQ(result.verdict, std::nullopt) << "replay: registry_sim --trace --seed " << seed;
    total.add(result.tally);
  }
  EXPECT_GT(total.faults["power cuts of the server"], 10U);
  EXPECT_GT(total.faults["disks made to fail"], 5U);
  EXPECT_GT(total.events["commits acknowledged"], 100U);
  EXPECT_GT(total.events["changes of signers"], 10U);
  EXPECT_GT(total.events["withdrawals acknowledged"], 100U);
  EXPECT_GT(total.events["versions verified at the end"], 100U);
  EXPECT_GT(total.events["logs that were pruned"], 5U);
  EXPECT_GT(total.events["changes that were followed"], 100U);
  EXPECT_GT(total.events["events of streams"], 100U);
  EXPECT_GT(total.events["gaps of streams"], 0U);
}

TEST(RegistrySim, SameSeedSameTrace) { expect_same_seed_same_trace(make_registry_subject); }

TEST(RegistrySim, WatchingDoesNotChangeASeed) {
  expect_watching_changes_nothing(make_registry_subject, 7);
}

class PlantedRegistryBug : public testing::TestWithParam<PlantInfo> {};

TEST_P(PlantedRegistryBug, IsFoundWithin500Seeds) {
  expect_found_within_500_seeds(make_registry_subject, GetParam());
}

INSTANTIATE_TEST_SUITE_P(RegistrySim, PlantedRegistryBug,
                         testing::ValuesIn(all_registry_plants().begin(),
                                           all_registry_plants().end()),
                         plant_test_name);

}  // namespace
}  // namespace ron::sim
