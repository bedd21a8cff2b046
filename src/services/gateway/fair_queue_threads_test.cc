// The fair queue on real loops and threads: what ThreadSanitizer is run over.
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "platform/wait.h"
#include "runtime/test_loop_thread.h"
#include "services/gateway/fair_queue.h"
#include "services/gateway/wires.h"

namespace ron::gateway {
namespace {

using namespace std::chrono_literals;
using platform::Task;

struct Threads : testing::Test {
  static constexpr int kClients = 8;  // of each tenant, on each thread
  static constexpr int kRequests = 500;

  static Task<void> ask(Threads* test, std::string name) {
    for (int i = 0; i < kRequests; ++i) {
      const platform::TimePoint now = platform::Executor::current()->now();
      TurnRequest request{.tenant = test->tenants.use(TenantId::named(name), now),
                          .deadline = runtime::Deadline(now + (i % 50 == 0 ? 0s : 60s))};
      auto turn = co_await test->queue.take(std::move(request));
      ++test->answered;
      if (!turn) continue;
      if (++test->at_once > kSlots) ++test->too_many;
      co_await platform::Yield();
      --test->at_once;
    }
    if (--test->asking > 0) co_return;
    test->stop.trigger(runtime::StopReason::Signal);
  }

  static constexpr int kSlots = 3;
  runtime::Meters meters{"svc-gateway"};
  runtime::Topology topology{kWires, meters};
  runtime::TaskMeters task_meters{meters, "test"};
  TenantTable tenants{{.default_quantum = 1, .quanta = {}, .rps = 0}};
  FairQueue queue{topology, tenants, {512, 512, 1, kSlots}};
  runtime::Shutdown stop;
  std::atomic<int> asking = 0;
  std::atomic<int> answered = 0;
  std::atomic<int> at_once = 0;
  std::atomic<int> too_many = 0;
};

TEST_F(Threads, EverybodyIsAnsweredAndNoSlotIsLostOrDoubled) {
  const platform::TimePoint now{1h};
  for (const char* name : {"a", "b"}) tenants.use(TenantId::named(name), now);  // no bypass
  runtime::LoopThread one{task_meters};
  runtime::LoopThread other{task_meters};
  asking = 2 * 2 * kClients;
  one.spawn([&] { return queue.schedule(stop); });
  for (runtime::LoopThread* thread : {&one, &other}) {
    thread->spawn([&] { return queue.work(stop); });
    for (const char* name : {"a", "b"}) {
      for (int i = 0; i < kClients; ++i) thread->spawn([this, name] { return ask(this, name); });
    }
  }
  other.finish();
  one.finish();
  EXPECT_EQ(answered, 2 * 2 * kClients * kRequests);
  EXPECT_EQ(too_many, 0);
  EXPECT_EQ(queue.slots_in_use(0), 0U);
  EXPECT_EQ(queue.waiting(), 0U);
}

}  // namespace
}  // namespace ron::gateway
