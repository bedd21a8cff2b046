#include "runtime/permit.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;

TEST(Limit, RefusesAboveTheMost) {
  Limit limit(1);
  Limit::Permit first = limit.try_acquire();
  EXPECT_TRUE(first);
  EXPECT_FALSE(limit.try_acquire());
  EXPECT_EQ(limit.used(), 1U);
  first = {};
  EXPECT_EQ(limit.used(), 0U);
  EXPECT_TRUE(limit.try_acquire());
}

TEST(Limit, MovedPermitCountsOnce) {
  Limit limit(2);
  {
    Limit::Permit first = limit.try_acquire();
    const Limit::Permit second = std::move(first);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that it is empty is the point
    EXPECT_EQ(limit.used(), 1U);
  }
  EXPECT_EQ(limit.used(), 0U);
}

TEST(Limit, ChangesTakeEffectForTheNext) {
  Limit limit(2);
  const Limit::Permit first = limit.try_acquire();
  const Limit::Permit second = limit.try_acquire();
  limit.set_most(1);
  EXPECT_FALSE(limit.try_acquire());
  limit.set_most(3);
  EXPECT_TRUE(limit.try_acquire());
}

TEST(Limit, NeverAdmitsMoreUnderContention) {
  constexpr std::size_t kThreads = 4;
  Limit scarce(kThreads - 1);
  std::atomic<std::size_t> inside = 0;
  std::atomic<std::size_t> most = 0;
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const Limit::Permit permit = scarce.try_acquire();
        if (!permit) continue;
        const std::size_t now = inside.fetch_add(1) + 1;
        std::size_t seen = most.load();
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
        inside.fetch_sub(1);
      }
    });
  }
  threads.clear();
  EXPECT_LE(most.load(), kThreads - 1);
  EXPECT_EQ(scarce.used(), 0U);
}

// One that is refused takes no place on the way, which would refuse the next though it is free.
TEST(Limit, RefusedOnesLeaveNoTrace) {
  Limit limit(1);
  const Limit::Permit held = limit.try_acquire();
  std::atomic<bool> over = false;
  std::barrier start(3);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      for (int i = 0; i < 300'000; ++i) {
        if (limit.try_acquire() || limit.used() > 1) over = true;
      }
    });
  }
  threads.clear();
  EXPECT_FALSE(over);
}

struct SemaphoreTest : testing::Test {
  TestCores cores;
  Semaphore semaphore{1};
};

TEST_F(SemaphoreTest, WaitsForAPermit) {
  Semaphore::Permit held = semaphore.try_acquire();
  EXPECT_FALSE(semaphore.try_acquire());
  Running acquire(cores[0], semaphore.acquire({}));
  cores.run();
  EXPECT_FALSE(acquire.done());
  held = {};
  cores.run();
  ASSERT_TRUE(acquire.done());
  EXPECT_TRUE(acquire.value());
  EXPECT_EQ(semaphore.free(), 0U);
}

TEST_F(SemaphoreTest, EmptyPermitWhenTheDeadlinePasses) {
  const Semaphore::Permit held = semaphore.try_acquire();
  Running acquire(cores[0], semaphore.acquire(cores[0].in(1s)));
  cores.advance(1s);
  ASSERT_TRUE(acquire.done());
  EXPECT_FALSE(acquire.value());
}

TEST_F(SemaphoreTest, AbortedWaitPassesThePermitOn) {
  Semaphore::Permit held = semaphore.try_acquire();
  Running first(cores[0], semaphore.acquire({}));
  Running second(cores[0], semaphore.acquire({}));
  cores.run();
  held = {};  // wakes the first
  first.abort();
  cores.run();
  ASSERT_TRUE(second.done());
  EXPECT_TRUE(second.value());
}

TEST_F(SemaphoreTest, DroppingAResultGivesThePermitBack) {
  {
    Running acquire(cores[0], semaphore.acquire({}));
    cores.run();
    EXPECT_EQ(semaphore.free(), 0U);
  }
  EXPECT_EQ(semaphore.free(), 1U);
}

}  // namespace
}  // namespace ron::runtime
