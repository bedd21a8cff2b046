#include "runtime/token_bucket.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;
using platform::TimePoint;

constexpr TimePoint kStart{1h};

TEST(TokenBucket, AdmitsABurstAndThenTheRate) {
  TokenBucket bucket(10, 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.try_take(kStart));
  const auto refused = bucket.try_take(kStart);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), 100ms);
  EXPECT_FALSE(bucket.try_take(kStart + 100ms - 1ns));
  EXPECT_TRUE(bucket.try_take(kStart + 100ms));
  EXPECT_FALSE(bucket.try_take(kStart + 100ms));
}

TEST(TokenBucket, GivesItsWholeBurstAtRatesThatDoNotDivide) {
  TokenBucket bucket(3, 7);
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_FALSE(bucket.try_take(kStart));
}

TEST(TokenBucket, SavesUpNoMoreThanTheBurst) {
  TokenBucket bucket(10, 2);
  EXPECT_TRUE(bucket.try_take(kStart, 2));
  EXPECT_TRUE(bucket.try_take(kStart + 1h, 2));
  EXPECT_FALSE(bucket.try_take(kStart + 1h));
}

TEST(TokenBucket, CostAboveTheBurstIsNever) {
  TokenBucket bucket(10, 2);
  const auto refused = bucket.try_take(kStart, 3);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), TokenBucket::kForever);
  EXPECT_TRUE(bucket.try_take(kStart, 2));  // the refusal took nothing
}

TEST(TokenBucket, UnlimitedIsAStateOfItsOwn) {
  TokenBucket bucket(TokenBucket::kUnlimited);
  EXPECT_TRUE(bucket.unlimited());
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(bucket.try_take(kStart, 1'000'000));
  bucket.set_rate(kStart, 1, 1);
  EXPECT_FALSE(bucket.unlimited());
  EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_FALSE(bucket.try_take(kStart));
  bucket.set_unlimited();
  EXPECT_TRUE(bucket.try_take(kStart));
}

TEST(TokenBucket, ARaisedRateIsFeltAtOnce) {
  TokenBucket bucket(1, 100);
  EXPECT_TRUE(bucket.try_take(kStart, 100));  // would take 100 s to refill
  bucket.set_rate(kStart, 1000, 10);
  EXPECT_FALSE(bucket.try_take(kStart));
  EXPECT_TRUE(bucket.try_take(kStart + 1ms));
}

TEST(TokenBucket, HugeBurstsDoNotOverflow) {
  TokenBucket bucket(1, std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(bucket.try_take(kStart, 1'000));
  EXPECT_TRUE(bucket.try_take(kStart, 1'000'000));
}

// The bound, and the promise of the refusal: waiting that long is enough, one nanosecond less is
// not.
TEST(TokenBucket, NeverAdmitsMoreThanRateTimesTimePlusBurst) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint32_t>& gaps) {
    const auto rate = *rc::gen::inRange<std::uint64_t>(1, 2'000'000'000);
    const auto burst = *rc::gen::inRange<std::uint64_t>(1, 1000);
    TokenBucket bucket(rate, burst);
    TimePoint at = kStart;
    __int128 taken = 0;
    for (const std::uint32_t gap : gaps) {
      at += base::Duration(gap % 10'000'000);
      const std::uint64_t cost = 1 + gap % burst;
      const auto answer = bucket.try_take(at, cost);
      if (!answer) {
        RC_ASSERT(!bucket.try_take(at + answer.error() - 1ns, cost).has_value());
        at += answer.error();
        RC_ASSERT(bucket.try_take(at, cost).has_value());
      }
      taken += cost;
      const __int128 allowed = static_cast<__int128>(rate) * (at - kStart).count();
      RC_ASSERT((taken - static_cast<__int128>(burst)) * 1'000'000'000 <= allowed);
    }
  }));
}

TEST(TokenBucket, IsExactUnderContention) {
  constexpr std::uint64_t kBurst = 5000;
  constexpr std::uint64_t kRate = 1000;
  TokenBucket bucket(kRate, kBurst);
  std::atomic<std::uint64_t> taken = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        // Each thread lives through the same two seconds.
        for (int i = 0; i <= 4000; ++i) {
          if (bucket.try_take(kStart + i * 500us)) taken.fetch_add(1);
        }
      });
    }
  }
  EXPECT_LE(taken.load(), kRate * 2 + kBurst);
  EXPECT_GE(taken.load(), kBurst);
}

}  // namespace
}  // namespace ron::runtime
