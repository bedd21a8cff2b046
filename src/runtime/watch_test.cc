#include "runtime/watch.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"
#include "runtime/test_wires.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;

struct WatchTest : testing::Test {
  TestCores cores;
  TestService service;
  Watch<std::string> config{service.topology, kConfig, "initial"};
  Shutdown stop;
};

TEST_F(WatchTest, LastWriteWins) {
  config.set("a");
  config.set("b");
  EXPECT_EQ(config.get(), "b");
}

TEST(WatchState, SetIfRefusesWhenSomebodyWasFirst) {
  WatchState<int> state(0);
  EXPECT_TRUE(state.set_if(WatchState<int>::kInitialVersion, 1));
  EXPECT_FALSE(state.set_if(WatchState<int>::kInitialVersion, 2));
  EXPECT_EQ(state.get().value, 1);
  EXPECT_TRUE(state.set_if(state.get().version, 3));
  EXPECT_EQ(state.get().value, 3);
}

TEST_F(WatchTest, WaitsForSomethingNewer) {
  auto receiver = config.subscribe();
  Running changed(cores[0], receiver.changed({}, stop));
  cores.run();
  EXPECT_FALSE(changed.done());
  config.set("next");
  cores.run();
  ASSERT_TRUE(changed.done());
  EXPECT_EQ(changed.value(), Waited::Ready);
  EXPECT_EQ(receiver.see(), "next");
}

TEST_F(WatchTest, AChangeBetweenLookAndWaitIsNotMissed) {
  auto receiver = config.subscribe();
  EXPECT_EQ(receiver.see(), "initial");
  config.set("meanwhile");
  Running changed(cores[0], receiver.changed({}, stop));
  cores.run();
  ASSERT_TRUE(changed.done());
  EXPECT_EQ(receiver.see(), "meanwhile");
}

TEST_F(WatchTest, WhatWasSeenDoesNotWakeAgain) {
  auto receiver = config.subscribe();
  config.set("once");
  EXPECT_EQ(receiver.see(), "once");
  Running changed(cores[0], receiver.changed(cores[0].in(1s), stop));
  cores.advance(1s);
  EXPECT_EQ(changed.value(), Waited::TimedOut);
}

TEST_F(WatchTest, CloseIsSeenAfterTheLastChange) {
  auto receiver = config.subscribe();
  config.set("last");
  config.close();
  Running changed(cores[0], receiver.changed({}, stop));
  cores.run();
  EXPECT_EQ(changed.value(), Waited::Ready);
  EXPECT_EQ(receiver.see(), "last");
  Running closed(cores[0], receiver.changed({}, stop));
  cores.run();
  EXPECT_EQ(closed.value(), Waited::Closed);
}

TEST_F(WatchTest, StopEndsTheWait) {
  auto receiver = config.subscribe();
  Running changed(cores[0], receiver.changed({}, stop));
  cores.run();
  stop.trigger(StopReason::Signal);
  cores.run();
  EXPECT_EQ(changed.value(), Waited::Stopped);
}

TEST_F(WatchTest, AbortedWaitIsForgotten) {
  auto receiver = config.subscribe();
  Running changed(cores[0], receiver.changed({}, stop));
  cores.run();
  config.set("next");
  changed.abort();
  EXPECT_FALSE(cores[0].ready());
  EXPECT_EQ(receiver.see(), "next");
}

}  // namespace
}  // namespace ron::runtime
