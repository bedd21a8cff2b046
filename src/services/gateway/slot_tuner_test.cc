#include "services/gateway/slot_tuner.h"

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "platform/random.h"

namespace ron::gateway {
namespace {

using namespace std::chrono_literals;

// An upstream that works on `parallel` requests at a time, a thousand a second each, and is never
// left without any.
struct Upstream {
  double parallel;
  double noise = 0;  // of each measurement, either way

  // Lets the tuner see some seconds of it.
  void run(SlotTuner& tuner, int seconds) {
    for (int i = 0; i < seconds * 1000; ++i) {
      now += 1ms;
      const double jitter = 1 + noise * (static_cast<double>(random.below(2001)) / 1000 - 1);
      ended += std::min(static_cast<double>(tuner.slots()), parallel) * jitter;
      tuner.observe(now, static_cast<std::uint64_t>(ended), true);
    }
  }
  platform::TimePoint now{1h};
  double ended = 0;
  platform::FastRandom random{3};
};

TEST(SlotTuner, FindsWhatTheUpstreamCanDo) {
  for (const double parallel : {1.0, 2.0, 3.0, 7.0, 16.0, 50.0, 200.0}) {
    SlotTuner tuner(256);
    Upstream upstream{parallel};
    upstream.run(tuner, 120);
    EXPECT_GE(static_cast<double>(tuner.slots()), 0.9 * parallel) << parallel;
    EXPECT_LE(static_cast<double>(tuner.slots()), 1.35 * parallel + 1) << parallel;
  }
}

TEST(SlotTuner, IsNotLedAstrayByNoise) {
  for (const double parallel : {2.0, 16.0, 100.0}) {
    SlotTuner tuner(256);
    Upstream upstream{parallel, 0.5};
    upstream.run(tuner, 60);
    const double before = upstream.ended;
    std::size_t slots = 0;
    constexpr int kSeconds = 600;
    for (int second = 0; second < kSeconds; ++second) {
      upstream.run(tuner, 1);
      slots += tuner.slots();
    }
    EXPECT_GE(upstream.ended - before, 0.93 * kSeconds * 1000 * parallel) << parallel;
    EXPECT_LE(static_cast<double>(slots), 1.6 * kSeconds * parallel) << parallel;
  }
}

TEST(SlotTuner, FollowsAnUpstreamThatChanges) {
  SlotTuner tuner(256);
  Upstream upstream{4};
  upstream.run(tuner, 60);
  upstream.parallel = 40;
  upstream.run(tuner, 60);
  EXPECT_GE(tuner.slots(), 36U);
  upstream.parallel = 4;
  upstream.run(tuner, 60);
  EXPECT_LE(tuner.slots(), 6U);
}

TEST(SlotTuner, LearnsNothingFromAnUpstreamThatHasNothingToDo) {
  SlotTuner tuner(256);
  for (int i = 0; i < 10'000; ++i) {
    tuner.observe(platform::TimePoint(1h + i * 1ms), static_cast<std::uint64_t>(i), false);
  }
  EXPECT_EQ(tuner.slots(), SlotTuner::kFirst);
}

TEST(SlotTuner, KeepsToTheMost) {
  SlotTuner tuner(4);
  EXPECT_EQ(tuner.slots(), 4U);
  Upstream upstream{100};
  upstream.run(tuner, 10);
  EXPECT_EQ(tuner.slots(), 4U);
  tuner.set_most(32);
  upstream.run(tuner, 10);
  EXPECT_EQ(tuner.slots(), 32U);
  tuner.set_most(2);
  EXPECT_EQ(tuner.slots(), 2U);
}

TEST(SlotTuner, ComparesSeldomOnceItHasFound) {
  SlotTuner tuner(256);
  Upstream upstream{16};
  upstream.run(tuner, 60);
  const std::size_t found = tuner.slots();
  int elsewhere = 0;
  for (int second = 0; second < 600; ++second) {
    upstream.run(tuner, 1);
    elsewhere += tuner.slots() == found ? 0 : 1;
  }
  EXPECT_LE(elsewhere, 12);
}

}  // namespace
}  // namespace ron::gateway
