#include "runtime/task_group.h"

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"
#include "runtime/test_wires.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;

// Counts the end of a frame, however it comes.
struct Tally {
  explicit Tally(int* where) : count(where) {}
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;
  ~Tally() { ++*count; }
  int* count;
};

platform::Task<void> inner_sleep(base::Duration time, int* ended) {
  const Tally tally(ended);
  co_await sleep_for(time);
}
platform::Task<void> nested(base::Duration time, int* ended, int* completed) {
  const Tally tally(ended);
  co_await inner_sleep(time, ended);
  ++*completed;
}
platform::Task<void> panic(std::string what) {
  co_await sleep_for(1s);
  throw std::runtime_error(what);
}

struct TaskGroupTest : testing::Test {
  TestCores cores;
  TestService service;
  TaskMeters meters{service.meters, "worker"};
  int ended = 0;
  int completed = 0;

  void spawn(TaskGroup& group, platform::Task<void> task) {
    cores[0].enter([&] { group.spawn(std::move(task)); });
  }
  std::uint64_t count(const MetricDecl& decl) { return service.count(decl, "worker"); }
};

TEST_F(TaskGroupTest, JoinWaitsForTheLastTask) {
  TaskGroup group(meters);
  spawn(group, nested(1s, &ended, &completed));
  spawn(group, nested(2s, &ended, &completed));
  EXPECT_EQ(group.size(), 2U);
  Running join(cores[0], group.join({}));
  cores.advance(1s);
  EXPECT_FALSE(join.done());
  cores.advance(1s);
  ASSERT_TRUE(join.done());
  EXPECT_TRUE(join.value());
  EXPECT_EQ(completed, 2);
  EXPECT_EQ(count(metrics::kTasksSpawnedTotal), 2U);
  EXPECT_EQ(count(metrics::kTasksAbortedTotal), 0U);
}

TEST_F(TaskGroupTest, JoinOfAnEmptyGroupReturnsAtOnce) {
  TaskGroup group(meters);
  Running join(cores[0], group.join({}));
  cores.run();
  EXPECT_TRUE(join.value());
}

TEST_F(TaskGroupTest, JoinGivesUpAtItsDeadline) {
  TaskGroup group(meters);
  spawn(group, nested(5s, &ended, &completed));
  Running join(cores[0], group.join(cores[0].in(1s)));
  cores.advance(1s);
  ASSERT_TRUE(join.done());
  EXPECT_FALSE(join.value());
  EXPECT_EQ(group.size(), 1U);
  Running again(cores[0], group.join({}));
  cores.advance(4s);
  EXPECT_TRUE(again.value());
}

TEST_F(TaskGroupTest, AbortedJoinMayBeRepeated) {
  TaskGroup group(meters);
  spawn(group, nested(1s, &ended, &completed));
  Running join(cores[0], group.join({}));
  cores.run();
  join.abort();
  cores.advance(1s);
  EXPECT_EQ(group.size(), 0U);
}

TEST_F(TaskGroupTest, AbortAllDestroysTheFramesAndCounts) {
  TaskGroup group(meters);
  spawn(group, nested(1s, &ended, &completed));
  spawn(group, nested(2s, &ended, &completed));
  cores.run();
  EXPECT_EQ(cores[0].timers(), 2U);
  EXPECT_EQ(cores[0].enter([&] { return group.abort_all(); }), 2U);
  EXPECT_EQ(ended, 4);  // both frames of both tasks
  EXPECT_EQ(completed, 0);
  EXPECT_EQ(cores[0].timers(), 0U);
  EXPECT_EQ(group.size(), 0U);
  EXPECT_EQ(count(metrics::kTasksAbortedTotal), 2U);
}

TEST_F(TaskGroupTest, AbortAllReachesTasksThatHaveNotStarted) {
  TaskGroup group(meters);
  spawn(group, nested(1s, &ended, &completed));
  EXPECT_EQ(cores[0].enter([&] { return group.abort_all(); }), 1U);
  cores.advance(1s);
  EXPECT_EQ(ended, 0);
}

TEST_F(TaskGroupTest, AbortAllWakesTheJoiner) {
  TaskGroup group(meters);
  spawn(group, nested(1s, &ended, &completed));
  Running join(cores[0], group.join({}));
  cores.run();
  cores[0].enter([&] { return group.abort_all(); });
  cores.run();
  ASSERT_TRUE(join.done());
  EXPECT_TRUE(join.value());
}

TEST_F(TaskGroupTest, PanicsAreCountedAndReported) {
  std::string reported;
  TaskGroup group(meters, [&](const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::runtime_error& error) {
      reported = error.what();
    }
  });
  spawn(group, panic("out of luck"));
  spawn(group, nested(1s, &ended, &completed));
  cores.advance(1s);
  EXPECT_EQ(reported, "out of luck");
  EXPECT_EQ(completed, 1);  // the others go on
  EXPECT_EQ(group.size(), 0U);
  EXPECT_EQ(count(metrics::kTasksPanickedTotal), 1U);
}

TEST_F(TaskGroupTest, DyingWithTasksIsADefect) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        TaskGroup group(meters);
        spawn(group, nested(1s, &ended, &completed));
      },
      "a task group outlives its tasks");
}

// Holds its group, as an owner whose last member it is, and lets it go as soon as it is empty.
platform::Task<void> own_a_group(TaskMeters* meters, int* ended, int* completed) {
  std::optional<TaskGroup> group;
  group.emplace(*meters);
  group->spawn(nested(1s, ended, completed));
  co_await group->join({});
  group.reset();
}

TEST_F(TaskGroupTest, TheJoinerMayDestroyTheGroup) {
  Running owner(cores[0], own_a_group(&meters, &ended, &completed));
  cores.advance(1s);
  EXPECT_TRUE(owner.done());
  EXPECT_EQ(completed, 1);
}

}  // namespace
}  // namespace ron::runtime
