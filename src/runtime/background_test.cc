#include "runtime/background.h"

#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

#include "runtime/oneshot.h"
#include "runtime/test_executor.h"
#include "runtime/wait_either.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;

struct BackgroundTest : testing::Test {
  TestCores cores;
};

platform::Task<int> at_once(int value) { co_return value; }
platform::Task<int> later(base::Duration after, int value) {
  co_await sleep_for(after);
  co_return value;
}
platform::Task<int> fails() {
  throw std::runtime_error("broken");
  co_return 0;
}

platform::Task<bool> done_when_made() {
  Background<int> background(at_once(3));
  const bool done = background.done();
  co_return done&& background.take() == 3;
}

TEST_F(BackgroundTest, WorkThatNeedNotWaitIsDoneAtOnce) {
  Running run(cores[0], done_when_made());
  cores.run();
  EXPECT_TRUE(run.value());
}

platform::Task<void> add_one(int* to) {
  ++*to;
  co_return;
}

platform::Task<int> count_in_background() {
  int count = 0;
  Background<void> background(add_one(&count));
  background.take();
  co_return count;
}

TEST_F(BackgroundTest, WorkWithoutAValueIsTakenLikeAnyOther) {
  Running run(cores[0], count_in_background());
  cores.run();
  EXPECT_EQ(run.value(), 1);
}

platform::Task<int> with_patience(base::Duration work, base::Duration patience) {
  Background<int> background(later(work, 3));
  const Waited waited = co_await wait_for(background.finished(), Deadline::in(patience));
  co_return waited == Waited::Ready ? background.take() : -1;
}

TEST_F(BackgroundTest, ItsOwnerWaitsForItOrGivesUp) {
  Running patient(cores[0], with_patience(1s, 2s));
  Running hasty(cores[0], with_patience(2s, 1s));
  cores.advance(3s);
  EXPECT_EQ(patient.value(), 3);
  EXPECT_EQ(hasty.value(), -1);
}

platform::Task<int> holding(std::shared_ptr<int> held) {
  co_await sleep_for(1h);
  co_return *held;
}
platform::Task<bool> drops_it(std::weak_ptr<int>* watch) {
  auto held = std::make_shared<int>(1);
  *watch = held;
  const Background<int> background(holding(std::move(held)));
  co_return background.done();
}

TEST_F(BackgroundTest, DroppingItAbortsItWhereItWaits) {
  std::weak_ptr<int> held;
  Running run(cores[0], drops_it(&held));
  cores.run();
  EXPECT_FALSE(run.value());
  EXPECT_TRUE(held.expired());
}

platform::Task<int> rethrows() {
  Background<int> background(fails());
  co_return background.take();
}

TEST_F(BackgroundTest, WhatItLetsEscapeReachesItsOwner) {
  Running run(cores[0], rethrows());
  cores.run();
  EXPECT_TRUE(run.failed());
}

platform::Task<First> first_of(platform::Event* a, platform::Event* b, Deadline deadline) {
  return wait_either(EventOp(*a), EventOp(*b), deadline);
}

TEST_F(BackgroundTest, TheFirstThatIsReadyIsNamed) {
  platform::Event a;
  platform::Event b;
  Running run(cores[0], first_of(&a, &b, {}));
  cores.run();
  EXPECT_FALSE(run.done());
  cores[0].enter([&] { b.set(); });
  cores.run();
  EXPECT_EQ(run.value(), First::Other);
  cores[0].enter([&] { a.set(); });
  Running both(cores[0], first_of(&a, &b, {}));
  cores.run();
  EXPECT_EQ(both.value(), First::One);
}

TEST_F(BackgroundTest, ANudgeIsNoAnswer) {
  platform::Event a;
  platform::Event b;
  Running run(cores[0], first_of(&a, &b, cores[0].in(1s)));
  cores.run();
  cores[0].enter([&] { a.nudge(); });
  cores.run();
  EXPECT_FALSE(run.done());
  cores.advance(1s);
  EXPECT_EQ(run.value(), First::TimedOut);
}

platform::Task<Waited> left(OneshotSender<int>* sender) {
  return wait_for(sender->until_abandoned(), Deadline());
}

TEST_F(BackgroundTest, ASenderLearnsThatItsReceiverLeft) {
  auto [sender, receiver] = oneshot<int>();
  Running run(cores[0], left(&sender));
  cores.run();
  EXPECT_FALSE(run.done());
  {
    const OneshotReceiver<int> gone = std::move(receiver);
  }
  cores.run();
  EXPECT_EQ(run.value(), Waited::Ready);
}

}  // namespace
}  // namespace ron::runtime
