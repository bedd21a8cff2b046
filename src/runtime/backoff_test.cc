#include "runtime/backoff.h"

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, DelayIsWithinHalfOfTheExponential) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    const auto base = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 50);
    const auto cap = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 62);
    const auto attempt = *rc::gen::inRange<std::uint32_t>(0, 200);
    platform::FastRandom random(seed);
    const auto exact = static_cast<__int128>(base) << std::min<std::uint32_t>(attempt, 64);
    const auto full = static_cast<std::int64_t>(std::min<__int128>(exact, cap));
    const Backoff backoff{base::Duration(base), base::Duration(cap)};
    const std::int64_t delay = backoff.delay(attempt, random).count();
    RC_ASSERT(delay <= full);
    RC_ASSERT(delay >= full / 2);
  }));
}

TEST(Backoff, JitterOfTheBaseIsAdded) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    const auto attempt = *rc::gen::inRange<std::uint32_t>(0, 10);
    platform::FastRandom random(seed);
    const base::Duration full = std::min<base::Duration>(800ms, 50ms * (1 << attempt));
    const Backoff backoff{50ms, 800ms, Jitter::Base};
    const base::Duration delay = backoff.delay(attempt, random);
    RC_ASSERT(delay >= full);
    RC_ASSERT(delay <= full + 50ms);
    const Backoff exact{50ms, 800ms, Jitter::None};
    RC_ASSERT(exact.delay(attempt, random) == full);
  }));
}

TEST(Backoff, LongBasesDoNotOverflow) {
  platform::FastRandom random(1);
  const Backoff backoff{1h, 24h};
  EXPECT_GE(backoff.delay(40, random), 12h);
  EXPECT_LE(backoff.delay(40, random), 24h);
}

TEST(Backoff, JitterSpreads) {
  platform::FastRandom random(1);
  const Backoff backoff{50ms, 2s};
  base::Duration least = 1h;
  base::Duration most{};
  for (int i = 0; i < 1000; ++i) {
    const base::Duration delay = backoff.delay(2, random);
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  EXPECT_LT(least, 110ms);
  EXPECT_GT(most, 190ms);
}

}  // namespace
}  // namespace ron::runtime
