#include <string>

#include <gtest/gtest.h>

#include "sim/harness/run.h"
#include "sim/harness/test_seeds.h"
#include "sim/index/plant.h"
#include "sim/index/subject.h"

namespace ron::sim {
namespace {

TEST(IndexSim, SeedsPass) {
  Tally total;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const RunResult result = run_seed(seed, make_index_subject, {});
    EXPECT_EQ(result.verdict, std::nullopt) << "replay: index_sim --trace --seed " << seed;
    total.add(result.tally);
  }
  EXPECT_GT(total.faults["power cuts of the server"], 10U);
  EXPECT_GT(total.faults["disks made to fail"], 5U);
  EXPECT_GT(total.faults["outages of peers"], 10U);
  EXPECT_GT(total.faults["outages of proxies"], 10U);
  EXPECT_GT(total.events["versions checked at the end"], 300U);
  EXPECT_GT(total.events["announcements acknowledged"], 50U);
}

TEST(IndexSim, SameSeedSameTrace) { expect_same_seed_same_trace(make_index_subject); }

TEST(IndexSim, WatchingDoesNotChangeASeed) {
  expect_watching_changes_nothing(make_index_subject, 7);
}

class PlantedIndexBug : public testing::TestWithParam<PlantInfo> {};

TEST_P(PlantedIndexBug, IsFoundWithin500Seeds) {
  expect_found_within_500_seeds(make_index_subject, GetParam());
}

INSTANTIATE_TEST_SUITE_P(IndexSim, PlantedIndexBug,
                         testing::ValuesIn(all_index_plants().begin(), all_index_plants().end()),
                         plant_test_name);

}  // namespace
}  // namespace ron::sim
