#include <string>

#include <gtest/gtest.h>

#include "sim/edge/plant.h"
#include "sim/edge/subject.h"
#include "sim/harness/run.h"
#include "sim/harness/test_seeds.h"

namespace ron::sim {
namespace {

TEST(EdgeSim, SeedsPass) {
  Tally total;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const RunResult result = run_seed(seed, make_edge_subject, {});
    EXPECT_EQ(result.verdict, std::nullopt) << "replay: edge_sim --trace --seed " << seed;
    total.add(result.tally);
  }
  EXPECT_GT(total.faults["power cuts of the server"], 10U);
  EXPECT_GT(total.faults["disks made to fail"], 5U);
  EXPECT_GT(total.faults["outages of origins"], 10U);
  for (const char* how : {"hit", "miss", "stale", "revalidated"}) {
    EXPECT_GT(total.events["X-Cache: " + std::string(how)], 50U) << how;
  }
  EXPECT_GT(total.events["URLs checked at the end"], 300U);
  EXPECT_GT(total.events["packs put in place"], 60U);
}

TEST(EdgeSim, SameSeedSameTrace) { expect_same_seed_same_trace(make_edge_subject); }

TEST(EdgeSim, WatchingDoesNotChangeASeed) { expect_watching_changes_nothing(make_edge_subject, 7); }

class PlantedEdgeBug : public testing::TestWithParam<PlantInfo> {};

TEST_P(PlantedEdgeBug, IsFoundWithin500Seeds) {
  expect_found_within_500_seeds(make_edge_subject, GetParam());
}

INSTANTIATE_TEST_SUITE_P(EdgeSim, PlantedEdgeBug,
                         testing::ValuesIn(all_edge_plants().begin(), all_edge_plants().end()),
                         plant_test_name);

}  // namespace
}  // namespace ron::sim
