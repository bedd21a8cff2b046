#include <gtest/gtest.h>

#include "volume/test_history.h"

namespace ron::volume {
namespace {

TEST(DiskVolumeModel, WhatWasAcknowledgedHolds) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    ASSERT_EQ(History(history_plan(seed)).run(), "") << "seed " << seed;
  }
}

TEST(DiskVolumeModel, WhatWasAcknowledgedHoldsOnAFailingDisk) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    ASSERT_EQ(History(failing_history_plan(seed)).run(), "") << "seed " << seed;
  }
}

TEST(DiskVolumeModel, WhatTheMediumLosesCostsNothingElse) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    ASSERT_EQ(History(decaying_history_plan(seed)).run(), "") << "seed " << seed;
  }
}

TEST(DiskVolumeModel, AVolumeThatDoesNotSyncIsFoundOut) {
  std::uint64_t violations = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    HistoryPlan plan = history_plan(seed);
    plan.options.skip_sync = true;
    violations += History(std::move(plan)).run().empty() ? 0U : 1U;
  }
  EXPECT_GT(violations, 5U);
}

}  // namespace
}  // namespace ron::volume
