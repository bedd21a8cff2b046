#include "runtime/lock.h"

#include <chrono>
#include <mutex>
#include <thread>
#include <tuple>

#include <gtest/gtest.h>

#include "runtime/mpsc.h"
#include "runtime/test_executor.h"
#include "runtime/test_wires.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;

struct LockTest : testing::Test {
  LockTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  Lock index{kTestLocks[0]};
  Lock cache{kTestLocks[1]};
  Lock log{kTestLocks[2]};
};

TEST_F(LockTest, ExcludesOthers) {
  int counter = 0;
  {
    const auto count = [&] {
      for (int i = 0; i < 10'000; ++i) {
        const std::lock_guard lock(index);
        ++counter;
      }
    };
    const std::jthread a(count);
    const std::jthread b(count);
  }
  EXPECT_EQ(counter, 20'000);
}

TEST_F(LockTest, AscendingRanksMayNest) {
  const std::lock_guard first(index);
  const std::lock_guard second(cache);
  const std::lock_guard third(log);
  EXPECT_EQ(log.name(), "log");
}

TEST_F(LockTest, ReleasedLocksDoNotCount) {
  index.lock();
  cache.lock();
  index.unlock();  // not the last one taken
  cache.unlock();
  assert_no_locks_held();
  const std::lock_guard again(index);
}

TEST_F(LockTest, FailedTryLockIsNotHeld) {
  bool taken = true;
  {
    const std::lock_guard held(cache);
    const std::jthread other([&] {
      taken = cache.try_lock();
      const std::lock_guard lower(index);  // would die if the failed try counted
    });
  }
  EXPECT_FALSE(taken);
}

platform::Task<void> lock_between_waits(Lock* lock) {
  co_await sleep_for(1s);
  {
    const std::lock_guard held(*lock);
  }
  co_await sleep_for(1s);
}

TEST_F(LockTest, LockingBetweenWaitsIsFine) {
  TestCores cores;
  Running task(cores[0], lock_between_waits(&index));
  cores.advance(2s);
  EXPECT_TRUE(task.done());
}

// Breaking the rules is noticed in every build but release.
#ifdef RON_DEBUG_CHECKS

TEST_F(LockTest, DescendingRankDiesNamingBoth) {
  EXPECT_DEATH(
      {
        const std::lock_guard outer(cache);
        const std::lock_guard inner(index);
      },
      "'index' \\(rank 1\\) taken while holding 'cache' \\(rank 2\\)");
}

TEST_F(LockTest, EqualRankDies) {
  Lock twin(kTestLocks[0]);
  EXPECT_DEATH(
      {
        const std::lock_guard outer(index);
        const std::lock_guard inner(twin);
      },
      "'index' .* taken while holding 'index'");
}

TEST_F(LockTest, TryLockKeepsTheOrderToo) {
  EXPECT_DEATH(
      {
        const std::lock_guard outer(cache);
        std::ignore = index.try_lock();
      },
      "taken while holding");
}

platform::Task<void> sleep_with(Lock* lock) {
  const std::lock_guard held(*lock);
  co_await sleep_until(Deadline(platform::TimePoint(5h)));
}
platform::Task<void> receive_with(Lock* lock, Mpsc<int>* queue) {
  const std::lock_guard held(*lock);
  co_await queue->recv();
}

TEST_F(LockTest, SleepingWithALockDies) {
  EXPECT_DEATH(
      {
        TestCores cores;
        Running task(cores[0], sleep_with(&index));
        cores.run();
      },
      "suspends while its thread holds 'index'");
}

TEST_F(LockTest, WaitingOnAChannelWithALockDies) {
  EXPECT_DEATH(
      {
        TestCores cores;
        TestService service;
        Mpsc<int> queue(service.topology, kWork, 4);
        Running task(cores[0], receive_with(&cache, &queue));
        cores.run();
      },
      "suspends while its thread holds 'cache'");
}

#endif  // RON_DEBUG_CHECKS

}  // namespace
}  // namespace ron::runtime
