#include "cli/in_order.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"
#include "runtime/test_wires.h"

namespace ron::cli {
namespace {

using namespace std::chrono_literals;
using runtime::Running;

platform::Task<int> after(base::Duration time, int value) {
  co_await runtime::sleep_for(time);
  co_return value;
}
platform::Task<int> panic() {
  co_await runtime::sleep_for(1s);
  throw std::runtime_error("gone");
}

struct InOrderTest : testing::Test {
  runtime::TestCores cores;
  runtime::TestService service;
  runtime::TaskMeters meters{service.meters, "worker"};

  void start(InOrder<int>& window, platform::Task<int> task) {
    cores[0].enter([&] { window.start(std::move(task)); });
  }
};

TEST_F(InOrderTest, HandsResultsOverInTheOrderOfTheirStart) {
  InOrder<int> window(meters, 2);
  start(window, after(3s, 1));
  start(window, after(1s, 2));
  EXPECT_TRUE(window.full());
  Running first(cores[0], window.next());
  cores.advance(2s);
  EXPECT_FALSE(first.done()) << "the second waits for its turn";
  cores.advance(1s);
  ASSERT_TRUE(first.done());
  EXPECT_EQ(first.value(), 1);
  start(window, after(1s, 3));
  Running second(cores[0], window.next());
  cores.run();
  ASSERT_TRUE(second.done());
  EXPECT_EQ(second.value(), 2);
  Running third(cores[0], window.next());
  cores.advance(1s);
  EXPECT_EQ(third.value(), 3);
  EXPECT_TRUE(window.empty());
}

TEST_F(InOrderTest, RunsTasksSideBySide) {
  InOrder<int> window(meters, 4);
  for (int i = 0; i < 4; ++i) start(window, after(1s, i));
  cores.advance(1s);
  for (int i = 0; i < 4; ++i) {
    Running next(cores[0], window.next());
    cores.run();
    ASSERT_TRUE(next.done());
    EXPECT_EQ(next.value(), i);
  }
}

TEST_F(InOrderTest, AnExceptionReachesWhoeverTakesTheResult) {
  InOrder<int> window(meters, 1);
  start(window, panic());
  Running next(cores[0], window.next());
  cores.advance(1s);
  EXPECT_TRUE(next.failed());
}

TEST_F(InOrderTest, GoingAwayAbortsWhatRuns) {
  {
    InOrder<int> window(meters, 2);
    start(window, after(1s, 1));
    Running next(cores[0], window.next());
    cores.run();
    EXPECT_FALSE(next.done());
    next.abort();
  }
  EXPECT_EQ(cores[0].timers(), 0U);
}

}  // namespace
}  // namespace ron::cli
