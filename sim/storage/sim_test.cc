#include <set>
#include <string>

#include <gtest/gtest.h>

#include "sim/storage/plant.h"
#include "sim/harness/run.h"

namespace ron::sim {
namespace {

TEST(StorageSim, SeedsPass) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const RunResult result = run_seed(seed, {});
    EXPECT_EQ(result.verdict, std::nullopt) << "replay: storage_sim --trace --seed " << seed;
  }
}

TEST(StorageSim, SameSeedSameTrace) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1001; seed <= 1015; ++seed) {
    const std::uint64_t hash = run_seed(seed, {}).hash;
    EXPECT_EQ(run_seed(seed, {}).hash, hash) << "seed " << seed;
    hashes.insert(hash);
  }
  EXPECT_EQ(hashes.size(), 15U);
}

TEST(StorageSim, WatchingDoesNotChangeASeed) {
  std::size_t lines = 0;
  const RunOptions watched{.print = [&lines](std::string_view) { ++lines; }, .all_steps = true};
  EXPECT_EQ(run_seed(7, watched).hash, run_seed(7, {}).hash);
  EXPECT_GT(lines, 100U);
}

class PlantedBug : public testing::TestWithParam<PlantInfo> {};

TEST_P(PlantedBug, IsFoundWithin500Seeds) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    if (run_seed(seed, {.plant = GetParam().plant}).verdict) return;
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
