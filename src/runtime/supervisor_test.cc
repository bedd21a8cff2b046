#include "runtime/supervisor.h"

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"
#include "runtime/test_wires.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;
using Log = std::vector<std::string>;

platform::Task<void> obedient(std::string name, Log* log, Shutdown shutdown) {
  log->push_back("start " + name);
  co_await wait_stop(shutdown);
  log->push_back("stop " + name);
}
platform::Task<void> slow_to_stop(base::Duration time, Shutdown shutdown) {
  co_await wait_stop(shutdown);
  co_await sleep_for(time);
}
platform::Task<void> stubborn(Log* log) {
  log->push_back("start stubborn");
  co_await sleep_until(Deadline());
}
// Fails after each of the times in turn, then behaves.
platform::Task<void> fail_after(std::vector<base::Duration> times, std::size_t* runs,
                                Shutdown shutdown) {
  const std::size_t run = (*runs)++;
  if (run >= times.size()) {
    co_await wait_stop(shutdown);
    co_return;
  }
  co_await sleep_for(times[run]);
  throw std::runtime_error("failure " + std::to_string(run + 1));
}

constexpr RestartPolicy kPolicy{.backoff = {100ms, 1s}, .budget = 3, .window = 1min};

// The supervisor lives on core 0.
struct Scene {
  explicit Scene(TestCores& on) : cores(on) {}

  TestCores& cores;
  TestService service;
  TestRandom random;
  Log log;
  Log given_up;
  std::vector<base::Duration> delays;
  std::vector<Phase> phases;
  Supervisor supervisor{service.topology,
                        random,
                        {.on_failure = [this](const TaskDecl&, const std::string&,
                                              base::Duration delay) { delays.push_back(delay); },
                         .on_give_up =
                             [this](const TaskDecl& decl, const std::string& what) {
                               given_up.push_back(std::string(decl.kind) + ": " + what);
                             },
                         .on_phase = [this](Phase phase) { phases.push_back(phase); }}};

  void start(const TaskDecl& decl, TestCore& home, ChildBody body) {
    cores[0].enter([&] { supervisor.start(decl, home, std::move(body), kPolicy); });
  }
  void start_obedient(const TaskDecl& decl, TestCore& home) {
    start(decl, home, [this, &decl](Shutdown shutdown) {
      return obedient(std::string(decl.kind), &log, std::move(shutdown));
    });
  }
  void start_stubborn(TestCore& home) {
    start(kTestTasks[1], home, [this](Shutdown) { return stubborn(&log); });
  }
  void start_failing(std::vector<base::Duration> times, std::size_t* runs) {
    start(kTestTasks[1], cores[1], [times = std::move(times), runs](Shutdown shutdown) {
      return fail_after(times, runs, std::move(shutdown));
    });
  }
  std::uint64_t count(const MetricDecl& decl) { return service.count(decl, kTestTasks[1].kind); }
};

struct SupervisorTest : testing::Test {
  TestCores cores{2};
  Scene scene{cores};

  // Stops with all the time it needs.
  void stop() {
    Running stopping(cores[0], scene.supervisor.stop(StopReason::Signal, 1h));
    cores.advance(1h);
    ASSERT_TRUE(stopping.done());
    EXPECT_EQ(stopping.value(), 0U);
  }
};

TEST_F(SupervisorTest, StartsInOrderAlsoAcrossCores) {
  scene.start_obedient(kTestTasks[0], cores[1]);
  scene.start_obedient(kTestTasks[1], cores[0]);
  while (cores[0].run_one()) {
  }
  EXPECT_EQ(scene.log, Log{});  // the second waits for the first, whose core has not run yet
  cores.run();
  EXPECT_EQ(scene.log, (Log{"start listener", "start worker"}));
  stop();
}

TEST_F(SupervisorTest, StopsLastStartedFirst) {
  scene.start_obedient(kTestTasks[0], cores[0]);
  scene.start_obedient(kTestTasks[1], cores[1]);
  scene.start_obedient(kTestTasks[2], cores[0]);
  cores.run();
  scene.log.clear();
  stop();
  EXPECT_EQ(scene.log, (Log{"stop janitor", "stop worker", "stop listener"}));
  EXPECT_EQ(scene.phases, (std::vector{Phase::Draining, Phase::Stopped}));
}

TEST_F(SupervisorTest, TellsNeighboursOfOneKindTogether) {
  scene.start_obedient(kTestTasks[0], cores[0]);
  scene.start_obedient(kTestTasks[1], cores[0]);
  scene.start(kTestTasks[1], cores[1],
              [](Shutdown shutdown) { return slow_to_stop(1s, std::move(shutdown)); });
  cores.run();
  scene.log.clear();
  Running stopping(cores[0], scene.supervisor.stop(StopReason::Signal, 1h));
  cores.run();
  EXPECT_EQ(scene.log, Log{"stop worker"});  // while the other worker still drains
  cores.advance(1s);
  EXPECT_TRUE(stopping.done());
  EXPECT_EQ(scene.log, (Log{"stop worker", "stop listener"}));
}

TEST_F(SupervisorTest, RestartsAFailedChildAfterItsBackoff) {
  std::size_t runs = 0;
  scene.start_failing({0s}, &runs);
  cores.run();
  EXPECT_EQ(runs, 1U);
  ASSERT_EQ(scene.delays.size(), 1U);
  EXPECT_GE(scene.delays[0], 50ms);
  EXPECT_LE(scene.delays[0], 100ms);
  cores.advance(scene.delays[0] - 1ns);
  EXPECT_EQ(runs, 1U);
  cores.advance(1ns);
  EXPECT_EQ(runs, 2U);
  EXPECT_EQ(scene.count(metrics::kTasksRestartedTotal), 1U);
  EXPECT_EQ(scene.count(metrics::kTasksPanickedTotal), 1U);
  stop();
}

TEST_F(SupervisorTest, BackoffGrowsWithTheFailuresInTheWindow) {
  std::size_t runs = 0;
  scene.start_failing({0s, 0s, 0s}, &runs);
  cores.advance(10s);
  ASSERT_EQ(scene.delays.size(), 3U);
  EXPECT_LE(scene.delays[1], 200ms);
  EXPECT_GE(scene.delays[2], 200ms);
  EXPECT_EQ(runs, 4U);
  stop();
}

TEST_F(SupervisorTest, GivesUpLoudlyBeyondTheBudget) {
  std::size_t runs = 0;
  scene.start_failing({0s, 0s, 0s, 0s, 0s}, &runs);
  cores.advance(1h);
  EXPECT_EQ(runs, 4U);
  EXPECT_EQ(scene.given_up, Log{"worker: failure 4"});
  EXPECT_EQ(scene.count(metrics::kTasksRestartedTotal), 3U);
  stop();
}

TEST_F(SupervisorTest, OldFailuresAreForgiven) {
  std::size_t runs = 0;
  scene.start_failing({2min, 2min, 2min, 2min, 2min}, &runs);
  cores.advance(1h);
  EXPECT_EQ(runs, 6U);
  EXPECT_EQ(scene.given_up, Log{});
  stop();
}

// Four failures within a minute, but on both sides of a full minute since the first one.
TEST_F(SupervisorTest, TheWindowSlides) {
  std::size_t runs = 0;
  scene.start_failing({0s, 58s, 1s, 1s, 1s, 1s}, &runs);
  cores.advance(1h);
  EXPECT_EQ(scene.given_up, Log{"worker: failure 5"});
  stop();
}

TEST_F(SupervisorTest, AFinishedChildStaysDown) {
  scene.start(kTestTasks[1], cores[1], [](Shutdown) { return sleep_for(1s); });
  cores.advance(1h);
  EXPECT_EQ(scene.count(metrics::kTasksSpawnedTotal), 1U);
  stop();
  EXPECT_EQ(scene.count(metrics::kTasksCanceledTotal), 0U);
}

TEST_F(SupervisorTest, StragglersAreAbortedAtTheDrainDeadline) {
  scene.start_stubborn(cores[1]);
  cores.run();
  Running stopping(cores[0], scene.supervisor.stop(StopReason::Signal, 3s));
  cores.advance(3s - 1ns);
  EXPECT_FALSE(stopping.done());
  EXPECT_EQ(scene.supervisor.phase(), Phase::Draining);
  cores.advance(1ns);
  ASSERT_TRUE(stopping.done());
  EXPECT_EQ(stopping.value(), 1U);
  EXPECT_EQ(scene.count(metrics::kTasksAbortedTotal), 1U);
  EXPECT_EQ(scene.count(metrics::kTasksCanceledTotal), 0U);
  EXPECT_EQ(scene.phases, (std::vector{Phase::Draining, Phase::Aborting, Phase::Stopped}));
}

TEST_F(SupervisorTest, SlowButInTimeIsNotAborted) {
  scene.start(kTestTasks[1], cores[1],
              [](Shutdown shutdown) { return slow_to_stop(2s, std::move(shutdown)); });
  cores.run();
  Running stopping(cores[0], scene.supervisor.stop(StopReason::Signal, 3s));
  cores.advance(2s);
  ASSERT_TRUE(stopping.done());
  EXPECT_EQ(stopping.value(), 0U);
  EXPECT_EQ(scene.count(metrics::kTasksCanceledTotal), 1U);
}

TEST_F(SupervisorTest, ChildrenOfOneKindDrainTogether) {
  for (std::size_t core = 0; core < 2; ++core) {
    scene.start(kTestTasks[1], cores[core],
                [](Shutdown shutdown) { return slow_to_stop(2s, std::move(shutdown)); });
  }
  cores.run();
  Running stopping(cores[0], scene.supervisor.stop(StopReason::Signal, 3s));
  cores.advance(2s);
  ASSERT_TRUE(stopping.done());
  EXPECT_EQ(stopping.value(), 0U);
}

TEST_F(SupervisorTest, AbortNowCutsTheDrainShort) {
  scene.start_stubborn(cores[1]);
  cores.run();
  Running stopping(cores[0], scene.supervisor.stop(StopReason::Signal, 1h));
  cores.advance(1s);
  cores[0].enter([&] { scene.supervisor.abort_now(); });
  cores.run();
  ASSERT_TRUE(stopping.done());
  EXPECT_EQ(stopping.value(), 1U);
}

TEST_F(SupervisorTest, StopDuringBackoffDoesNotRestart) {
  std::size_t runs = 0;
  scene.start_failing({0s}, &runs);
  cores.run();
  EXPECT_EQ(runs, 1U);
  Running stopping(cores[0], scene.supervisor.stop(StopReason::Signal, 1h));
  cores.run();  // no time passes
  ASSERT_TRUE(stopping.done());
  EXPECT_EQ(stopping.value(), 0U);
  cores.advance(1h);
  EXPECT_EQ(runs, 1U);
  EXPECT_EQ(scene.count(metrics::kTasksRestartedTotal), 0U);
}

TEST_F(SupervisorTest, StopBeforeItsTurnMeansNeverStarted) {
  scene.start_stubborn(cores[1]);
  Running stopping(cores[0], scene.supervisor.stop(StopReason::Signal, 0s));
  cores[0].enter([&] { scene.supervisor.abort_now(); });
  cores.run();
  ASSERT_TRUE(stopping.done());
  EXPECT_EQ(scene.supervisor.phase(), Phase::Stopped);
}

TEST_F(SupervisorTest, StopsWithoutChildren) { stop(); }

// Whatever the order of jobs and the moment of the stop: it starts in order, ends, and every child
// that ran is accounted for.
TEST_F(SupervisorTest, StopsFromAnyMomentUnderAnyOrderOfJobs) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    TestCores shuffled(3, seed);
    Scene any(shuffled);
    std::size_t runs = 0;
    any.start_obedient(kTestTasks[0], shuffled[2]);
    any.start_failing({0s, 0s}, &runs);
    any.start_obedient(kTestTasks[2], shuffled[0]);
    any.start_stubborn(shuffled[2]);
    for (std::uint64_t i = 0; i < seed % 50; ++i) shuffled[i % 3].run_one();
    Running stopping(shuffled[0], any.supervisor.stop(StopReason::Signal, seed % 2 == 0 ? 0s : 3s));
    if (seed % 5 == 0) shuffled[0].enter([&] { any.supervisor.abort_now(); });
    shuffled.advance(3s);
    ASSERT_TRUE(stopping.done()) << "seed " << seed;
    std::uint64_t aborted = 0;
    for (const TaskDecl& decl : kTestTasks) {
      aborted += any.service.count(metrics::kTasksAbortedTotal, decl.kind);
    }
    EXPECT_EQ(stopping.value(), aborted) << "seed " << seed;
    Log starts;
    for (const std::string& line : any.log) {
      if (line.starts_with("start")) starts.push_back(line);
    }
    const Log order{"start listener", "start janitor", "start stubborn"};
    ASSERT_LE(starts.size(), order.size());
    EXPECT_TRUE(std::equal(starts.begin(), starts.end(), order.begin())) << "seed " << seed;
  }
}

}  // namespace
}  // namespace ron::runtime
