#include <set>
#include <string>

#include <gtest/gtest.h>

#include "sim/gateway/plant.h"
#include "sim/gateway/subject.h"
#include "sim/harness/run.h"

namespace ron::sim {
namespace {

RunResult run(std::uint64_t seed, const RunOptions& options = {}) {
  return run_seed(seed, make_gateway_subject, options);
}

// What the simulation is about is met within few seeds: every misdeed of an upstream, outages,
// tasks that fail, requests that are repeated, refusals by every bound.
TEST(GatewaySim, SeedsPass) {
  Tally total;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const RunResult result = run(seed);
    EXPECT_EQ(result.verdict, std::nullopt) << "replay: gateway_sim --trace --seed " << seed;
    total.add(result.tally);
  }
#define RON_X(name, what)                                                                       \
  if (is_misdeed(Deed::name)) {                                                                 \
    EXPECT_GT(total.faults["requests upstreams " + std::string(text(Deed::name))], 0U) << what; \
  }
  RON_SIM_DEEDS(RON_X)
#undef RON_X
  for (const char* const outage : {"upstreams killed", "upstreams without power",
                                   "upstreams cut off", "upstreams frozen", "upstreams drained"}) {
    EXPECT_GT(total.faults[outage], 5U) << outage;
  }
  for (const char* const kind : {"worker", "scheduler", "prober", "dialer", "monitor"}) {
    EXPECT_GT(total.faults[std::string("tasks made to fail: ") + kind], 0U) << kind;
  }
  for (const char* const outcome :
       {"200 of an upstream", "429 Busy", "429 RateLimited", "502 UpstreamFail", "503 BreakerOpen",
        "503 Degraded", "504 Timeout", "no answer: cut"}) {
    EXPECT_GT(total.outcomes[outcome], 0U) << outcome;
  }
  EXPECT_GT(total.events["requests that upstreams saw again"], 10U);
  EXPECT_GT(total.events["seeds with svc-storage in the process"], 20U);
  EXPECT_GT(total.events["audits"], 50U);
}

TEST(GatewaySim, SameSeedSameTrace) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1001; seed <= 1015; ++seed) {
    const std::uint64_t hash = run(seed).hash;
    EXPECT_EQ(run(seed).hash, hash) << "seed " << seed;
    hashes.insert(hash);
  }
  EXPECT_EQ(hashes.size(), 15U);
}

TEST(GatewaySim, WatchingDoesNotChangeASeed) {
  std::size_t lines = 0;
  const RunOptions watched{
      .plant = {}, .print = [&lines](std::string_view) { ++lines; }, .all_steps = true};
  EXPECT_EQ(run(7, watched).hash, run(7).hash);
  EXPECT_GT(lines, 100U);
}

class PlantedGatewayBug : public testing::TestWithParam<PlantInfo> {};

// And nothing but the bug is wrong with the seed that finds it.
TEST_P(PlantedGatewayBug, IsFoundWithin500Seeds) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    if (!run(seed, {.plant = std::string(GetParam().name), .print = {}}).verdict) continue;
    EXPECT_EQ(run(seed).verdict, std::nullopt) << "seed " << seed;
    return;
  }
  FAIL() << "the simulation does not notice a gateway that " << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(GatewaySim, PlantedGatewayBug,
                         testing::ValuesIn(all_gateway_plants().begin(),
                                           all_gateway_plants().end()),
                         [](const testing::TestParamInfo<PlantInfo>& info) {
                           std::string name(info.param.name);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace ron::sim
