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

struct InCore {
  runtime::TestCore* core = nullptr;
  void operator()(Running<base::Result<>>* running) const {
    core->enter([running] { delete running; });
  }
};
using Again = std::unique_ptr<Running<base::Result<>>, InCore>;

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
  TenantPtr use(std::string_view name) {
    return tenants.use(TenantId::named(name), cores[0].now());
  }
  Asked ask(std::string_view name, base::Duration patience = 10s, std::size_t lane = 0) {
    TurnRequest request{.tenant = use(name), .lane = lane, .deadline = cores[0].in(patience)};
    Asked running(new Running<Taken>(cores[0], queue.take(std::move(request))), {&cores[0]});
    cores.run();
    return running;
  }
  // The turn outlives it.
  Again take_again(Turn& turn) {
    Again running(new Running<base::Result<>>(cores[0], queue.take_again(&turn, cores[0].in(10s))),
                  InCore{&cores[0]});
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

  std::uint64_t refusals() {
    return meters.counter(runtime::metrics::kQueueDroppedTotal, {"work"}).value();
  }
  // What every one of them came to; all must be done.
  static std::map<Code, int> codes(const std::vector<Asked>& asked) {
    std::map<Code, int> counts;
    for (const Asked& one : asked) {
      EXPECT_TRUE(one->done());
      if (one->done() && !one->value()) ++counts[one->value().error().code];
    }
    return counts;
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

TEST_F(FairQueueTest, WhoHasItsPartOfThePlacesIsRefusedWithAReceipt) {
  use("other");
  auto held = ask("greedy");  // nobody schedules: `work` fills
  std::vector<Asked> waiting;
  for (int i = 0; i < 2; ++i) waiting.push_back(ask("greedy"));  // its half of the four places
  EXPECT_EQ(depth("work"), 2);
  auto refused = ask("greedy");
  ASSERT_TRUE(refused->done());
  const base::Error error = refused->value().error();
  EXPECT_EQ(error.code, Code::Busy);
  std::map<std::string, std::string> details(error.details.begin(), error.details.end());
  EXPECT_EQ(details.at("tenant"), "greedy");
  EXPECT_EQ(details.at("quantum"), "1");
  EXPECT_EQ(details.at("queue_depth"), "3");
  EXPECT_TRUE(details.contains("share"));
  EXPECT_EQ(details.at("retry_after"), std::to_string(error.retry_after_s));
  EXPECT_EQ(refusals(), 1U);
  auto other = ask("other");
  EXPECT_FALSE(other->done());  // the others' places are theirs
}

TEST_F(FairQueueTest, TheReceiptSaysWhenWhatWaitsWillHaveBeenServed) {
  const TenantPtr one = use("one");
  for (int i = 0; i < 100; ++i) one->served(10);
  tenants.tick(cores[0].now());
  one->line(0).queued = 250;
  const base::Error error = queue.receipt(Code::Busy, "", *one);
  EXPECT_EQ(error.retry_after_s, 3U);  // 250 of 10 each, at 1000 a second
  one->line(0).queued = 0;
}

TEST_F(FairQueueTest, AnUpstreamThatHangsDoesNotUseUpTheOthersPlaces) {
  start();
  use("other");
  auto held = ask("one", 10s, 0);
  auto held_too = ask("one", 10s, 1);
  auto first = ask("one", 10s, 0);
  auto second = ask("one", 10s, 0);
  EXPECT_EQ(ask("one", 10s, 0)->value().error().code, Code::Busy);
  auto elsewhere = ask("one", 10s, 1);
  EXPECT_FALSE(elsewhere->done());
  end(held_too);
  EXPECT_TRUE(elsewhere->done());
}

// Two tenants fill their halves; then two more come, who are entitled to a quarter each.
TEST_F(FairQueueTest, LongLinesGiveWayWhenTenantsCome) {
  start();
  std::vector<Asked> early;
  for (const char* name : {"a", "b"}) use(name);
  auto held = ask("a");
  for (int i = 0; i < 2; ++i) {
    for (const char* name : {"a", "b"}) early.push_back(ask(name));
  }
  std::vector<Asked> late;
  for (const char* name : {"c", "d", "e", "f"}) late.push_back(ask(name));
  for (const Asked& one : late) EXPECT_FALSE(one->done());
  // The lines hold twice the places, for tickets whose owners left: the next one is too many.
  late.push_back(ask("g"));
  EXPECT_FALSE(late.back()->done());
  std::map<Code, int> refused;
  for (const Asked& one : early) {
    if (one->done()) ++refused[one->value().error().code];
  }
  EXPECT_EQ(refused, (std::map<Code, int>{{Code::Busy, 2}}));
  EXPECT_EQ(refusals(), 2U);
}

TEST_F(FairQueueTest, WhoLeftTakesNobodysPlace) {
  start();
  use("other");
  auto held = ask("one");
  auto patient = ask("one", 1h);
  for (int i = 0; i < 100; ++i) {
    auto leaving = ask("one");
    ASSERT_FALSE(leaving->done());
    end(leaving);
  }
  EXPECT_EQ(queue.waiting(), 1U);
  EXPECT_EQ(refusals(), 0U);
  end(held);
  EXPECT_TRUE(patient->done());
}

TEST_F(FairQueueTest, ATurnThatGaveItsSlotBackComesBackForOne) {
  start();
  use("other");
  auto dripping = ask("one");
  auto other = ask("other");
  ASSERT_FALSE(other->done());
  Turn& turn = *dripping->value();
  cores[0].enter([&] { turn.give_slot_back(); });
  cores.run();
  ASSERT_TRUE(other->done()) << "nobody waits for a client";
  auto again = take_again(turn);
  EXPECT_FALSE(again->done()) << "it waits in line, as everybody";
  EXPECT_FALSE(turn.has_slot());
  end(other);
  ASSERT_TRUE(again->done());
  EXPECT_TRUE(again->value());
  EXPECT_TRUE(turn.has_slot());
  EXPECT_EQ(queue.slots_in_use(0), 1U);
  EXPECT_EQ(use("one")->in_flight.load(), 1U) << "it is one request";
  end(dripping);
  EXPECT_EQ(queue.slots_in_use(0), 0U);
  EXPECT_EQ(use("one")->in_flight.load(), 0U);
}

TEST_F(FairQueueTest, ATurnWithTwoSlotsIsChargedOnce) {
  start();
  use("other");
  const TenantPtr one = use("one");
  auto held = ask("other");
  auto turn = ask("one");
  end(held);
  ASSERT_TRUE(turn->done());
  held = ask("other");
  cores[0].enter([&] { turn->value()->give_slot_back(); });
  cores.run();
  auto again = take_again(*turn->value());
  end(held);
  ASSERT_TRUE(again->done());
  turn->value()->add_bytes(1000 * FairQueue::kBytesPerUnit);
  end(turn);
  EXPECT_EQ(one->served_lately(), 1001) << "what it came to";
  EXPECT_EQ(one->line(0).owed.load(), 999) << "less the estimates of both times in line";
}

TEST_F(FairQueueTest, WhoLeavesWhileItWaitsForASlotAgainLeavesNothing) {
  start();
  use("other");
  auto dripping = ask("one");
  auto other = ask("other");
  cores[0].enter([&] { dripping->value()->give_slot_back(); });
  cores.run();
  auto again = take_again(*dripping->value());
  ASSERT_FALSE(again->done());
  again.reset();
  end(dripping);
  EXPECT_EQ(queue.waiting(), 0U);
  end(other);
  EXPECT_EQ(queue.slots_in_use(0), 0U);
}

TEST_F(FairQueueTest, ATurnMayEndOnAThreadThatIsNoCore) {
  start();
  use("other");
  auto first = ask("one");
  auto second = ask("one");
  Turn turn = std::move(*first->value());
  turn = Turn();
  cores.run();
  EXPECT_TRUE(second->done());
}

TEST_F(FairQueueTest, WhoWaitsWhenTheServerStopsIsToldSo) {
  start();
  use("other");
  auto held = ask("one");
  std::vector<Asked> waiting;
  waiting.push_back(ask("one"));
  waiting.push_back(ask("other"));
  stop.trigger(runtime::StopReason::Signal);
  cores.run();
  EXPECT_TRUE(scheduler->done());
  waiting.push_back(ask("one"));
  EXPECT_EQ(codes(waiting), (std::map<Code, int>{{Code::Draining, 3}}));
  end(held);
  EXPECT_EQ(queue.waiting(), 0U);
}

TEST_F(FairQueueTest, ASchedulerThatIsAbortedWhileStoppingLosesNobody) {
  start();
  use("other");
  auto held = ask("one");
  auto in_line = ask("one");
  auto granted = ask("other");
  workers.clear();  // before the scheduler, as in a stop
  end(held);
  stop.trigger(runtime::StopReason::Signal);
  scheduler.reset();
  cores.run();
  ASSERT_TRUE(in_line->done() && granted->done());
  // Who had a turn gets it, though no worker was left to hand it over.
  EXPECT_NE(in_line->value().has_value(), granted->value().has_value());
}

TEST_F(FairQueueTest, ASchedulerThatFailedGoesOnWithWhatWaits) {
  start();
  use("other");
  auto held = ask("one");
  auto next = ask("one");
  scheduler.reset();  // no stop was asked for
  auto later = ask("other");
  end(held);
  EXPECT_FALSE(next->done());
  scheduler.emplace(cores[0], queue.schedule(stop));
  cores.run();
  EXPECT_TRUE(next->done() != later->done());
}

TEST_F(FairQueueTest, MoreSlotsAreUsedAtOnce) {
  start();
  use("other");
  auto held = ask("one");
  auto next = ask("one");
  EXPECT_FALSE(next->done());
  queue.set_slots(2);
  cores.run();
  EXPECT_TRUE(next->done());
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

// Many cores, seeded order: whoever asks, leaves, times out, ends its turn and is dropped, while
// workers die and the server stops at any moment, and whoever waits for its client gives its slot
// back and asks for one again. Every ticket ends once; no slot, place or count is left over.
struct Storm {
  struct Client {
    Asked turn;
    Again again;  // a part of the turn: goes first
  };
  static constexpr std::size_t kCores = 3;
  explicit Storm(std::uint64_t seed) : cores(kCores, seed), random(seed) {
    scheduler.emplace(cores[0], queue->schedule(stop));
    for (std::size_t i = 0; i < kCores; ++i) start_worker(i);
  }
  void start_worker(std::size_t core) {
    workers[core].emplace(cores[core], queue->work(worker_stop));
  }
  void act() {
    const std::size_t core = random.below(kCores);
    const std::uint64_t what = random.below(100);
    if (what < 55) {
      const TenantId id = TenantId::named(kNames[random.below(kNames.size())]);
      TurnRequest request{.tenant = tenants.use(id, cores.now()),
                          .lane = random.below(2),
                          .deadline = cores[core].in(std::chrono::milliseconds(random.below(20)))};
      asked.push_back({Asked(new Running<Taken>(cores[core], queue->take(std::move(request))),
                             OnCore{&cores[core]}),
                       {}});
    } else if (what < 85 && !asked.empty()) {
      std::swap(asked[random.below(asked.size())], asked.back());
      asked.pop_back();  // ends its turn, or leaves
    } else if (what < 90 && !asked.empty()) {
      wait_for_client(asked[random.below(asked.size())]);
    } else if (what < 92) {
      workers[core].reset();
      start_worker(core);
    } else {
      cores.advance(std::chrono::milliseconds(random.below(3)));
    }
    if (random.below(4) == 0) cores.run();
  }
  // Gives its slot back, or asks for one again.
  void wait_for_client(Client& client) {
    const bool is_busy = !client.turn->done() || (client.again && !client.again->done());
    if (is_busy || !client.turn->value()) return;
    Turn& turn = *client.turn->value();
    runtime::TestCore& core = *client.turn.get_deleter().core;
    client.again.reset();
    if (turn.has_slot()) return core.enter([&turn] { turn.give_slot_back(); });
    client.again = Again(
        new Running<base::Result<>>(
            core, queue->take_again(&turn, core.in(std::chrono::milliseconds(random.below(20))))),
        InCore{&core});
  }
  void end() {
    worker_stop.trigger(runtime::StopReason::Signal);
    if (random.below(2) == 0) cores.run();
    stop.trigger(runtime::StopReason::Signal);
    if (random.below(2) == 0) scheduler.reset();
    cores.run();
    for (const Client& one : asked) {
      ASSERT_TRUE(one.turn->done());
      ASSERT_TRUE(!one.again || one.again->done());
      if (!one.turn->value()) continue;
      ASSERT_TRUE(*one.turn->value());
    }
    ASSERT_EQ(queue->waiting(), 0U);
    asked.clear();
    for (const TenantPtr& tenant : tenants.all()) {
      ASSERT_EQ(tenant->in_flight.load(), 0U);
      ASSERT_EQ(tenant->queued(), 0U);
    }
    for (std::size_t lane : {0U, 1U}) ASSERT_EQ(queue->slots_in_use(lane), 0U);
  }

  static constexpr std::array kNames = {"a", "b", "c"};
  runtime::TestCores cores;
  platform::FastRandom random;
  runtime::Meters meters{"svc-gateway"};
  runtime::Topology topology{kWires, meters};
  TenantTable tenants{{.default_quantum = 1, .quanta = {}, .rps = 1'000'000}};
  std::optional<FairQueue> queue{std::in_place, topology, tenants, FairQueueSettings{8, 2, 2, 3}};
  runtime::Shutdown stop;
  runtime::Shutdown worker_stop;
  std::optional<Running<void>> scheduler;
  std::array<std::optional<Running<void>>, kCores> workers;
  std::vector<Client> asked;
};

TEST(FairQueue, EveryTicketEndsOnceInAnyOrderOfEvents) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Storm storm(seed);
    for (int i = 0; i < 200; ++i) storm.act();
    storm.end();
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace ron::gateway
