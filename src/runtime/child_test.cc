#include "runtime/child.h"

#include <chrono>
#include <stdexcept>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"
#include "runtime/test_wires.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;

platform::Task<void> work_until_stopped(Shutdown shutdown) { co_await wait_stop(shutdown); }
platform::Task<void> work_for_a_second(Shutdown) { co_await sleep_for(1s); }
platform::Task<void> finish_at_once(Shutdown) { co_return; }
platform::Task<void> fail(Shutdown) {
  co_await sleep_for(1s);
  throw std::runtime_error("boom");
}
platform::Task<void> fail_with_a_number(Shutdown) {
  co_await sleep_for(1s);
  throw 42;
}

// The child lives on core 1, whoever waits for it on core 0.
struct ChildTest : testing::Test {
  TestCores cores{2};
  TestService service;
  TaskMeters meters{service.meters, "worker"};
  Shutdown shutdown;

  std::uint64_t count(const MetricDecl& decl) { return service.count(decl, "worker"); }
};

TEST_F(ChildTest, FinishesWhenItsTaskReturns) {
  ChildRun child(cores[1], meters, work_for_a_second, shutdown);
  Running outcome(cores[0], child.outcome({}));
  cores.run();
  EXPECT_FALSE(outcome.done());
  cores.advance(1s);
  ASSERT_TRUE(outcome.done());
  EXPECT_EQ(outcome.value()->kind, Outcome::Kind::Finished);
  EXPECT_EQ(count(metrics::kTasksSpawnedTotal), 1U);
}

TEST_F(ChildTest, IsToldThroughItsShutdown) {
  ChildRun child(cores[1], meters, work_until_stopped, shutdown);
  Running outcome(cores[0], child.outcome({}));
  cores.run();
  shutdown.trigger(StopReason::Signal);
  cores.run();
  EXPECT_EQ(outcome.value()->kind, Outcome::Kind::Finished);
}

TEST_F(ChildTest, AnEscapedExceptionIsAFailureWithItsText) {
  ChildRun child(cores[1], meters, fail, shutdown);
  Running outcome(cores[0], child.outcome({}));
  cores.advance(1s);
  EXPECT_EQ(outcome.value()->kind, Outcome::Kind::Failed);
  EXPECT_EQ(outcome.value()->what, "boom");
  EXPECT_EQ(count(metrics::kTasksPanickedTotal), 1U);
}

TEST_F(ChildTest, AnyTypeOfExceptionIsAFailure) {
  ChildRun child(cores[1], meters, fail_with_a_number, shutdown);
  Running outcome(cores[0], child.outcome({}));
  cores.advance(1s);
  EXPECT_EQ(outcome.value()->kind, Outcome::Kind::Failed);
}

TEST_F(ChildTest, ABodyThatThrowsInsteadOfReturningATaskHasFailedToo) {
  const ChildBody body = [](Shutdown) -> platform::Task<void> {
    throw std::runtime_error("no task");
  };
  ChildRun child(cores[1], meters, body, shutdown);
  Running outcome(cores[0], child.outcome({}));
  cores.run();
  EXPECT_EQ(outcome.value()->kind, Outcome::Kind::Failed);
  EXPECT_EQ(outcome.value()->what, "no task");
}

TEST_F(ChildTest, AbortDestroysItWhereItWaits) {
  ChildRun child(cores[1], meters, work_until_stopped, shutdown);
  Running outcome(cores[0], child.outcome({}));
  cores.run();
  child.abort();
  cores.run();
  EXPECT_EQ(outcome.value()->kind, Outcome::Kind::Aborted);
  EXPECT_EQ(count(metrics::kTasksAbortedTotal), 1U);
}

TEST_F(ChildTest, AbortAfterItsEndChangesNothing) {
  ChildRun child(cores[1], meters, finish_at_once, shutdown);
  Running outcome(cores[0], child.outcome({}));
  cores[1].run_one();  // the start; the task itself is queued now
  child.abort();       // lands after the task has ended and before that is reported
  cores.run();
  EXPECT_EQ(outcome.value()->kind, Outcome::Kind::Finished);
  EXPECT_EQ(count(metrics::kTasksAbortedTotal), 0U);
}

TEST_F(ChildTest, OutcomeMayBeAwaitedInSteps) {
  ChildRun child(cores[1], meters, work_for_a_second, shutdown);
  Running early(cores[0], child.outcome(cores[0].in(500ms)));
  cores.advance(500ms);
  EXPECT_EQ(early.value().error(), Waited::TimedOut);
  Running outcome(cores[0], child.outcome({}));
  cores.advance(500ms);
  EXPECT_EQ(outcome.value()->kind, Outcome::Kind::Finished);
}

TEST_F(ChildTest, AbortReachesItInWhateverOrderTheHopsLand) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    TestCores shuffled(2, seed);
    TestService fresh;
    TaskMeters own(fresh.meters, "worker");
    ChildRun child(shuffled[1], own, work_until_stopped, shutdown);
    Running outcome(shuffled[0], child.outcome({}));
    child.abort();
    shuffled.run();
    ASSERT_TRUE(outcome.done()) << "seed " << seed;
    EXPECT_EQ(outcome.value()->kind, Outcome::Kind::Aborted);
    EXPECT_EQ(own.spawned.value(), 1U);
    EXPECT_EQ(own.aborted.value(), 1U);
  }
}

}  // namespace
}  // namespace ron::runtime
