#include <set>
#include <string>

#include <gtest/gtest.h>

#include "sim/harness/run.h"
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

TEST(StorageSim, SameSeedSameTrace) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1001; seed <= 1015; ++seed) {
    const std::uint64_t hash = run(seed).hash;
    EXPECT_EQ(run(seed).hash, hash) << "seed " << seed;
    hashes.insert(hash);
  }
  EXPECT_EQ(hashes.size(), 15U);
}

TEST(StorageSim, WatchingDoesNotChangeASeed) {
  std::size_t lines = 0;
  const RunOptions watched{
      .plant = {}, .print = [&lines](std::string_view) { ++lines; }, .all_steps = true};
  EXPECT_EQ(run(7, watched).hash, run(7).hash);
  EXPECT_GT(lines, 100U);
}

class PlantedBug : public testing::TestWithParam<PlantInfo> {};

// And nothing but the bug is wrong with the seed that finds it.
TEST_P(PlantedBug, IsFoundWithin500Seeds) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    if (!run(seed, {.plant = std::string(GetParam().name), .print = {}}).verdict) continue;
    EXPECT_EQ(run(seed).verdict, std::nullopt) << "seed " << seed;
    return;
  }
  FAIL() << "the simulation does not notice a service that " << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(StorageSim, PlantedBug,
                         testing::ValuesIn(all_plants().begin(), all_plants().end()),
                         [](const testing::TestParamInfo<PlantInfo>& info) {
                           std::string name(info.param.name);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace ron::sim
