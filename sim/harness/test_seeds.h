// For tests of simulations: what holds of the seeds of every service.
#pragma once

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "sim/harness/run.h"

namespace ron::sim {

inline void expect_same_seed_same_trace(const MakeSubject& make) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1001; seed <= 1015; ++seed) {
    const std::uint64_t hash = run_seed(seed, make, {}).hash;
    EXPECT_EQ(run_seed(seed, make, {}).hash, hash) << "seed " << seed;
    hashes.insert(hash);
  }
  EXPECT_EQ(hashes.size(), 15U);
}

inline void expect_watching_changes_nothing(const MakeSubject& make, std::uint64_t seed) {
  std::size_t lines = 0;
  const RunOptions watched{
      .plant = {}, .print = [&lines](std::string_view) { ++lines; }, .all_steps = true};
  EXPECT_EQ(run_seed(seed, make, watched).hash, run_seed(seed, make, {}).hash);
  EXPECT_GT(lines, 100U);
}

// And nothing but the bug is wrong with the seed that finds it.
inline void expect_found_within_500_seeds(const MakeSubject& make, const PlantInfo& plant) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const RunOptions planted{.plant = std::string(plant.name), .print = {}};
    if (!run_seed(seed, make, planted).verdict) continue;
    EXPECT_EQ(run_seed(seed, make, {}).verdict, std::nullopt) << "seed " << seed;
    return;
  }
  FAIL() << "the simulation does not notice a service that " << plant.what;
}

// The name of a plant as GoogleTest takes it.
inline std::string plant_test_name(const testing::TestParamInfo<PlantInfo>& info) {
  std::string name(info.param.name);
  std::erase(name, '-');
  return name;
}

}  // namespace ron::sim
