#include "runtime/broadcast.h"

#include <chrono>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"
#include "runtime/test_wires.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;

struct BroadcastTest : testing::Test {
  TestCores cores;
  TestService service;
  Broadcast<int> events{service.topology, kEvents, 2};

  // What the subscription gets now; it must not have to wait.
  std::expected<Broadcast<int>::Received, Waited> take(Broadcast<int>::Subscription& from) {
    Running recv(cores[0], from.recv());
    cores.run();
    EXPECT_TRUE(recv.done());
    return std::move(recv.value());
  }
};

TEST_F(BroadcastTest, EverySubscriberGetsEveryValue) {
  auto a = events.subscribe();
  auto b = events.subscribe();
  EXPECT_TRUE(events.send(1));
  EXPECT_TRUE(events.send(2));
  for (auto* subscription : {&a, &b}) {
    EXPECT_EQ(std::get<int>(*take(*subscription)), 1);
    EXPECT_EQ(std::get<int>(*take(*subscription)), 2);
  }
}

TEST_F(BroadcastTest, SubscribersStartAtTheNextValue) {
  EXPECT_TRUE(events.send(1));
  auto late = events.subscribe();
  EXPECT_TRUE(events.send(2));
  EXPECT_EQ(std::get<int>(*take(late)), 2);
}

TEST_F(BroadcastTest, SlowSubscriberLearnsHowManyItMissedAndGoesOn) {
  auto slow = events.subscribe();
  for (int i = 1; i <= 5; ++i) EXPECT_TRUE(events.send(i));
  EXPECT_EQ(std::get<Lagged>(*take(slow)).missed, 3U);
  EXPECT_EQ(std::get<int>(*take(slow)), 4);
  EXPECT_EQ(std::get<int>(*take(slow)), 5);
  EXPECT_EQ(service.count(metrics::kBusLaggedTotal, "events"), 3U);
  EXPECT_EQ(service.count(metrics::kQueueDroppedTotal, "events"), 3U);
}

TEST_F(BroadcastTest, SendWakesAllThatWait) {
  auto a = events.subscribe();
  auto b = events.subscribe();
  Running first(cores[0], a.recv());
  Running second(cores[0], b.recv());
  cores.run();
  EXPECT_FALSE(first.done());
  EXPECT_TRUE(events.send(9));
  cores.run();
  EXPECT_EQ(std::get<int>(*first.value()), 9);
  EXPECT_EQ(std::get<int>(*second.value()), 9);
}

TEST_F(BroadcastTest, CloseComesAfterTheLastValue) {
  auto subscription = events.subscribe();
  EXPECT_TRUE(events.send(1));
  events.close();
  EXPECT_FALSE(events.send(2));
  EXPECT_EQ(std::get<int>(*take(subscription)), 1);
  EXPECT_EQ(take(subscription).error(), Waited::Closed);
}

TEST_F(BroadcastTest, RecvTimesOut) {
  auto subscription = events.subscribe();
  Running recv(cores[0], subscription.recv(cores[0].in(1s)));
  cores.advance(1s);
  ASSERT_TRUE(recv.done());
  EXPECT_EQ(recv.value().error(), Waited::TimedOut);
}

TEST_F(BroadcastTest, StopIsSeenOnlyWhenNothingIsLeft) {
  auto subscription = events.subscribe();
  Shutdown stop;
  EXPECT_TRUE(events.send(1));
  stop.trigger(StopReason::Signal);
  Running first(cores[0], subscription.recv_or_stop(stop));
  Running second(cores[0], subscription.recv_or_stop(stop));
  cores.run();
  EXPECT_EQ(std::get<int>(*first.value()), 1);
  EXPECT_EQ(second.value().error(), Waited::Stopped);
}

TEST_F(BroadcastTest, AbortedReceiveHasConsumedNothing) {
  auto subscription = events.subscribe();
  Running recv(cores[0], subscription.recv());
  cores.run();
  EXPECT_TRUE(events.send(1));
  recv.abort();
  EXPECT_EQ(std::get<int>(*take(subscription)), 1);
}

}  // namespace
}  // namespace ron::runtime
