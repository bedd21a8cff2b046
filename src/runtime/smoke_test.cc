#include <gtest/gtest.h>

#include <thread>

#include "platform/posix/loop.h"
#include "platform/posix/random.h"
#include "runtime/broadcast.h"
#include "runtime/mpsc.h"
#include "runtime/permit.h"
#include "runtime/supervisor.h"
#include "runtime/watch.h"

namespace ron::runtime {
namespace {
constexpr ChannelDecl kWork{"work", ChannelKind::Mpsc, 4, Overflow::RejectNew, "listener", "workers", "", ""};
constexpr ChannelDecl kChannels[] = {kWork};
constexpr TaskDecl kTasks[] = {{"worker", "2", Importance::Critical, "x"}};
constexpr Wires kWires{"svc-test", kTasks, kChannels, {}};

platform::Task<void> worker(Mpsc<int>* queue, int* sum, Shutdown stop) {
  for (;;) {
    auto item = co_await queue->recv_or_stop(stop);
    if (!item) co_return;
    if (*item == 13) throw std::runtime_error("thirteen");
    *sum += *item;
  }
}

platform::Task<void> scenario(platform::posix::Loop* loop, platform::posix::Loop* other, int* sum) {
  Meters meters("svc-test");
  Topology topology(kWires, meters);
  Mpsc<int> queue(topology, kChannels[0], 4);
  platform::posix::SystemRandom random;
  Supervisor supervisor(topology, random, {});
  supervisor.start(kTasks[0], *other, [&](Shutdown stop) { return worker(&queue, sum, std::move(stop)); });
  for (int i = 1; i <= 100; ++i) {
    auto sent = co_await queue.send(i, Deadline::in(std::chrono::seconds(5)));
    EXPECT_TRUE(sent);
  }
  co_await sleep_for(std::chrono::milliseconds(300));
  const std::size_t aborted = co_await supervisor.stop(StopReason::Signal, std::chrono::seconds(1));
  EXPECT_EQ(aborted, 0U);
  loop->stop();
  other->stop();
}

TEST(Smoke, SupervisedWorkerOnAnotherCore) {
  platform::posix::Loop a;
  platform::posix::Loop b;
  int sum = 0;
  std::jthread other([&] { b.run(); });
  struct Boot : platform::Job {
    explicit Boot(std::function<void()> f) : Job([](Job& j) noexcept { static_cast<Boot&>(j).go(); }), go(std::move(f)) {}
    std::function<void()> go;
  };
  Meters meters("boot");
  TaskMeters task_meters(meters, "boot");
  std::optional<TaskGroup> group;
  Boot boot([&] { group.emplace(task_meters); group->spawn(scenario(&a, &b, &sum)); });
  a.post(boot);
  a.run();
  other.join();
  EXPECT_EQ(sum, 5050 - 13);
  EXPECT_EQ(group->size(), 0U);
}
}  // namespace
}  // namespace ron::runtime
