#include <string>

#include <gtest/gtest.h>

#include "sim/gateway/plant.h"
#include "sim/gateway/subject.h"
#include "sim/harness/run.h"
#include "sim/harness/test_seeds.h"

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

TEST(GatewaySim, SameSeedSameTrace) { expect_same_seed_same_trace(make_gateway_subject); }

TEST(GatewaySim, WatchingDoesNotChangeASeed) {
  expect_watching_changes_nothing(make_gateway_subject, 7);
}

class PlantedGatewayBug : public testing::TestWithParam<PlantInfo> {};

TEST_P(PlantedGatewayBug, IsFoundWithin500Seeds) {
  expect_found_within_500_seeds(make_gateway_subject, GetParam());
}

INSTANTIATE_TEST_SUITE_P(GatewaySim, PlantedGatewayBug,
                         testing::ValuesIn(all_gateway_plants().begin(),
                                           all_gateway_plants().end()),
                         plant_test_name);

}  // namespace
}  // namespace ron::sim
