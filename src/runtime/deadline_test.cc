#include "runtime/deadline.h"

#include <chrono>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;

TEST(Deadline, DefaultNeverPasses) {
  TestCores cores;
  EXPECT_FALSE(cores[0].enter([] { return Deadline().passed(); }));
}

TEST(Deadline, ComposesByMinimum) {
  const Deadline early(platform::TimePoint(1s));
  const Deadline late(platform::TimePoint(2s));
  EXPECT_EQ(early.sooner(late), early);
  EXPECT_EQ(late.sooner(early), early);
  EXPECT_EQ(Deadline().sooner(late), late);
}

TEST(Deadline, PassesAtItsMoment) {
  TestCores cores;
  const Deadline deadline = cores[0].enter([] { return Deadline::in(1s); });
  cores.advance(1s - 1ns);
  EXPECT_FALSE(cores[0].enter([&] { return deadline.passed(); }));
  cores.advance(1ns);
  EXPECT_TRUE(cores[0].enter([&] { return deadline.passed(); }));
}

TEST(Deadline, AFarFutureIsNever) {
  TestCores cores;
  EXPECT_EQ(cores[0].enter([] { return Deadline::in(base::Duration::max()); }), Deadline());
}

TEST(Deadline, SleepEndsExactlyThen) {
  TestCores cores;
  Running sleep(cores[0], sleep_until(cores[0].in(3s)));
  cores.advance(3s - 1ns);
  EXPECT_FALSE(sleep.done());
  cores.advance(1ns);
  EXPECT_TRUE(sleep.done());
}

TEST(Deadline, AbortedSleepDisarmsItsTimer) {
  TestCores cores;
  Running sleep(cores[0], sleep_until(cores[0].in(3s)));
  cores.run();
  EXPECT_EQ(cores[0].timers(), 1U);
  sleep.abort();
  EXPECT_EQ(cores[0].timers(), 0U);
}

}  // namespace
}  // namespace ron::runtime
