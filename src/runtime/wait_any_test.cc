#include "runtime/wait_any.h"

#include <array>
#include <chrono>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"
#include "runtime/wait_either.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;

struct WaitAnyTest : testing::Test {
  TestCores cores;
  std::array<platform::Event, 3> events;

  platform::Task<std::optional<std::size_t>> any(Deadline deadline) {
    std::vector<EventOp> ops;
    ops.reserve(events.size());
    for (platform::Event& event : events) ops.emplace_back(event);
    return wait_any(std::move(ops), deadline);
  }
};

TEST_F(WaitAnyTest, TheFirstThatIsReadyIsNamed) {
  Running run(cores[0], any({}));
  cores.run();
  EXPECT_FALSE(run.done());
  cores[0].enter([&] { events[2].set(); });
  cores.run();
  ASSERT_TRUE(run.done());
  EXPECT_EQ(run.value(), 2U);
}

TEST_F(WaitAnyTest, OfSeveralThatAreReadyTheLowestIsNamed) {
  events[1].set();
  events[2].set();
  Running run(cores[0], any({}));
  cores.run();
  EXPECT_EQ(run.value(), 1U);
}

TEST_F(WaitAnyTest, NothingWhenTheDeadlinePassesFirst) {
  Running run(cores[0], any(cores[0].in(1s)));
  cores.advance(999ms);
  EXPECT_FALSE(run.done());
  cores.advance(1ms);
  ASSERT_TRUE(run.done());
  EXPECT_EQ(run.value(), std::nullopt);
}

TEST_F(WaitAnyTest, OfNothingOnlyTheDeadlineComes) {
  Running run(cores[0], wait_any(std::vector<EventOp>{}, cores[0].in(1s)));
  cores.advance(1s);
  EXPECT_EQ(run.value(), std::nullopt);
}

TEST_F(WaitAnyTest, AnAbortedWaitLeavesNoWaiterBehind) {
  {
    Running run(cores[0], any({}));
    cores.run();
    cores[0].enter([&] { events[0].set(); });  // queued, and taken back
  }
  cores.run();
  EXPECT_FALSE(cores[0].ready());
  Running again(cores[0], any({}));
  cores.run();
  EXPECT_EQ(again.value(), 0U);
}

}  // namespace
}  // namespace ron::runtime
