#include "runtime/pacer.h"

#include <chrono>
#include <memory>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "runtime/test_executor.h"
#include "runtime/test_wires.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;
using platform::TimePoint;

struct PacerTest : testing::Test {
  TestCores cores{2};
  TestService service;
  Histogram& waited = service.meters.histogram(metrics::kRepairWaitSeconds);
  Pacer pacer{base::Rate{1000}, base::Size{100}, waited};

  std::uint64_t observed() {
    const auto reading = waited.read();
    return std::accumulate(reading.counts.begin(), reading.counts.end(), std::uint64_t{0});
  }
  void drain() {
    Running all(cores[0], pacer.acquire(100, {}));
    cores.run();
    ASSERT_TRUE(all.done());
  }
};

TEST_F(PacerTest, TheBurstIsGrantedAtOnce) {
  Running a(cores[0], pacer.acquire(60, {}));
  Running b(cores[0], pacer.acquire(40, {}));
  cores.run();
  EXPECT_TRUE(a.done() && b.done());
  EXPECT_TRUE(a.value());
  EXPECT_EQ(observed(), 2U);
}

TEST_F(PacerTest, ThenBytesComeAtTheRate) {
  drain();
  Running next(cores[0], pacer.acquire(50, {}));
  cores.advance(50ms - 1ns);
  EXPECT_FALSE(next.done());
  cores.advance(1ns);
  EXPECT_TRUE(next.done());
  EXPECT_EQ(waited.read().sum, 50'000'000U);
}

TEST_F(PacerTest, FirstComeFirstServedAcrossCores) {
  drain();
  Running large(cores[0], pacer.acquire(100, {}));
  cores.run();
  Running small(cores[1], pacer.acquire(1, {}));
  cores.advance(99ms);
  EXPECT_FALSE(small.done());  // though its one byte has accrued
  cores.advance(1ms);
  EXPECT_TRUE(large.done());
  EXPECT_FALSE(small.done());
  cores.advance(1ms);
  EXPECT_TRUE(small.done());
}

TEST_F(PacerTest, AboveTheBurstWaitsUntilAllHasAccrued) {
  Running huge(cores[0], pacer.acquire(1100, {}));
  cores.advance(1s - 1ns);
  EXPECT_FALSE(huge.done());
  cores.advance(1ns);
  EXPECT_TRUE(huge.done());
  Running next(cores[0], pacer.acquire(1, {}));
  cores.run();
  EXPECT_FALSE(next.done());  // nothing was left over
}

TEST_F(PacerTest, TimesOutInTheQueue) {
  drain();
  Running head(cores[0], pacer.acquire(100, {}));
  cores.run();
  Running second(cores[1], pacer.acquire(1, cores[1].in(10ms)));
  cores.advance(10ms);
  ASSERT_TRUE(second.done());
  EXPECT_EQ(second.value().error().code, base::Code::Timeout);
  EXPECT_EQ(observed(), 1U);  // the drain; what was refused is not a wait for budget
}

TEST_F(PacerTest, TheHeadKnowsAtOnceThatItsDeadlineIsHopeless) {
  drain();
  Running hopeless(cores[0], pacer.acquire(100, cores[0].in(99ms)));
  Running next(cores[0], pacer.acquire(10, {}));
  cores.run();
  ASSERT_TRUE(hopeless.done());
  EXPECT_FALSE(hopeless.value());
  cores.advance(10ms);
  EXPECT_TRUE(next.done());
}

TEST_F(PacerTest, AbortedHeadGivesItsTurnAndBytesBack) {
  drain();
  Running head(cores[0], pacer.acquire(100, {}));
  cores.run();
  Running next(cores[1], pacer.acquire(30, {}));
  cores.advance(30ms);
  EXPECT_FALSE(next.done());
  head.abort();
  cores.run();
  EXPECT_TRUE(next.done());  // with what had accrued for the head
}

TEST_F(PacerTest, WhatAnAbortedHeadSavedUpIsCappedAtTheBurst) {
  drain();
  Running head(cores[0], pacer.acquire(1000, {}));
  cores.advance(900ms);
  head.abort();
  Running next(cores[0], pacer.acquire(101, {}));
  cores.run();
  EXPECT_FALSE(next.done());
  cores.advance(1ms);
  EXPECT_TRUE(next.done());
}

TEST_F(PacerTest, AbortedMiddleLeavesTheQueueIntact) {
  drain();
  Running head(cores[0], pacer.acquire(10, {}));
  Running middle(cores[1], pacer.acquire(10, {}));
  Running last(cores[0], pacer.acquire(10, {}));
  cores.run();
  middle.abort();
  cores.advance(20ms);
  EXPECT_TRUE(head.done() && last.done());
}

TEST_F(PacerTest, AWokenHeadThatIsAbortedPassesItsTurnOn) {
  drain();
  Running head(cores[0], pacer.acquire(10, {}));
  Running second(cores[1], pacer.acquire(10, {}));
  Running third(cores[0], pacer.acquire(10, {}));
  cores.run();
  head.abort();  // wakes the second
  second.abort();
  cores.advance(10ms);
  EXPECT_TRUE(third.done());
}

TEST_F(PacerTest, ANewRateReachesTheHead) {
  drain();
  Running head(cores[0], pacer.acquire(100, {}));
  cores.advance(50ms);
  pacer.set_rate(cores.now(), base::Rate{10'000});
  cores.advance(5ms);
  EXPECT_TRUE(head.done());
}

TEST_F(PacerTest, ANewRateDoesNotCountBackwards) {
  drain();
  cores.advance(10ms);  // ten bytes at the old rate
  pacer.set_rate(cores.now(), base::Rate{1'000'000});
  Running next(cores[0], pacer.acquire(11, {}));
  cores.run();
  EXPECT_FALSE(next.done());
}

platform::Task<void> take(Pacer* pacer, std::uint64_t bytes, std::vector<TimePoint>* granted) {
  const auto result = co_await pacer->acquire(bytes, Deadline());
  if (result) granted->push_back(platform::Executor::current()->now());
}

// Any sizes within the burst, arriving at any time, some aborted: never above the budget in any
// span, and everyone who stays is served.
TEST_F(PacerTest, KeepsItsBudgetInEverySpan) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint16_t>& steps, std::uint64_t seed) {
    constexpr std::uint64_t kRate = 1009;
    constexpr std::uint64_t kBurst = 64;
    TestCores shuffled(2, seed);
    TestService fresh;
    Pacer paced(base::Rate{kRate}, base::Size{kBurst},
                fresh.meters.histogram(metrics::kRepairWaitSeconds));
    struct Request {
      std::uint64_t bytes;
      std::vector<TimePoint> granted;
      std::unique_ptr<Running<void>> task;
      bool aborted = false;
    };
    std::vector<std::unique_ptr<Request>> requests;
    for (const std::uint16_t step : steps) {
      auto request = std::make_unique<Request>(Request{1 + step % kBurst, {}, nullptr, false});
      request->task = std::make_unique<Running<void>>(
          shuffled[step % 2], take(&paced, request->bytes, &request->granted));
      requests.push_back(std::move(request));
      shuffled.advance(std::chrono::microseconds(step));
      if (step % 7 != 0) continue;
      Request& victim = *requests[step % requests.size()];
      victim.task->abort();
      victim.aborted = true;
    }
    shuffled.advance(1h);
    std::vector<std::pair<TimePoint, std::uint64_t>> grants;
    for (const auto& request : requests) {
      RC_ASSERT(request->aborted || request->granted.size() == 1U);
      for (const TimePoint at : request->granted) grants.emplace_back(at, request->bytes);
    }
    std::ranges::sort(grants);
    for (std::size_t i = 0; i < grants.size(); ++i) {
      std::uint64_t sum = 0;
      for (std::size_t j = i; j < grants.size(); ++j) {
        sum += grants[j].second;
        const auto span = static_cast<std::uint64_t>((grants[j].first - grants[i].first).count());
        RC_ASSERT(sum <= kBurst || (sum - kBurst) * 1'000'000'000 <= kRate * span);
      }
    }
  }));
}

}  // namespace
}  // namespace ron::runtime
