#include "runtime/mpsc.h"

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "runtime/test_executor.h"
#include "runtime/test_wires.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;
using Full = SendError<int>;

struct MpscTest : testing::Test {
  TestCores cores;
  TestService service;
  std::uint64_t dropped(const ChannelDecl& decl) {
    return service.count(metrics::kQueueDroppedTotal, decl.name);
  }
};

TEST_F(MpscTest, FullHandsTheValueBackAndCountsIt) {
  Mpsc<std::unique_ptr<int>> queue(service.topology, kWork, 1);
  EXPECT_TRUE(queue.try_send(std::make_unique<int>(1)));
  auto sent = queue.try_send(std::make_unique<int>(2));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, SendError<std::unique_ptr<int>>::Kind::Full);
  EXPECT_EQ(*sent.error().value, 2);
  EXPECT_EQ(dropped(kWork), 1U);
}

TEST_F(MpscTest, ClosedIsNotFullAndNotDropped) {
  Mpsc<int> queue(service.topology, kWork, 1);
  queue.close();
  const auto sent = queue.try_send(1);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, Full::Kind::Closed);
  EXPECT_EQ(dropped(kWork), 0U);
}

TEST_F(MpscTest, DropOldestMakesRoomAndCounts) {
  Mpsc<int> queue(service.topology, kTicks, 2);
  EXPECT_EQ(queue.try_send(1), Sent::Accepted);
  EXPECT_EQ(queue.try_send(2), Sent::Accepted);
  EXPECT_EQ(queue.try_send(3), Sent::DroppedOldest);
  EXPECT_EQ(queue.try_recv(), 2);
  EXPECT_EQ(queue.try_recv(), 3);
  EXPECT_EQ(queue.try_recv(), std::nullopt);
  EXPECT_EQ(dropped(kTicks), 1U);
}

TEST_F(MpscTest, RefuseIfFullCountsOnlyRefusals) {
  Mpsc<int> queue(service.topology, kWork, 1);
  EXPECT_FALSE(queue.refuse_if_full());
  EXPECT_EQ(dropped(kWork), 0U);
  EXPECT_TRUE(queue.try_send(1));
  EXPECT_TRUE(queue.refuse_if_full());
  EXPECT_EQ(dropped(kWork), 1U);
}

TEST_F(MpscTest, CloseDrainsThenEnds) {
  Mpsc<int> queue(service.topology, kWork, 4);
  EXPECT_TRUE(queue.try_send(1));
  EXPECT_TRUE(queue.try_send(2));
  queue.close();
  for (const int expected : {1, 2}) {
    Running recv(cores[0], queue.recv());
    cores.run();
    ASSERT_TRUE(recv.done());
    EXPECT_EQ(recv.value(), expected);
  }
  Running end(cores[0], queue.recv());
  cores.run();
  ASSERT_TRUE(end.done());
  EXPECT_EQ(end.value().error(), Waited::Closed);
}

TEST_F(MpscTest, CloseEndsEveryWaitingReceiver) {
  Mpsc<int> queue(service.topology, kWork, 4);
  Running first(cores[0], queue.recv());
  Running second(cores[0], queue.recv());
  cores.run();
  queue.close();
  cores.run();
  EXPECT_EQ(first.value().error(), Waited::Closed);
  EXPECT_EQ(second.value().error(), Waited::Closed);
}

TEST_F(MpscTest, RecvTimesOutAtItsDeadline) {
  Mpsc<int> queue(service.topology, kWork, 4);
  Running recv(cores[0], queue.recv(cores[0].in(5s)));
  cores.advance(5s - 1ns);
  EXPECT_FALSE(recv.done());
  cores.advance(1ns);
  ASSERT_TRUE(recv.done());
  EXPECT_EQ(recv.value().error(), Waited::TimedOut);
  EXPECT_EQ(cores[0].timers(), 0U);
}

TEST_F(MpscTest, RecvTakesWhatIsReadyEvenPastItsDeadline) {
  Mpsc<int> queue(service.topology, kWork, 4);
  EXPECT_TRUE(queue.try_send(7));
  Running recv(cores[0], queue.recv(Deadline(cores.now() - 1s)));
  cores.run();
  EXPECT_EQ(recv.value(), 7);
}

TEST_F(MpscTest, StopIsSeenOnlyWhenNothingIsQueued) {
  Mpsc<int> queue(service.topology, kWork, 4);
  Shutdown stop;
  EXPECT_TRUE(queue.try_send(1));
  stop.trigger(StopReason::Signal);
  Running first(cores[0], queue.recv_or_stop(stop));
  cores.run();
  EXPECT_EQ(first.value(), 1);
  Running second(cores[0], queue.recv_or_stop(stop));
  cores.run();
  EXPECT_EQ(second.value().error(), Waited::Stopped);
}

TEST_F(MpscTest, StopWakesAWaitingReceiver) {
  Mpsc<int> queue(service.topology, kWork, 4);
  Shutdown stop;
  Running recv(cores[0], queue.recv_or_stop(stop));
  cores.run();
  EXPECT_FALSE(recv.done());
  stop.trigger(StopReason::Signal);
  cores.run();
  EXPECT_EQ(recv.value().error(), Waited::Stopped);
}

TEST_F(MpscTest, AbortedReceiverPassesItsWakeUpOn) {
  Mpsc<int> queue(service.topology, kWork, 4);
  Running first(cores[0], queue.recv());
  Running second(cores[0], queue.recv());
  cores.run();
  EXPECT_TRUE(queue.try_send(1));  // wakes the first
  first.abort();
  cores.run();
  ASSERT_TRUE(second.done());
  EXPECT_EQ(second.value(), 1);
}

TEST_F(MpscTest, AbortedReceiverLosesNoItem) {
  Mpsc<int> queue(service.topology, kWork, 4);
  Running recv(cores[0], queue.recv());
  cores.run();
  EXPECT_TRUE(queue.try_send(1));
  recv.abort();
  cores.run();
  EXPECT_EQ(queue.try_recv(), 1);
}

// The stop resumes the receiver while the wake-up for an item, which somebody else took, is still
// queued. That wake-up must not outlive the receiver.
TEST_F(MpscTest, StopAfterAStolenItemLeavesNoWakeUpBehind) {
  Mpsc<int> queue(service.topology, kWork, 4);
  Shutdown stop;
  Running recv(cores[0], queue.recv_or_stop(stop));
  cores.run();
  stop.trigger(StopReason::Signal);
  EXPECT_TRUE(queue.try_send(1));
  EXPECT_EQ(queue.try_recv(), 1);
  EXPECT_TRUE(cores[0].run_one());
  ASSERT_TRUE(recv.done());
  EXPECT_EQ(recv.value().error(), Waited::Stopped);
  EXPECT_FALSE(cores[0].ready());
}

TEST_F(MpscTest, SendersWaitForRoomInTurn) {
  Mpsc<int> queue(service.topology, kJobs, 1);
  EXPECT_TRUE(queue.try_send(1));
  Running second(cores[0], queue.send(2, Deadline()));
  Running third(cores[0], queue.send(3, Deadline()));
  cores.run();
  EXPECT_FALSE(second.done());
  EXPECT_EQ(queue.try_recv(), 1);
  cores.run();
  EXPECT_TRUE(second.done());
  EXPECT_FALSE(third.done());
  EXPECT_EQ(queue.try_recv(), 2);
  cores.run();
  EXPECT_TRUE(third.done());
  EXPECT_EQ(dropped(kJobs), 0U);
}

TEST_F(MpscTest, SendOutOfTimeIsFullAndCounts) {
  Mpsc<int> queue(service.topology, kJobs, 1);
  EXPECT_TRUE(queue.try_send(1));
  Running send(cores[0], queue.send(2, cores[0].in(1s)));
  cores.advance(1s);
  ASSERT_TRUE(send.done());
  EXPECT_EQ(send.value().error().kind, Full::Kind::Full);
  EXPECT_EQ(send.value().error().value, 2);
  EXPECT_EQ(dropped(kJobs), 1U);
}

TEST_F(MpscTest, CloseHandsWaitingSendersTheirValueBack) {
  Mpsc<int> queue(service.topology, kJobs, 1);
  EXPECT_TRUE(queue.try_send(1));
  Running send(cores[0], queue.send(2, Deadline()));
  cores.run();
  queue.close();
  cores.run();
  EXPECT_EQ(send.value().error().kind, Full::Kind::Closed);
  EXPECT_EQ(send.value().error().value, 2);
}

TEST_F(MpscTest, AbortedSenderPassesTheRoomOn) {
  Mpsc<int> queue(service.topology, kJobs, 1);
  EXPECT_TRUE(queue.try_send(1));
  Running second(cores[0], queue.send(2, Deadline()));
  Running third(cores[0], queue.send(3, Deadline()));
  cores.run();
  EXPECT_EQ(queue.try_recv(), 1);  // wakes the second
  second.abort();
  cores.run();
  EXPECT_TRUE(third.done());
  EXPECT_EQ(queue.try_recv(), 3);
}

TEST_F(MpscTest, LanesShareTheCapacity) {
  Mpsc<int> queue(service.topology, kWork, 2, 2);
  EXPECT_TRUE(queue.try_send(1, 0));
  EXPECT_TRUE(queue.try_send(2, 1));
  EXPECT_FALSE(queue.try_send(3, 0));
  EXPECT_FALSE(queue.try_send(3, 1));
  EXPECT_EQ(queue.try_recv(1), 2);
  EXPECT_TRUE(queue.try_send(4, 0));
  EXPECT_EQ(queue.depth(), 2U);
}

TEST_F(MpscTest, AnItemWakesOnlyItsLane) {
  Mpsc<int> queue(service.topology, kWork, 2, 2);
  Running get(cores[0], queue.recv({}, 0));
  Running put(cores[0], queue.recv({}, 1));
  cores.run();
  EXPECT_TRUE(queue.try_send(5, 1));
  cores.run();
  EXPECT_FALSE(get.done());
  EXPECT_EQ(put.value(), 5);
}

TEST_F(MpscTest, RoomInOneLaneWakesASenderOfAnother) {
  Mpsc<int> queue(service.topology, kJobs, 1, 2);
  EXPECT_TRUE(queue.try_send(1, 0));
  Running send(cores[0], queue.send(2, Deadline(), 1));
  cores.run();
  EXPECT_EQ(queue.try_recv(0), 1);
  cores.run();
  EXPECT_TRUE(send.done());
  EXPECT_EQ(queue.try_recv(1), 2);
}

TEST_F(MpscTest, DepthIsScrapedWhileItLives) {
  {
    Mpsc<int> queue(service.topology, kWork, 4);
    EXPECT_EQ(service.level(metrics::kQueueDepth, "work"), 0);
    EXPECT_TRUE(queue.try_send(1));
    EXPECT_TRUE(queue.try_send(2));
    EXPECT_EQ(service.level(metrics::kQueueDepth, "work"), 2);
    EXPECT_TRUE(queue.try_recv().has_value());
    EXPECT_EQ(service.level(metrics::kQueueDepth, "work"), 1);
  }
  EXPECT_EQ(service.level(metrics::kQueueDepth, "work"), -1);
}

// Against a plain deque: order, exactly-once delivery, the bound and the counters.
TEST_F(MpscTest, BehavesLikeABoundedDeque) {
  EXPECT_TRUE(rc::check([](const std::vector<int>& actions, bool drop_oldest) {
    TestService fresh;
    const ChannelDecl& decl = drop_oldest ? kTicks : kWork;
    Mpsc<int> queue(fresh.topology, decl, 3);
    std::deque<int> model;
    std::uint64_t dropped = 0;
    for (const int action : actions) {
      if (action % 3 == 0) {
        const auto item = queue.try_recv();
        RC_ASSERT(item.has_value() == !model.empty());
        if (item) {
          RC_ASSERT(*item == model.front());
          model.pop_front();
        }
        continue;
      }
      const bool full = model.size() == 3;
      if (full) ++dropped;
      if (full && drop_oldest) model.pop_front();
      const auto sent = queue.try_send(action);
      RC_ASSERT(sent.has_value() == (!full || drop_oldest));
      if (sent) model.push_back(action);
      RC_ASSERT(queue.depth() == model.size());
    }
    RC_ASSERT(fresh.count(metrics::kQueueDroppedTotal, decl.name) == dropped);
  }));
}

platform::Task<void> produce(Mpsc<int>* queue, int from, int count) {
  for (int i = from; i < from + count; ++i) {
    const auto sent = co_await queue->send(i, Deadline());
    if (!sent) co_return;
  }
}
platform::Task<void> consume(Mpsc<int>* queue, std::vector<int>* seen) {
  for (;;) {
    const auto item = co_await queue->recv();
    if (!item) co_return;
    seen->push_back(*item);
  }
}

// Any order of wake-ups, with one consumer aborted on the way: everything arrives once.
TEST_F(MpscTest, DeliversExactlyOnceUnderAnyOrderOfJobs) {
  constexpr int kEach = 20;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    TestCores shuffled(2, seed);
    TestService fresh;
    Mpsc<int> queue(fresh.topology, kJobs, 2);
    std::vector<int> seen;
    Running a(shuffled[0], consume(&queue, &seen));
    Running b(shuffled[1], consume(&queue, &seen));
    Running victim(shuffled[1], consume(&queue, &seen));
    Running one(shuffled[0], produce(&queue, 0, kEach));
    Running two(shuffled[1], produce(&queue, kEach, kEach));
    for (std::uint64_t i = 0; i < seed % 40; ++i) shuffled[i % 2].run_one();
    victim.abort();
    shuffled.run();
    ASSERT_TRUE(one.done() && two.done()) << "seed " << seed;
    queue.close();
    shuffled.run();
    ASSERT_TRUE(a.done() && b.done()) << "seed " << seed;
    std::ranges::sort(seen);
    ASSERT_EQ(seen.size(), 2U * kEach) << "seed " << seed;
    for (int i = 0; i < 2 * kEach; ++i) ASSERT_EQ(seen[static_cast<std::size_t>(i)], i);
  }
}

constexpr std::size_t kItemsPerTurn =
    platform::Executor::kTurnBytes / platform::Executor::kItemBytes;

platform::Task<void> note_size(const std::vector<int>* seen, std::size_t* size) {
  *size = seen->size();
  co_return;
}

// A full queue keeps its receiver busy for long; what else is ready on the core does not wait for
// that.
TEST_F(MpscTest, AReceiverThatAlwaysFindsAnItemGivesWayAfterABoundedNumber) {
  Mpsc<int> queue(service.topology, kWork, 1000);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(queue.try_send(i));
  std::vector<int> seen;
  std::size_t seen_before_other = 0;
  Running busy(cores[0], consume(&queue, &seen));
  Running other(cores[0], note_size(&seen, &seen_before_other));
  cores.run();
  EXPECT_TRUE(other.done());
  EXPECT_LE(seen_before_other, kItemsPerTurn);
  EXPECT_EQ(seen.size(), 1000U);
}

platform::Task<void> take_large(Mpsc<int>* queue, std::size_t* taken) {
  for (;;) {
    const auto item = co_await queue->recv();
    if (!item) co_return;
    ++*taken;
    platform::Executor::current()->spend(platform::Executor::kTurnBytes);
  }
}

TEST_F(MpscTest, WorkThatTakesAWholeTurnIsFollowedByOthers) {
  Mpsc<int> queue(service.topology, kWork, 10);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(queue.try_send(i));
  std::size_t taken = 0;
  Running busy(cores[0], take_large(&queue, &taken));
  cores[0].run_one();
  EXPECT_EQ(taken, 1U);
  cores.run();
  EXPECT_EQ(taken, 10U);
}

// Whoever is aborted while it gives way has taken nothing.
TEST_F(MpscTest, AnItemIsNotLostWithAReceiverThatGivesWay) {
  Mpsc<int> queue(service.topology, kWork, 100);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(queue.try_send(i));
  std::vector<int> seen;
  {
    Running aborted(cores[0], consume(&queue, &seen));
    cores[0].run_one();
  }
  EXPECT_EQ(seen.size(), kItemsPerTurn);
  Running rest(cores[0], consume(&queue, &seen));
  cores.run();
  EXPECT_EQ(seen.size(), 100U);
}

}  // namespace
}  // namespace ron::runtime
