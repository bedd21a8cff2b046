#include "runtime/retry.h"

#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "runtime/test_executor.h"
#include "runtime/test_wires.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;
using base::Code;
using base::Result;

// An operation that fails with each code in turn and then succeeds, noting when it was called.
struct Target {
  std::vector<base::Error> failures;
  std::vector<platform::TimePoint> calls;

  static platform::Task<Result<int>> call(Target* self) {
    self->calls.push_back(platform::Executor::current()->now());
    const std::size_t n = self->calls.size();
    if (n <= self->failures.size()) co_return base::fail(self->failures[n - 1]);
    co_return static_cast<int>(n);
  }
};

base::Error busy() { return {Code::Busy, "busy"}; }

struct RetryTest : testing::Test {
  TestCores cores;
  TestService service;
  TestRandom random;
  RetryBudget budget{0.2, 10};
  Retrier retrier{service.meters, "fetch", {}, budget, random};
  Target target;

  auto operation() {
    return [this] { return Target::call(&target); };
  }
  std::uint64_t retries() { return service.count(metrics::kBackoffRetriesTotal, "fetch"); }
};

TEST_F(RetryTest, SuccessIsNotRepeated) {
  Running run(cores[0], retrier.run(operation(), {}));
  cores.run();
  EXPECT_EQ(run.value(), 1);
  EXPECT_EQ(retries(), 0U);
}

TEST_F(RetryTest, RepeatsAfterBackoffWithJitter) {
  target.failures = {busy(), busy()};
  Running run(cores[0], retrier.run(operation(), {}));
  cores.advance(10s);
  ASSERT_TRUE(run.done());
  EXPECT_EQ(run.value(), 3);
  EXPECT_EQ(retries(), 2U);
  const auto first = target.calls[1] - target.calls[0];
  const auto second = target.calls[2] - target.calls[1];
  EXPECT_GE(first, 25ms);
  EXPECT_LE(first, 50ms);
  EXPECT_GE(second, 50ms);
  EXPECT_LE(second, 100ms);
}

TEST_F(RetryTest, GivesTheLastErrorAfterMaxTries) {
  target.failures = {busy(), busy(), {Code::UpstreamFail, "third"}, busy()};
  Running run(cores[0], retrier.run(operation(), {}));
  cores.advance(10s);
  ASSERT_TRUE(run.done());
  EXPECT_EQ(run.value().error().message, "third");
  EXPECT_EQ(target.calls.size(), 3U);
}

TEST_F(RetryTest, AnErrorThatStaysIsNotRepeated) {
  target.failures = {{Code::NotFound, "no"}};
  Running run(cores[0], retrier.run(operation(), {}));
  cores.advance(10s);
  EXPECT_EQ(run.value().error().code, Code::NotFound);
  EXPECT_EQ(target.calls.size(), 1U);
}

TEST_F(RetryTest, NeverSleepsPastTheDeadline) {
  target.failures = {busy(), busy()};
  Running run(cores[0], retrier.run(operation(), cores[0].in(24ms)));
  cores.run();  // no time passes: the answer is known at once
  ASSERT_TRUE(run.done());
  EXPECT_EQ(run.value().error().code, Code::Busy);
  EXPECT_EQ(retries(), 0U);
}

TEST_F(RetryTest, WaitsAsLongAsTheTargetAsks) {
  base::Error later = busy();
  later.retry_after_s = 3;
  target.failures = {later};
  Running run(cores[0], retrier.run(operation(), {}));
  cores.advance(10s);
  EXPECT_EQ(target.calls[1] - target.calls[0], 3s);
}

TEST_F(RetryTest, EmptyBudgetMeansNoRetry) {
  RetryBudget empty(0.2, 1);
  EXPECT_TRUE(empty.withdraw());
  Retrier poor(service.meters, "fetch", {}, empty, random);
  target.failures = {busy()};
  Running run(cores[0], poor.run(operation(), {}));
  cores.advance(10s);
  EXPECT_EQ(run.value().error().code, Code::Busy);
  EXPECT_EQ(retries(), 0U);
}

TEST_F(RetryTest, TheBudgetIsChargedWhenTheRetryIsScheduled) {
  RetryBudget one(0.0, 1);
  Retrier first(service.meters, "fetch", {}, one, random);
  target.failures = {busy(), busy(), busy(), busy()};
  Running sleeping(cores[0], first.run(operation(), {}));
  cores.run();
  EXPECT_FALSE(sleeping.done());
  EXPECT_FALSE(one.withdraw());
}

TEST_F(RetryTest, AbortedSleepDoesNotCallAgain) {
  target.failures = {busy()};
  Running run(cores[0], retrier.run(operation(), {}));
  cores.run();
  run.abort();
  cores.advance(10s);
  EXPECT_EQ(target.calls.size(), 1U);
  EXPECT_EQ(cores[0].timers(), 0U);
}

TEST(RetryBudget, RetriesStayBelowTheRatio) {
  EXPECT_TRUE(rc::check([](const std::vector<bool>& steps) {
    RetryBudget budget(0.25, 3);
    double deposits = 0;
    double withdrawals = 0;
    for (const bool deposit : steps) {
      if (deposit) {
        budget.deposit();
        ++deposits;
      } else if (budget.withdraw()) {
        ++withdrawals;
      }
      RC_ASSERT(withdrawals <= 3 + 0.25 * deposits);
    }
  }));
}

TEST(RetryBudget, NeverKeepsMoreThanItsReserve) {
  RetryBudget budget(0.5, 2);
  for (int i = 0; i < 100; ++i) budget.deposit();
  EXPECT_TRUE(budget.withdraw());
  EXPECT_TRUE(budget.withdraw());
  EXPECT_FALSE(budget.withdraw());
  budget.deposit();
  EXPECT_FALSE(budget.withdraw());
  budget.deposit();
  EXPECT_TRUE(budget.withdraw());
}

TEST(RetryBudget, IsExactAcrossThreads) {
  RetryBudget budget(0.0, 5000);
  std::atomic<int> taken = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 3000; ++i) taken += budget.withdraw() ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(taken.load(), 5000);
}

}  // namespace
}  // namespace ron::runtime
