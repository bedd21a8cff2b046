#include "runtime/oneshot.h"

#include <chrono>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;

struct OneshotTest : testing::Test {
  TestCores cores;
};

TEST_F(OneshotTest, DeliversToAWaitingReceiver) {
  auto [sender, receiver] = oneshot<std::unique_ptr<int>>();
  Running recv(cores[0], receiver.recv({}));
  cores.run();
  EXPECT_FALSE(recv.done());
  EXPECT_EQ(std::move(sender).send(std::make_unique<int>(3)), std::nullopt);
  cores.run();
  ASSERT_TRUE(recv.done());
  EXPECT_EQ(**recv.value(), 3);
}

TEST_F(OneshotTest, DroppedSenderClosesIt) {
  auto [sender, receiver] = oneshot<int>();
  Running recv(cores[0], receiver.recv({}));
  cores.run();
  {
    const OneshotSender<int> gone = std::move(sender);
  }
  cores.run();
  EXPECT_EQ(recv.value().error(), Waited::Closed);
}

TEST_F(OneshotTest, ValueComesBackWhenNobodyWaits) {
  auto [sender, receiver] = oneshot<int>();
  EXPECT_FALSE(sender.abandoned());
  {
    const OneshotReceiver<int> gone = std::move(receiver);
  }
  EXPECT_TRUE(sender.abandoned());
  EXPECT_EQ(std::move(sender).send(3), 3);
}

TEST_F(OneshotTest, TimedOutReceiverMayAskAgain) {
  auto [sender, receiver] = oneshot<int>();
  Running first(cores[0], receiver.recv(cores[0].in(1s)));
  cores.advance(1s);
  EXPECT_EQ(first.value().error(), Waited::TimedOut);
  EXPECT_EQ(std::move(sender).send(3), std::nullopt);
  Running second(cores[0], receiver.recv({}));
  cores.run();
  EXPECT_EQ(second.value(), 3);
}

TEST_F(OneshotTest, AbortedReceiveKeepsTheValue) {
  auto [sender, receiver] = oneshot<int>();
  Running first(cores[0], receiver.recv({}));
  cores.run();
  EXPECT_EQ(std::move(sender).send(3), std::nullopt);
  first.abort();
  Running second(cores[0], receiver.recv({}));
  cores.run();
  EXPECT_EQ(second.value(), 3);
}

TEST_F(OneshotTest, TheValueIsReceivedOnce) {
  auto [sender, receiver] = oneshot<int>();
  EXPECT_EQ(std::move(sender).send(3), std::nullopt);
  Running first(cores[0], receiver.recv({}));
  Running second(cores[0], receiver.recv({}));
  cores.run();
  EXPECT_EQ(first.value(), 3);
  EXPECT_EQ(second.value().error(), Waited::Closed);
}

}  // namespace
}  // namespace ron::runtime
