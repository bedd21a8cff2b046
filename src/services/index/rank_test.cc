#include "services/index/rank.h"

#include <chrono>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::index {
namespace {

using namespace std::chrono_literals;
using runtime::BreakerState;

constexpr std::int64_t kNow = 1'750'000'000'000;
constexpr std::int64_t kHour = 3'600'000;
constexpr RankPolicy kPolicy{.freshness_half_life = 1h, .region = "eu-west"};
constexpr RankFacts kBest{.region = "eu-west", .seen_ms = kNow, .latency_ms = 1};

double score_of(RankFacts facts) { return score(facts, kPolicy, kNow); }

TEST(Rank, NothingAgainstItIsTheBest) { EXPECT_DOUBLE_EQ(score_of(kBest), 1.0); }

TEST(Rank, TheSameRegionIsBetter) {
  RankFacts elsewhere = kBest;
  elsewhere.region = "us-east";
  EXPECT_LT(score_of(elsewhere), score_of(kBest));
  EXPECT_DOUBLE_EQ(score(elsewhere, {.freshness_half_life = 1h}, kNow), 1.0)
      << "whoever has no region has no preference";
}

TEST(Rank, FreshnessHalvesWithEveryHalfLife) {
  RankFacts old = kBest;
  old.seen_ms = kNow - kHour;
  EXPECT_DOUBLE_EQ(score_of(old), 0.5);
  old.seen_ms = kNow - 2 * kHour;
  EXPECT_DOUBLE_EQ(score_of(old), 0.25);
  old.seen_ms = kNow - 1000 * kHour;
  EXPECT_GT(score_of(old), 0.0);
  old.seen_ms = kNow + kHour;
  EXPECT_DOUBLE_EQ(score_of(old), 1.0);
}

TEST(Rank, LatencyCountsByClass) {
  EXPECT_EQ(latency_class(10), latency_class(0));
  EXPECT_NE(latency_class(11), latency_class(10));
  RankFacts facts = kBest;
  double last = 2;
  for (const std::uint32_t latency : {5U, 30U, 200U, 900U}) {
    facts.latency_ms = latency;
    EXPECT_LT(score_of(facts), last);
    last = score_of(facts);
  }
  facts.latency_ms.reset();
  EXPECT_GT(score_of(facts), last) << "not known is better than known to be slow";
}

TEST(Rank, AnOpenBreakerCountsMost) {
  RankFacts open = kBest;
  open.breaker = BreakerState::Open;
  RankFacts half = kBest;
  half.breaker = BreakerState::HalfOpen;
  EXPECT_LT(score_of(open), score_of(half));
  EXPECT_LT(score_of(half), score_of(kBest));
  RankFacts far = kBest;
  far.region = "us-east";
  far.latency_ms = 900;
  EXPECT_LT(score_of(open), score_of(far));
}

TEST(Rank, IsAlwaysAboveNothingAndNeverAboveOne) {
  EXPECT_TRUE(rc::check([](std::int64_t seen, std::uint32_t latency) {
    const RankFacts facts{.seen_ms = seen % (1LL << 45), .latency_ms = latency};
    const double value = score(facts, kPolicy, kNow);
    RC_ASSERT(value > 0 && value <= 1);
  }));
}

}  // namespace
}  // namespace ron::index
