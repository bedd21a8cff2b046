#include "runtime/breaker.h"

#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "runtime/test_executor.h"
#include "runtime/test_wires.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;

constexpr BreakerPolicy kPolicy{
    .error_percent = 50, .min_volume = 4, .window = 10s, .open_for = 4s, .probes = 2};

struct BreakerTest : testing::Test {
  TestService service;
  TestRandom random;
  Breaker breaker{service.meters, "peer", kPolicy, random};
  platform::TimePoint now{1h};

  void succeed(int times) {
    for (int i = 0; i < times; ++i) breaker.admit(now)->succeeded(now);
  }
  void fail(int times) {
    for (int i = 0; i < times; ++i) breaker.admit(now)->failed(now);
  }
  void open() {
    fail(4);
    ASSERT_EQ(breaker.state(), BreakerState::Open);
  }
  void half_open() {
    open();
    now += 6s;
  }
  std::int64_t gauge(std::string_view state) {
    return service.meters.gauge(metrics::kBreakerState, {"peer", state}).value();
  }
};

TEST_F(BreakerTest, StartsClosed) {
  EXPECT_EQ(breaker.state(), BreakerState::Closed);
  EXPECT_EQ(gauge("closed"), 1);
  EXPECT_EQ(gauge("open"), 0);
  EXPECT_EQ(gauge("half_open"), 0);
}

TEST_F(BreakerTest, OpensOnlyBeyondTheErrorRatioIfToldSo) {
  BreakerPolicy policy = kPolicy;
  policy.above_only = true;
  Breaker strict(service.meters, "strict", policy, random);
  const auto fail_once = [&] { strict.admit(now)->failed(now); };
  for (int i = 0; i < 3; ++i) strict.admit(now)->succeeded(now);
  for (int i = 0; i < 3; ++i) fail_once();
  EXPECT_EQ(strict.state(), BreakerState::Closed) << "3 of 6 are not more than half";
  fail_once();
  EXPECT_EQ(strict.state(), BreakerState::Open);
}

TEST_F(BreakerTest, WithoutJitterItRestsExactlyAsLong) {
  BreakerPolicy policy = kPolicy;
  policy.open_jitter_percent = 0;
  Breaker exact(service.meters, "exact", policy, random);
  for (int i = 0; i < 4; ++i) exact.admit(now)->failed(now);
  EXPECT_FALSE(exact.try_admit(now + 4s - 1ns));
  EXPECT_TRUE(exact.try_admit(now + 4s));
}

TEST_F(BreakerTest, OpensAtTheErrorRatio) {
  succeed(3);
  fail(2);
  EXPECT_EQ(breaker.state(), BreakerState::Closed);
  fail(1);
  EXPECT_EQ(breaker.state(), BreakerState::Open);
  EXPECT_EQ(gauge("open"), 1);
  EXPECT_EQ(gauge("closed"), 0);
}

TEST_F(BreakerTest, StaysClosedBelowTheMinimumVolume) {
  fail(3);
  EXPECT_EQ(breaker.state(), BreakerState::Closed);
}

TEST_F(BreakerTest, ForgetsWhatIsOlderThanTheWindow) {
  fail(3);
  now += 10s;
  fail(3);
  EXPECT_EQ(breaker.state(), BreakerState::Closed);
}

TEST_F(BreakerTest, TheWindowSlides) {
  fail(2);
  now += 8s;
  fail(1);
  now += 1s;
  fail(1);  // all four are within the window
  EXPECT_EQ(breaker.state(), BreakerState::Open);
}

TEST_F(BreakerTest, OpenRefusesAndSaysHowLong) {
  open();
  const auto refused = breaker.admit(now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Code::BreakerOpen);
  EXPECT_GE(refused.error().retry_after_s, 4U);
  EXPECT_LE(refused.error().retry_after_s, 6U);
  EXPECT_EQ(service.count(metrics::kBreakerOpenTotal, "peer"), 1U);
}

TEST_F(BreakerTest, StaysOpenForItsTimeAndAtMostHalfAsMuchAgain) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    TestRandom seeded(seed);
    Breaker fresh(service.meters, "fresh", kPolicy, seeded);
    for (int i = 0; i < 4; ++i) fresh.admit(now)->failed(now);
    EXPECT_FALSE(fresh.admit(now + 4s - 1ns));
    EXPECT_TRUE(fresh.admit(now + 6s));
  }
}

TEST_F(BreakerTest, HalfOpenLimitsTheProbes) {
  half_open();
  const auto first = breaker.admit(now);
  const auto second = breaker.admit(now);
  EXPECT_TRUE(first && second);
  EXPECT_EQ(gauge("half_open"), 1);
  EXPECT_FALSE(breaker.admit(now));
  EXPECT_EQ(service.count(metrics::kBreakerOpenTotal, "peer"), 1U);
}

TEST_F(BreakerTest, ClosesWhenAllProbesSucceed) {
  half_open();
  succeed(1);
  EXPECT_EQ(breaker.state(), BreakerState::HalfOpen);
  succeed(1);
  EXPECT_EQ(breaker.state(), BreakerState::Closed);
  fail(3);  // the failures from before are forgotten
  EXPECT_EQ(breaker.state(), BreakerState::Closed);
}

TEST_F(BreakerTest, OneFailedProbeOpensItAgain) {
  half_open();
  succeed(1);
  fail(1);
  EXPECT_EQ(breaker.state(), BreakerState::Open);
  EXPECT_FALSE(breaker.admit(now + 3s));
}

TEST_F(BreakerTest, CancelledProbeFreesItsPlace) {
  half_open();
  {
    const auto first = breaker.admit(now);
    const auto second = breaker.admit(now);
    EXPECT_FALSE(breaker.admit(now));
  }
  EXPECT_EQ(breaker.state(), BreakerState::HalfOpen);
  EXPECT_TRUE(breaker.admit(now));
}

TEST_F(BreakerTest, CancelledCallsDoNotCount) {
  for (int i = 0; i < 10; ++i) std::ignore = breaker.admit(now);
  fail(3);
  EXPECT_EQ(breaker.state(), BreakerState::Closed);
}

TEST_F(BreakerTest, OutcomesFromAnEarlierStateAreIgnored) {
  auto late_failure = breaker.admit(now);
  auto late_success = breaker.admit(now);
  half_open();
  const auto probe = breaker.admit(now);
  late_failure->failed(now);
  late_success->succeeded(now);
  EXPECT_EQ(breaker.state(), BreakerState::HalfOpen);
  EXPECT_TRUE(breaker.admit(now));  // the second place is still free, and only that
}

TEST_F(BreakerTest, TheFirstRecordCounts) {
  half_open();
  auto permit = breaker.admit(now);
  permit->succeeded(now);
  permit->failed(now);
  EXPECT_EQ(breaker.state(), BreakerState::HalfOpen);
}

TEST_F(BreakerTest, MovedPermitRecordsOnce) {
  half_open();
  auto permit = breaker.admit(now);
  Breaker::Permit moved = std::move(*permit);
  permit->failed(now);  // moved from: says nothing
  EXPECT_EQ(breaker.state(), BreakerState::HalfOpen);
  moved.failed(now);
  EXPECT_EQ(breaker.state(), BreakerState::Open);
}

// Whatever happens, at most `probes` calls are out while half open, and it never gets stuck.
TEST_F(BreakerTest, ARefusalToOneWhoOnlyTriesIsNotCounted) {
  open();
  EXPECT_FALSE(breaker.try_admit(now));
  EXPECT_EQ(service.meters.counter(metrics::kBreakerOpenTotal, {"peer"}).value(), 0U);
  now += 6s;
  EXPECT_TRUE(breaker.try_admit(now));
  EXPECT_EQ(breaker.state(), BreakerState::HalfOpen);
}

TEST_F(BreakerTest, APermitKnowsWhetherOthersWaitForIt) {
  EXPECT_FALSE(breaker.admit(now)->is_probe());
  half_open();
  EXPECT_TRUE(breaker.admit(now)->is_probe());
}

// A call whose caller has yet to bring what it sends keeps nobody from finding out.
TEST_F(BreakerTest, AProbeThatGaveItsPlaceBackStillCounts) {
  half_open();
  auto slow = breaker.admit(now);
  auto second = breaker.admit(now);
  ASSERT_FALSE(breaker.admit(now));
  slow->give_place_back();
  EXPECT_TRUE(slow->is_probe());
  EXPECT_FALSE(slow->has_place());
  auto third = breaker.admit(now);
  ASSERT_TRUE(third);
  slow->give_place_back();
  EXPECT_FALSE(breaker.admit(now)) << "a place is given back once";
  slow->succeeded(now);
  EXPECT_EQ(breaker.state(), BreakerState::HalfOpen);
  third->succeeded(now);
  EXPECT_EQ(breaker.state(), BreakerState::Closed);
}

TEST_F(BreakerTest, AFailureWithoutAPlaceOpensItAgain) {
  half_open();
  auto slow = breaker.admit(now);
  slow->give_place_back();
  slow->failed(now);
  EXPECT_EQ(breaker.state(), BreakerState::Open);
}

TEST_F(BreakerTest, NeverStuckWhateverHappens) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& steps) {
    TestService fresh;
    TestRandom seeded;
    Breaker target(fresh.meters, "peer", kPolicy, seeded);
    platform::TimePoint at{1h};
    std::vector<Breaker::Permit> out;
    for (const std::uint8_t step : steps) {
      if (step % 5 == 0) at += std::chrono::milliseconds(step * 20);
      if (step % 5 <= 1) {
        auto permit = target.admit(at);
        if (permit) out.push_back(std::move(*permit));
      } else if (!out.empty()) {
        if (step % 2 == 0) out.back().give_place_back();
        if (step % 5 == 2) out.back().succeeded(at);
        if (step % 5 == 3) out.back().failed(at);
        out.pop_back();
      }
    }
    out.clear();
    at += 1min;
    for (std::uint32_t i = 0; i < kPolicy.probes; ++i) {
      auto permit = target.admit(at);
      RC_ASSERT(permit.has_value());
      permit->succeeded(at);
    }
    RC_ASSERT(target.state() == BreakerState::Closed);
  }));
}

TEST_F(BreakerTest, IsThreadSafe) {
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([this, t] {
        for (int i = 0; i < 2000; ++i) {
          const platform::TimePoint at = now + std::chrono::milliseconds(i * 10);
          auto permit = breaker.admit(at);
          if (!permit) continue;
          if ((i + t) % 3 == 0) permit->failed(at);
          if ((i + t) % 3 == 1) permit->succeeded(at);
        }
      });
    }
  }
  EXPECT_EQ(gauge("closed") + gauge("open") + gauge("half_open"), 1);
}

}  // namespace
}  // namespace ron::runtime
