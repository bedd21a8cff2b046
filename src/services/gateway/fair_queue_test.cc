#include "services/gateway/fair_queue.h"

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/metric_names.h"
#include "runtime/test_executor.h"
#include "services/gateway/wires.h"

namespace ron::gateway {
namespace {

using namespace std::chrono_literals;
using base::Code;
using platform::Task;
using runtime::Running;

using Taken = base::Result<Turn>;

// A turn ends on a core.
struct OnCore {
  runtime::TestCore* core = nullptr;
  void operator()(Running<Taken>* running) const {
    core->enter([running] { delete running; });
  }
};
using Asked = std::unique_ptr<Running<Taken>, OnCore>;

struct FairQueueTest : testing::Test {
  explicit FairQueueTest(FairQueueSettings settings = {4, 4, 2, 1})
      : queue_(std::in_place, topology, tenants, settings) {}
  ~FairQueueTest() override {
    workers.clear();
    scheduler.reset();
    cores[0].enter([this] { queue_.reset(); });
  }

  void start() {
    scheduler.emplace(cores[0], queue.schedule(stop));
    workers.push_back(std::make_unique<Running<void>>(cores[0], queue.work(stop)));
    cores.run();
  }
  TenantPtr use(std::string_view name) { return tenants.use(name, cores[0].now()); }
  Asked ask(std::string_view name, base::Duration patience = 10s, std::size_t lane = 0) {
    TurnRequest request{.tenant = use(name),
                        .lane = lane,
                        .cost = DeficitRoundRobin<TenantPtr, int>::kQuantumCost,
                        .deadline = cores[0].in(patience)};
    Asked running(new Running<Taken>(cores[0], queue.take(std::move(request))), {&cores[0]});
    cores.run();
    return running;
  }
  // Ends a turn as whoever had it would.
  void end(Asked& turn) {
    turn.reset();
    cores.run();
  }
  std::int64_t depth(std::string_view channel) {
    for (const runtime::FamilyReading& family : meters.collect()) {
      if (family.decl != &runtime::metrics::kQueueDepth) continue;
      for (const auto& series : family.series) {
        if (series.labels[0] == channel) return series.level;
      }
    }
    return -1;
  }

  runtime::TestCores cores;
  runtime::Meters meters{"svc-gateway"};
  runtime::Topology topology{kWires, meters};
  TenantTable tenants{{.default_quantum = 1, .quanta = {}, .rps = 1'000'000}};
  std::optional<FairQueue> queue_;
  FairQueue& queue = *queue_;
  runtime::Shutdown stop;
  std::optional<Running<void>> scheduler;
  std::vector<std::unique_ptr<Running<void>>> workers;
};

TEST_F(FairQueueTest, OneTenantAloneNeverWaits) {
  std::vector<Asked> turns;
  for (int i = 0; i < 100; ++i) {
    turns.push_back(ask("alone"));
    ASSERT_TRUE(turns.back()->done());
  }
  EXPECT_EQ(use("alone")->in_flight.load(), 100U);
  for (auto& turn : turns) end(turn);
  EXPECT_EQ(use("alone")->in_flight.load(), 0U);
}

TEST_F(FairQueueTest, AFreeSlotIsHadAtOnce) {
  start();
  use("other");
  auto turn = ask("one");
  EXPECT_TRUE(turn->done());
  EXPECT_EQ(queue.waiting(), 0U);
}

TEST_F(FairQueueTest, ATakenSlotIsWaitedForAndHandedOn) {
  start();
  use("other");
  auto first = ask("one");
  auto second = ask("one");
  auto third = ask("other");
  EXPECT_FALSE(second->done());
  EXPECT_EQ(queue.waiting(), 2U);
  end(first);
  EXPECT_TRUE(second->done() != third->done());
  end(second);
  EXPECT_TRUE(third->done());
  EXPECT_EQ(queue.waiting(), 0U);
}

TEST_F(FairQueueTest, AnotherUpstreamIsNotHeldUp) {
  start();
  use("other");
  auto first = ask("one");
  auto second = ask("one");
  EXPECT_FALSE(second->done());
  auto elsewhere = ask("one", 10s, 1);
  EXPECT_TRUE(elsewhere->done());
}

TEST_F(FairQueueTest, AGreedyTenantDoesNotKeepAPoliteOneWaiting) {
  start();
  use("polite");
  auto held = ask("greedy");
  std::vector<Asked> greedy;
  for (int i = 0; i < 6; ++i) greedy.push_back(ask("greedy"));
  auto polite = ask("polite");
  end(held);
  for (auto& turn : greedy) {
    if (polite->done()) break;
    if (turn->done()) end(turn);
  }
  EXPECT_TRUE(polite->done());
  int served = 0;
  for (const auto& turn : greedy) served += turn == nullptr ? 1 : 0;
  EXPECT_LE(served, 2);
}

TEST_F(FairQueueTest, AFullQueueRefusesWithAReceipt) {
  use("other");
  auto held = ask("greedy");  // nobody schedules: `work` fills
  std::vector<Asked> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(ask("greedy"));
  EXPECT_EQ(depth("work"), 4);
  auto refused = ask("greedy");
  ASSERT_TRUE(refused->done());
  const base::Error error = refused->value().error();
  EXPECT_EQ(error.code, Code::Busy);
  std::map<std::string, std::string> details(error.details.begin(), error.details.end());
  EXPECT_EQ(details.at("tenant"), "greedy");
  EXPECT_EQ(details.at("quantum"), "1");
  EXPECT_EQ(details.at("queue_depth"), "5");
  EXPECT_TRUE(details.contains("share"));
  EXPECT_TRUE(details.contains("retry_after"));
}

TEST_F(FairQueueTest, WhoeverWaitsTooLongIsToldAndPassedOver) {
  start();
  use("other");
  auto held = ask("one");
  auto impatient = ask("one", 1s);
  auto patient = ask("one", 10s);
  cores.advance(1s);
  ASSERT_TRUE(impatient->done());
  EXPECT_EQ(impatient->value().error().code, Code::Timeout);
  end(held);
  EXPECT_TRUE(patient->done());
}

TEST_F(FairQueueTest, AClientThatLeavesLeavesItsPlace) {
  start();
  use("other");
  auto held = ask("one");
  auto leaving = ask("one");
  auto staying = ask("one");
  end(leaving);
  EXPECT_EQ(queue.waiting(), 1U);
  end(held);
  EXPECT_TRUE(staying->done());
}

TEST_F(FairQueueTest, WhatWasGrantedToSomebodyWhoJustLeftIsHandedOn) {
  use("other");
  auto held = ask("one");
  auto leaving = ask("one");
  auto staying = ask("other");
  scheduler.emplace(cores[0], queue.schedule(stop));
  cores.run();
  end(held);  // granted, and no worker to deliver it
  end(leaving);
  workers.push_back(std::make_unique<Running<void>>(cores[0], queue.work(stop)));
  cores.run();
  EXPECT_TRUE(staying->done());
}

TEST_F(FairQueueTest, AWorkerThatDiesLosesNoSlot) {
  start();
  use("other");
  auto held = ask("one");
  auto next = ask("one");
  workers.clear();
  end(held);
  EXPECT_FALSE(next->done());
  workers.push_back(std::make_unique<Running<void>>(cores[0], queue.work(stop)));
  cores.run();
  EXPECT_TRUE(next->done());
}

TEST_F(FairQueueTest, APauseOfAPoliteTenantDoesNotUnleashAGreedyOne) {
  start();
  auto polite = ask("polite");
  end(polite);
  auto first = ask("greedy");
  auto second = ask("greedy");
  EXPECT_FALSE(second->done());  // the polite one may be back at any moment
  end(first);
  end(second);
  cores.advance(Tenant::kActive);
  use("greedy");
  tenants.tick(cores[0].now());
  EXPECT_EQ(tenants.active(), 1U);
  first = ask("greedy");
  second = ask("greedy");
  EXPECT_TRUE(second->done());
}

TEST_F(FairQueueTest, CheapRoutesDoNotWait) {
  start();
  use("other");
  auto held = ask("one");
  TurnRequest request{.tenant = use("one"), .is_inline = true};
  const Asked cheap(new Running<Taken>(cores[0], queue.take(std::move(request))), {&cores[0]});
  cores.run();
  EXPECT_TRUE(cheap->done());
}

struct SmallSched : FairQueueTest {
  SmallSched() : FairQueueTest({8, 1, 1, 4}) {}
};

TEST_F(SmallSched, WhoeverIsDroppedIsToldAndCounted) {
  use("other");
  std::vector<Asked> held;
  for (int i = 0; i < 4; ++i) held.push_back(ask("one"));
  auto older = ask("one");
  auto newer = ask("one");
  scheduler.emplace(cores[0], queue.schedule(stop));  // and no worker
  cores.run();
  end(held[0]);
  end(held[1]);
  ASSERT_TRUE(older->done());
  EXPECT_EQ(older->value().error().code, Code::Degraded);
  EXPECT_FALSE(newer->done());
  EXPECT_EQ(meters.counter(runtime::metrics::kQueueDroppedTotal, {"sched"}).value(), 1U);
}

// Turns cost what they come to, not what they were thought to: bytes and time decide the shares.
struct Shares : FairQueueTest {
  static constexpr std::size_t kClients = 4;

  Shares() : FairQueueTest({64, 64, 1, 1}) {}

  // kClients of each tenant ask again and again, until `turns` turns were had; what each got.
  std::map<std::string, std::uint64_t> run(const std::map<std::string, std::uint64_t>& bytes,
                                           int turns) {
    std::map<std::string, std::uint64_t> served;
    std::map<std::string, std::deque<Asked>> asking;
    start();
    for (const auto& [name, size] : bytes) use(name);
    for (const auto& [name, size] : bytes) {
      while (asking[name].size() < kClients) asking[name].push_back(ask(name, 1h));
    }
    for (int done = 0; done < turns;) {
      for (auto& [name, line] : asking) {
        for (Asked& turn : line) {
          if (!turn->done()) continue;
          cores[0].enter([&] { turn->value()->add_bytes(bytes.at(name)); });
          served[name] += bytes.at(name);
          ++done;
          // Whoever is done asks again before anybody else is served.
          Asked ended = std::move(turn);
          turn = ask(name, 1h);
          end(ended);
        }
      }
    }
    return served;
  }
};

TEST_F(Shares, EqualQuantaGiveEqualBytesWhateverTheSizes) {
  const auto served = run({{"a", 4096}, {"b", 65536}, {"c", 1048576}}, 8000);
  std::vector<double> shares;
  for (const auto& [name, bytes] : served) shares.push_back(static_cast<double>(bytes));
  EXPECT_GE(jain_index(shares), 0.98);
}

TEST_F(Shares, QuantaOfThreeToOneGiveThreeToOne) {
  tenants.apply({.default_quantum = 1, .quanta = {{"a", 3}}, .rps = 1'000'000}, cores[0].now());
  auto served = run({{"a", 65536}, {"b", 65536}}, 4000);
  EXPECT_NEAR(static_cast<double>(served["a"]) / static_cast<double>(served["b"]), 3.0, 0.15);
}

}  // namespace
}  // namespace ron::gateway
