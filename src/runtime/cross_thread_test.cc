// The primitives on real loops and threads: what ThreadSanitizer is run over.
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "platform/posix/loop.h"
#include "runtime/broadcast.h"
#include "runtime/mpsc.h"
#include "runtime/pacer.h"
#include "runtime/permit.h"
#include "runtime/supervisor.h"
#include "runtime/test_executor.h"
#include "runtime/test_loop_thread.h"
#include "runtime/test_wires.h"
#include "runtime/watch.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;
using platform::Task;

struct CrossThread : testing::Test {
  TestService service;
  TaskMeters meters{service.meters, "test"};
  LoopThread a{meters};
  LoopThread b{meters};
};

Task<void> produce(Mpsc<int>* queue, int from, int count, std::atomic<int>* open) {
  for (int i = from; i < from + count; ++i) {
    const auto sent = co_await queue->send(i, Deadline());
    EXPECT_TRUE(sent.has_value());
  }
  if (open->fetch_sub(1) == 1) queue->close();
}
Task<void> consume(Mpsc<int>* queue, std::atomic<std::int64_t>* sum, std::atomic<int>* count) {
  for (;;) {
    const auto item = co_await queue->recv();
    if (!item) co_return;
    sum->fetch_add(*item);
    count->fetch_add(1);
  }
}

TEST_F(CrossThread, EveryItemArrivesOnce) {
  constexpr int kEach = 5000;
  Mpsc<int> queue(service.topology, kJobs, 4);
  std::atomic<int> open = 4;
  std::atomic<std::int64_t> sum = 0;
  std::atomic<int> count = 0;
  for (LoopThread* thread : {&a, &b}) {
    thread->spawn([&] { return consume(&queue, &sum, &count); });
    thread->spawn([&] { return consume(&queue, &sum, &count); });
  }
  int from = 0;
  for (LoopThread* thread : {&a, &b}) {
    for (int i = 0; i < 2; ++i) {
      thread->spawn([&, from] { return produce(&queue, from, kEach, &open); });
      from += kEach;
    }
  }
  a.finish();
  b.finish();
  EXPECT_EQ(count.load(), 4 * kEach);
  EXPECT_EQ(sum.load(), std::int64_t{4} * kEach * (4 * kEach - 1) / 2);
  EXPECT_EQ(queue.depth(), 0U);
}

// Receives with deadlines that pass at once, so that wake-ups and timeouts keep crossing.
Task<void> consume_impatiently(Mpsc<int>* queue, std::atomic<int>* count) {
  for (;;) {
    const auto item = co_await queue->recv(Deadline::in(0s));
    if (item) count->fetch_add(1);
    if (!item && item.error() == Waited::Closed) co_return;
  }
}

TEST_F(CrossThread, TimeoutsLoseNoItem) {
  constexpr int kEach = 2000;
  Mpsc<int> queue(service.topology, kJobs, 2);
  std::atomic<int> open = 2;
  std::atomic<int> count = 0;
  b.spawn([&] { return consume_impatiently(&queue, &count); });
  b.spawn([&] { return consume_impatiently(&queue, &count); });
  a.spawn([&] { return produce(&queue, 0, kEach, &open); });
  b.spawn([&] { return produce(&queue, 0, kEach, &open); });
  a.finish();
  b.finish();
  EXPECT_EQ(count.load(), 2 * kEach);
}

// Starts receivers and aborts them where they wait, again and again.
Task<void> abort_receivers(Mpsc<int>* queue, TaskMeters* meters, std::atomic<std::int64_t>* sum,
                           std::atomic<int>* count, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    TaskGroup group(*meters);
    group.spawn(consume(queue, sum, count));
    group.spawn(consume(queue, sum, count));
    co_await sleep_for(0s);
    group.abort_all();
  }
}

TEST_F(CrossThread, AbortedReceiversLoseNoItem) {
  constexpr int kEach = 3000;
  Mpsc<int> queue(service.topology, kJobs, 2);
  std::atomic<int> open = 1;
  std::atomic<std::int64_t> sum = 0;
  std::atomic<int> count = 0;
  a.spawn([&] { return produce(&queue, 0, kEach, &open); });
  a.spawn([&] { return consume(&queue, &sum, &count); });
  b.spawn([&] { return abort_receivers(&queue, &meters, &sum, &count, 1000); });
  a.finish();
  b.finish();
  EXPECT_EQ(count.load(), kEach);
  EXPECT_EQ(sum.load(), std::int64_t{kEach} * (kEach - 1) / 2);
}

Task<void> answer(Mpsc<OneshotSender<int>>* requests) {
  for (int next = 0;; ++next) {
    auto request = co_await requests->recv();
    if (!request) co_return;
    std::move(*request).send(next);
  }
}
Task<void> ask(Mpsc<OneshotSender<int>>* requests, int times, std::atomic<std::int64_t>* sum) {
  for (int i = 0; i < times; ++i) {
    auto [sender, receiver] = oneshot<int>();
    const auto sent = co_await requests->send(std::move(sender), Deadline());
    EXPECT_TRUE(sent.has_value());
    const auto reply = co_await receiver.recv({});
    EXPECT_TRUE(reply.has_value());
    if (reply) sum->fetch_add(*reply);
  }
  requests->close();
}

TEST_F(CrossThread, RepliesComeBackToTheirCore) {
  constexpr int kTimes = 2000;
  Mpsc<OneshotSender<int>> requests(service.topology, kJobs, 2);
  std::atomic<std::int64_t> sum = 0;
  a.spawn([&] { return ask(&requests, kTimes, &sum); });
  b.spawn([&] { return answer(&requests); });
  a.finish();
  b.finish();
  EXPECT_EQ(sum.load(), std::int64_t{kTimes} * (kTimes - 1) / 2);
}

Task<void> publish(Broadcast<int>* events, Watch<int>* config, int count) {
  for (int i = 1; i <= count; ++i) {
    events->send(i);
    config->set(i);
    if (i % 64 == 0) co_await sleep_for(0s);
  }
  events->close();
  config->close();
}
Task<void> listen(Broadcast<int>::Subscription subscription, std::atomic<std::int64_t>* got) {
  for (;;) {
    const auto received = co_await subscription.recv();
    if (!received) co_return;
    const auto* lagged = std::get_if<Lagged>(&*received);
    got->fetch_add(lagged != nullptr ? static_cast<std::int64_t>(lagged->missed) : 1);
  }
}
Task<void> follow(Watch<int>::Receiver receiver, Shutdown stop, std::atomic<int>* last) {
  for (;;) {
    const Waited waited = co_await receiver.changed({}, stop);
    if (waited != Waited::Ready) co_return;
    const int value = receiver.see();
    EXPECT_GT(value, last->exchange(value));
  }
}

TEST_F(CrossThread, ListenersAccountForEveryEventAndTheLatestValue) {
  constexpr int kCount = 5000;
  Broadcast<int> events(service.topology, kEvents, 8);
  Watch<int> config(service.topology, kConfig, 0);
  std::atomic<std::int64_t> got = 0;
  std::atomic<int> last = 0;
  const Shutdown stop;
  b.spawn([&, subscription = events.subscribe()] { return listen(subscription, &got); });
  b.spawn([&, receiver = config.subscribe()] { return follow(receiver, stop, &last); });
  a.spawn([&] { return publish(&events, &config, kCount); });
  a.finish();
  b.finish();
  EXPECT_EQ(got.load(), kCount);
  EXPECT_EQ(last.load(), kCount);
}

Task<void> enter_often(Semaphore* semaphore, std::atomic<int>* inside, int times) {
  for (int i = 0; i < times; ++i) {
    const Semaphore::Permit permit = co_await semaphore->acquire({});
    EXPECT_EQ(inside->fetch_add(1), 0);
    inside->fetch_sub(1);
  }
}

TEST_F(CrossThread, SemaphoreExcludes) {
  Semaphore semaphore(1);
  std::atomic<int> inside = 0;
  for (LoopThread* thread : {&a, &b}) {
    thread->spawn([&] { return enter_often(&semaphore, &inside, 3000); });
    thread->spawn([&] { return enter_often(&semaphore, &inside, 3000); });
  }
  a.finish();
  b.finish();
  EXPECT_EQ(semaphore.free(), 1U);
}

Task<void> move_bytes(Pacer* pacer, int times, std::atomic<int>* granted) {
  for (int i = 0; i < times; ++i) {
    const auto result = co_await pacer->acquire(1000, Deadline());
    if (result) granted->fetch_add(1);
  }
}

TEST_F(CrossThread, PacerServesEveryone) {
  Pacer pacer(base::Rate{50'000'000}, base::Size{10'000},
              service.meters.histogram(metrics::kRepairWaitSeconds));
  std::atomic<int> granted = 0;
  for (LoopThread* thread : {&a, &b}) {
    thread->spawn([&] { return move_bytes(&pacer, 200, &granted); });
    thread->spawn([&] { return move_bytes(&pacer, 200, &granted); });
  }
  a.finish();
  b.finish();
  EXPECT_EQ(granted.load(), 800);
}

constexpr int kLastItem = 550;
// A worker that fails on every hundredth item, which is lost with it, and tells when it had the
// last.
Task<void> fragile_worker(Mpsc<int>* queue, std::atomic<std::int64_t>* sum, Shutdown drained,
                          Shutdown shutdown) {
  for (;;) {
    const auto item = co_await queue->recv_or_stop(shutdown);
    if (!item) co_return;
    if (*item % 100 == 0) throw std::runtime_error("hundred");
    sum->fetch_add(*item);
    if (*item == kLastItem) drained.trigger(StopReason::ParentStopped);
  }
}
Task<void> supervise(TestService* service, platform::Executor* other,
                     std::atomic<std::int64_t>* sum) {
  TestRandom random;
  const Shutdown drained;
  Mpsc<int> queue(service->topology, kJobs, 4);
  Supervisor supervisor(service->topology, random, {});
  supervisor.start(
      kTestTasks[1], *other,
      [&](Shutdown shutdown) { return fragile_worker(&queue, sum, drained, std::move(shutdown)); },
      {.backoff = {100us, 1ms}, .budget = 10, .window = 1h});
  supervisor.start(kTestTasks[2], *other,
                   [](Shutdown) { return sleep_until(Deadline()); });  // has to be aborted
  for (int i = 1; i <= kLastItem; ++i) {
    const auto sent = co_await queue.send(i, Deadline());
    EXPECT_TRUE(sent.has_value());
  }
  co_await wait_stop(drained);
  const std::size_t aborted = co_await supervisor.stop(StopReason::Signal, 0s);
  EXPECT_EQ(aborted, 1U);
}

TEST_F(CrossThread, SupervisorRestartsAndStopsAChildOnAnotherCore) {
  std::atomic<std::int64_t> sum = 0;
  a.spawn([&] { return supervise(&service, &b.loop(), &sum); });
  a.finish();
  b.finish();
  EXPECT_EQ(sum.load(), kLastItem * (kLastItem + 1) / 2 - (100 + 200 + 300 + 400 + 500));
  EXPECT_EQ(service.count(metrics::kTasksPanickedTotal, "worker"), 5U);
}

}  // namespace
}  // namespace ron::runtime
