#include "runtime/shutdown.h"

#include <array>
#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

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
  constexpr std::size_t kRounds = 3000;
  std::vector<Shutdown> stops(kRounds);
  std::array<std::vector<StopReason>, 2> seen;
  std::barrier both(2);
  const auto race = [&](StopReason reason, std::vector<StopReason>& mine) {
    for (Shutdown& stop : stops) {
      both.arrive_and_wait();
      stop.trigger(reason);
      mine.push_back(stop.reason());
    }
  };
  {
    const std::jthread a([&] { race(StopReason::Signal, seen[0]); });
    const std::jthread b([&] { race(StopReason::Failure, seen[1]); });
  }
  for (std::size_t i = 0; i < kRounds; ++i) {
    ASSERT_EQ(seen[0][i], stops[i].reason());
    ASSERT_EQ(seen[1][i], stops[i].reason());
  }
}

}  // namespace
}  // namespace ron::runtime
