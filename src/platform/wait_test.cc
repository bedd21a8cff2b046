#include "platform/wait.h"

#include <memory>

#include <gtest/gtest.h>

#include "platform/completion.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"

namespace ron::platform {
namespace {

using namespace std::chrono_literals;
using sim::Outcome;
using test::Root;

class WaitTest : public testing::Test {
 protected:
  sim::World world_{1};
  sim::Node& node_ = world_.add_node({.cores = 2});
};

Task<void> wait_for(Event* event, int* woken) {
  co_await event->wait();
  ++*woken;
}

TEST_F(WaitTest, EventWakesItsWaiter) {
  Event event;
  int woken = 0;
  const Root root(node_.core(), wait_for(&event, &woken));
  world_.run_for(1ms);
  EXPECT_EQ(woken, 0);
  event.set();
  event.set();
  world_.run_for(1ms);
  EXPECT_EQ(woken, 1);
  EXPECT_TRUE(event.is_set());
}

TEST_F(WaitTest, ASetEventDoesNotSuspend) {
  Event event;
  event.set();
  int woken = 0;
  const Root root(node_.core(), wait_for(&event, &woken));
  world_.run_for(1ms);
  EXPECT_EQ(woken, 1);
}

TEST_F(WaitTest, NudgeWakesWithoutSetting) {
  Event event;
  int woken = 0;
  const Root root(node_.core(), wait_for(&event, &woken));
  world_.run_for(1ms);
  event.nudge();
  world_.run_for(1ms);
  EXPECT_EQ(woken, 1);
  EXPECT_FALSE(event.is_set());
}

TEST_F(WaitTest, AbortedWaiterTakesItsWakeUpBack) {
  Event event;
  int woken = 0;
  auto root = std::make_unique<Root>(node_.core(), wait_for(&event, &woken));
  world_.run_for(1ms);
  event.set();
  root.reset();
  world_.run_for(1ms);
  EXPECT_EQ(woken, 0);
  event.clear();
  const Root next(node_.core(), wait_for(&event, &woken));
  world_.run_for(1ms);
  event.set();
  world_.run_for(1ms);
  EXPECT_EQ(woken, 1);
}

// One slot that a waiter links itself into, as the channels do.
struct Slot {
  Waiter* waiter = nullptr;
};

class Linked {
 public:
  Linked(Slot& slot, Waiter& waiter) : slot_(slot), waiter_(waiter) { slot.waiter = &waiter; }
  Linked(const Linked&) = delete;
  Linked& operator=(const Linked&) = delete;
  ~Linked() {
    if (slot_.waiter == nullptr) waiter_.take_back();
    slot_.waiter = nullptr;
  }

 private:
  Slot& slot_;
  Waiter& waiter_;
};

enum class Ending { Waiting, Woken, TimedOut };

Task<void> park(Slot* slot, MonotonicClock::duration limit, Ending* ending) {
  Parker parker;
  Waiter waiter(parker);
  const Linked linked(*slot, waiter);
  const bool in_time = co_await parker.park(parker.executor().now() + limit);
  *ending = in_time ? Ending::Woken : Ending::TimedOut;
}

TEST_F(WaitTest, ParkerIsWokenByAWaiter) {
  Slot slot;
  Ending ending = Ending::Waiting;
  const Root root(node_.core(), park(&slot, 1h, &ending));
  world_.run_for(1ms);
  std::exchange(slot.waiter, nullptr)->wake();
  world_.run_for(1ms);
  EXPECT_EQ(ending, Ending::Woken);
  EXPECT_EQ(world_.run_until([] { return false; }, 2h), Outcome::Stuck) << "timer left behind";
}

TEST_F(WaitTest, ParkerTimesOut) {
  Slot slot;
  Ending ending = Ending::Waiting;
  const Root root(node_.core(), park(&slot, 10ms, &ending));
  world_.run_for(9ms);
  EXPECT_EQ(ending, Ending::Waiting);
  world_.run_for(2ms);
  EXPECT_EQ(ending, Ending::TimedOut);
}

// Time-out and wake-up at the same instant: one of them wins, and the frame goes only once.
TEST_F(WaitTest, WakeUpAndTimeOutTogetherResumeOnce) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    sim::World world(seed);
    sim::Node& node = world.add_node();
    Slot slot;
    Ending ending = Ending::Waiting;
    const Root root(node.core(), park(&slot, 10ms, &ending));
    world.after(10ms, [&] {
      if (slot.waiter != nullptr) std::exchange(slot.waiter, nullptr)->wake();
    });
    world.run_for(20ms);
    EXPECT_TRUE(root.done());
    EXPECT_NE(ending, Ending::Waiting);
  }
}

TEST_F(WaitTest, AbortedParkerTakesItsWakeUpBack) {
  Slot slot;
  Ending ending = Ending::Waiting;
  auto root = std::make_unique<Root>(node_.core(), park(&slot, 1h, &ending));
  world_.run_for(1ms);
  std::exchange(slot.waiter, nullptr)->wake();
  root.reset();
  world_.run_for(1ms);
  EXPECT_EQ(ending, Ending::Waiting);
}

TEST_F(WaitTest, AWaiterResumesOnItsOwnExecutor) {
  Event event;
  Executor* seen = nullptr;
  auto body = [](Event* on, Executor** out) -> Task<void> {
    co_await on->wait();
    *out = Executor::current();
  };
  auto setter = [](Event* on) -> Task<void> {
    on->set();
    co_return;
  };
  const Root waiting(node_.core(0), body(&event, &seen));
  world_.run_for(1ms);
  const Root setting(node_.core(1), setter(&event));
  world_.run_for(1ms);
  EXPECT_EQ(seen, &node_.core(0));
}

Task<void> spin(int* turns) {
  for (;;) {
    ++*turns;
    co_await Yield();
  }
}

TEST_F(WaitTest, YieldLetsOthersRunAndEndsWithItsFrame) {
  int turns = 0;
  int others = 0;
  auto spinning = std::make_unique<Root>(node_.core(), spin(&turns));
  const Root other(node_.core(), spin(&others));
  EXPECT_EQ(world_.run_until([&] { return turns > 10 && others > 10; }, 1s), sim::Outcome::Done);
  spinning.reset();
  const int before = turns;
  const int seen = others;
  EXPECT_EQ(world_.run_until([&] { return others > seen + 10; }, 1s), sim::Outcome::Done);
  EXPECT_EQ(turns, before);
}

Task<void> take(std::shared_ptr<Completion<int>> completion, int* out) {
  *out = co_await Completion<int>::wait(completion);
}

TEST_F(WaitTest, CompletionDeliversBeforeAndAfterTheWait) {
  auto early = std::make_shared<Completion<int>>();
  auto late = std::make_shared<Completion<int>>();
  int first = 0;
  int second = 0;
  early->finish(1);
  const Root a(node_.core(), take(early, &first));
  const Root b(node_.core(), take(late, &second));
  world_.run_for(1ms);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
  late->finish(2);
  world_.run_for(1ms);
  EXPECT_EQ(second, 2);
}

TEST_F(WaitTest, CompletionSurvivesAnAbortedWait) {
  auto completion = std::make_shared<Completion<int>>();
  int out = 0;
  auto root = std::make_unique<Root>(node_.core(), take(completion, &out));
  world_.run_for(1ms);
  root.reset();
  completion->finish(3);
  world_.run_for(1ms);
  EXPECT_EQ(out, 0);
}

}  // namespace
}  // namespace ron::platform
