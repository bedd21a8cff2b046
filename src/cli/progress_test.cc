#include "cli/progress.h"

#include <gtest/gtest.h>

namespace ron::cli {
namespace {

using namespace std::chrono_literals;

constexpr platform::TimePoint kStart{100s};

TEST(HumanBytes, PicksTheLargestUnitThatFits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.00 KiB");
  EXPECT_EQ(human_bytes(1280 * base::kMiB), "1.25 GiB");
  EXPECT_EQ(human_bytes(base::kMiB - 1), "1.00 MiB") << "never 1024.00 KiB";
  EXPECT_EQ(human_bytes(UINT64_MAX), "16.00 EiB");
}

TEST(HumanDuration, NamesTheTwoLargestUnits) {
  EXPECT_EQ(human_duration(0s), "0s");
  EXPECT_EQ(human_duration(1ms), "1s") << "not over before it is over";
  EXPECT_EQ(human_duration(192s), "3m12s");
  EXPECT_EQ(human_duration(65min), "1h05m");
  EXPECT_EQ(human_duration(49h), "2d01h");
}

TEST(Progress, ShowsPercentRateAndTimeLeft) {
  Progress progress("put");
  progress.begin(kStart);
  progress.expect_bytes(1000 * base::kMiB);
  progress.expect_all();
  progress.add_bytes(250 * base::kMiB);
  EXPECT_EQ(progress.draw(kStart + 1s, 200),
            "put  250.00 MiB / 1000.00 MiB  [#####---------------]  25%  250.00 MiB/s  ETA 3s");
}

TEST(Progress, IsDrawnAtMostTenTimesASecond) {
  Progress progress("get");
  progress.begin(kStart);
  EXPECT_FALSE(progress.draw(kStart + 99ms, 80));
  EXPECT_TRUE(progress.draw(kStart + 100ms, 80));
  EXPECT_FALSE(progress.draw(kStart + 199ms, 80));
  EXPECT_TRUE(progress.draw(kStart + 200ms, 80));
}

TEST(Progress, PromisesNothingBeforeAllWorkIsKnown) {
  Progress progress("put");
  progress.begin(kStart);
  progress.expect_bytes(100);
  progress.add_bytes(50);
  progress.add_item();
  EXPECT_EQ(progress.draw(kStart + 1s, 80), "put  50 B  1 files  50 B/s");
}

TEST(Progress, WhatWasThereBeforeCountsForTheWholeButNotForTheRate) {
  Progress progress("get");
  progress.begin(kStart);
  progress.expect_bytes(100);
  progress.expect_all();
  progress.skip_bytes(60);
  progress.add_bytes(20);
  EXPECT_EQ(progress.draw(kStart + 1s, 80),
            "get  80 B / 100 B  [################----]  80%  20 B/s  ETA 1s");
}

TEST(Progress, FollowsAChangeOfSpeedSmoothly) {
  Progress progress("get");
  progress.begin(kStart);
  progress.add_bytes(1000);
  progress.draw(kStart + 1s, 80);
  progress.add_bytes(3000);
  const auto line = progress.draw(kStart + 2s, 80);
  EXPECT_EQ(line, "get  3.91 KiB  1.74 KiB/s") << "between 1000 and 3000 bytes per second";
}

TEST(Progress, FitsTheTerminal) {
  Progress progress("put");
  progress.begin(kStart);
  progress.expect_bytes(base::kGiB);
  progress.expect_all();
  EXPECT_EQ(progress.draw(kStart + 1s, 20)->size(), 19U);
}

}  // namespace
}  // namespace ron::cli
