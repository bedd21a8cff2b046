#include <string>

#include <gtest/gtest.h>

#include "sim/harness/run.h"
#include "sim/harness/test_seeds.h"
#include "sim/storage/plant.h"
#include "sim/storage/subject.h"

namespace ron::sim {
namespace {

RunResult run(std::uint64_t seed, const RunOptions& options = {}) {
  return run_seed(seed, make_storage_subject, options);
}

// Both halves of what the simulation is about are met within few seeds: an object, and an upload,
// that a machine which lost its power gave back through HTTP.
TEST(StorageSim, SeedsPass) {
  Tally total;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const RunResult result = run(seed);
    EXPECT_EQ(result.verdict, std::nullopt) << "replay: storage_sim --trace --seed " << seed;
    total.add(result.tally);
  }
  EXPECT_GT(total.faults["power cuts of the server"], 20U);
  EXPECT_GT(total.faults["writers made to fail"], 10U);
  EXPECT_GT(total.events["objects read in a later life than they were acknowledged in"], 20U);
  EXPECT_GT(total.events["uploads found in a later life than they were begun in"], 2U);
  EXPECT_GT(total.events["refusals for want of room, checked"], 100U);
}

TEST(StorageSim, SameSeedSameTrace) { expect_same_seed_same_trace(make_storage_subject); }

TEST(StorageSim, WatchingDoesNotChangeASeed) {
  expect_watching_changes_nothing(make_storage_subject, 7);
}

class PlantedBug : public testing::TestWithParam<PlantInfo> {};

TEST_P(PlantedBug, IsFoundWithin500Seeds) {
  expect_found_within_500_seeds(make_storage_subject, GetParam());
}

INSTANTIATE_TEST_SUITE_P(StorageSim, PlantedBug,
                         testing::ValuesIn(all_plants().begin(), all_plants().end()),
                         plant_test_name);

}  // namespace
}  // namespace ron::sim
