#include "runtime/shutdown.h"

#include <array>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"
#include "runtime/waiting.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;

TEST(Shutdown, TheFirstReasonStays) {
  Shutdown stop;
  EXPECT_FALSE(stop.requested());
  stop.trigger(StopReason::Rebind);
  stop.trigger(StopReason::Signal);
  EXPECT_EQ(stop.reason(), StopReason::Rebind);
}

TEST(Shutdown, CopiesShareOneState) {
  Shutdown stop;
  const Shutdown copy = stop;
  stop.trigger(StopReason::Signal);
  EXPECT_TRUE(copy.requested());
}

TEST(Shutdown, WaitStopReturnsAtOnceWhenRequestedBefore) {
  TestCores cores;
  Shutdown stop;
  stop.trigger(StopReason::Signal);
  Running wait(cores[0], wait_stop(stop));
  cores.run();
  EXPECT_EQ(wait.value(), Waited::Ready);
}

TEST(Shutdown, WaitStopTimesOut) {
  TestCores cores;
  Running wait(cores[0], wait_stop(Shutdown(), cores[0].in(1s)));
  cores.advance(1s);
  EXPECT_EQ(wait.value(), Waited::TimedOut);
}

// What a thread reads after its trigger never changes again.
TEST(Shutdown, RacingTriggersAgreeOnTheReason) {
  for (int round = 0; round < 500; ++round) {
    Shutdown stop;
    std::array<StopReason, 2> seen{};
    {
      const std::jthread a([&] {
        stop.trigger(StopReason::Signal);
        seen[0] = stop.reason();
      });
      const std::jthread b([&] {
        stop.trigger(StopReason::Failure);
        seen[1] = stop.reason();
      });
    }
    ASSERT_EQ(seen[0], stop.reason());
    ASSERT_EQ(seen[1], stop.reason());
  }
}

}  // namespace
}  // namespace ron::runtime
