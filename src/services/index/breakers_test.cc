#include "services/index/breakers.h"

#include <array>
#include <chrono>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/metric_names.h"
#include "runtime/test_executor.h"
#include "services/index/wires.h"

namespace ron::index {
namespace {

using namespace std::chrono_literals;
using runtime::BreakerState;
using runtime::Running;

constexpr std::array kTestChannels = {kOutcomes};
constexpr std::array kTestTasks = {kBreakerJanitorTask};
constexpr runtime::Wires kTestWires{"svc-index", kTestTasks, kTestChannels, {}};

// A target as the janitor's probes see it.
struct Probed {
  bool there = true;
  base::Duration takes = 10ms;
  int asked = 0;
  int at_once = 0;
  int most_at_once = 0;
};

struct Counted {
  explicit Counted(Probed* probed) : probed_(probed) {
    ++probed->asked;
    probed->most_at_once = std::max(probed->most_at_once, ++probed->at_once);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --probed_->at_once; }

 private:
  Probed* probed_;
};

platform::Task<bool> answer_probe(Probed* probed) {
  const Counted counted(probed);
  co_await runtime::sleep_for(probed->takes);
  co_return probed->there;
}

struct BreakersTest : testing::Test {
  runtime::Meters meters{"svc-index"};
  runtime::Topology topology{kTestWires, meters};
  runtime::TestRandom random;
  runtime::TestCores cores;
  BreakerTable table{topology, {"dht-0", "dht-1"}, {}, random};
  std::array<Probed, 2> probed;
  runtime::Shutdown shutdown;
  Running<void> janitor{cores[0], run()};

  platform::Task<void> run() {
    return table.run_janitor([this](std::uint32_t target) { return answer_probe(&probed[target]); },
                             shutdown);
  }

  void outcomes(int good, int bad, std::uint32_t target = 0) {
    for (int i = 0; i < good; ++i) table.try_pass(target)->succeeded();
    for (int i = 0; i < bad; ++i) {
      if (auto pass = table.try_pass(target)) pass->failed();
    }
    cores.run();
  }
  void open() {
    outcomes(0, BreakerTable::kMinVolume);
    ASSERT_EQ(table.state(0), BreakerState::Open);
  }
  std::int64_t gauge(std::string_view state) {
    return meters.gauge(runtime::metrics::kBreakerState, {"dht-0", state}).value();
  }
  std::uint64_t refused() {
    return meters.counter(runtime::metrics::kBreakerOpenTotal, {"dht-0"}).value();
  }
};

TEST_F(BreakersTest, EverybodyMayBeAskedAtFirst) {
  EXPECT_EQ(table.state(0), BreakerState::Closed);
  EXPECT_TRUE(table.try_pass(0).has_value());
  EXPECT_EQ(gauge("closed"), 1);
  EXPECT_EQ(refused(), 0U);
}

TEST_F(BreakersTest, ItOpensAboveTheThresholdAndNotAtIt) {
  outcomes(8, 8);
  EXPECT_EQ(table.state(0), BreakerState::Closed) << "half is not more than half";
  outcomes(0, 1);
  EXPECT_EQ(table.state(0), BreakerState::Open);
  EXPECT_EQ(gauge("open"), 1);
  EXPECT_EQ(gauge("closed"), 0);
  EXPECT_EQ(table.state(1), BreakerState::Closed) << "the others are not concerned";
}

TEST_F(BreakersTest, FewFailuresSayNothing) {
  outcomes(0, BreakerTable::kMinVolume - 1);
  EXPECT_EQ(table.state(0), BreakerState::Closed);
  outcomes(0, 1);
  EXPECT_EQ(table.state(0), BreakerState::Open);
}

TEST_F(BreakersTest, FailuresOutsideTheWindowAreForgotten) {
  outcomes(0, BreakerTable::kMinVolume - 1);
  cores.advance(31s);
  outcomes(0, BreakerTable::kMinVolume - 1);
  EXPECT_EQ(table.state(0), BreakerState::Closed);
}

TEST_F(BreakersTest, NobodyIsAskedDuringTheCoolDown) {
  open();
  EXPECT_FALSE(table.try_pass(0));
  EXPECT_FALSE(table.try_pass(0));
  EXPECT_EQ(refused(), 2U);
  cores.advance(10s - 1ns);
  EXPECT_EQ(table.state(0), BreakerState::Open);
  EXPECT_EQ(probed[0].asked, 0);
  cores.advance(1ns);
  EXPECT_EQ(table.state(0), BreakerState::HalfOpen);
  EXPECT_EQ(gauge("half_open"), 1);
}

TEST_F(BreakersTest, ItClosesWhenAllItsProbesSucceed) {
  open();
  cores.advance(10s);
  EXPECT_EQ(probed[0].asked, 3);
  EXPECT_EQ(probed[0].most_at_once, 3);
  EXPECT_EQ(table.state(0), BreakerState::HalfOpen);
  cores.advance(10ms);
  EXPECT_EQ(table.state(0), BreakerState::Closed);
  EXPECT_EQ(gauge("closed"), 1);
  EXPECT_TRUE(table.try_pass(0).has_value());
}

TEST_F(BreakersTest, ItOpensAgainForAnotherCoolDownWhenAProbeFails) {
  open();
  probed[0].there = false;
  cores.advance(10s + 10ms);
  EXPECT_EQ(table.state(0), BreakerState::Open);
  EXPECT_EQ(probed[0].asked, 3);
  cores.advance(10s - 1ns);
  EXPECT_EQ(table.state(0), BreakerState::Open);
  probed[0].there = true;
  cores.advance(11ms);
  EXPECT_EQ(table.state(0), BreakerState::Closed);
}

TEST_F(BreakersTest, AtMostSoManyProbesAreOutAtOnce) {
  open();
  cores.advance(10s);  // the janitor has all three
  EXPECT_FALSE(table.try_pass(0)) << "a resolver would be the fourth";
}

TEST_F(BreakersTest, ResolversAreProbesWhereTheJanitorsAreNot) {
  open();
  cores.advance(10s);
  janitor.abort();  // and its probes with it
  std::vector<BreakerTable::Pass> passes;
  while (auto pass = table.try_pass(0)) passes.push_back(std::move(*pass));
  ASSERT_EQ(passes.size(), 3U);
  EXPECT_TRUE(passes.front().is_probe());
  passes.pop_back();
  EXPECT_TRUE(table.try_pass(0).has_value()) << "one that was dropped frees its place";
  for (BreakerTable::Pass& pass : passes) pass.succeeded();
  table.try_pass(0)->succeeded();
  const Running<void> again(cores[0], run());
  cores.run();
  EXPECT_EQ(table.state(0), BreakerState::Closed);
}

TEST_F(BreakersTest, AnOutcomeFromBeforeTheOpeningIsIgnored) {
  auto slow = table.try_pass(0);
  open();
  cores.advance(10s);
  slow->failed();
  cores.run();
  EXPECT_EQ(table.state(0), BreakerState::HalfOpen) << "a slow failure says nothing of the probes";
  cores.advance(10ms);
  EXPECT_EQ(table.state(0), BreakerState::Closed);
}

TEST_F(BreakersTest, APassThatIsDroppedSaysNothing) {
  for (std::uint32_t i = 0; i < 10 * BreakerTable::kMinVolume; ++i) (void)table.try_pass(0);
  cores.run();
  EXPECT_EQ(table.state(0), BreakerState::Closed);
  auto pass = table.try_pass(0);
  pass->succeeded();
  pass->failed();  // the first one counts
  cores.run();
  outcomes(0, BreakerTable::kMinVolume - 1);
  EXPECT_EQ(table.state(0), BreakerState::Open);
}

TEST_F(BreakersTest, OnlyTheJanitorChangesAState) {
  janitor.abort();
  for (std::uint32_t i = 0; i < 2 * BreakerTable::kMinVolume; ++i) table.try_pass(0)->failed();
  cores.run();
  EXPECT_EQ(table.state(0), BreakerState::Closed) << "nobody has read the outcomes";
  EXPECT_EQ(gauge("closed"), 1);
}

TEST_F(BreakersTest, AFullQueueDropsTheOldestOutcome) {
  for (std::uint32_t i = 0; i < kOutcomes.capacity; ++i) table.try_pass(1)->failed();
  for (std::uint32_t i = 0; i < kOutcomes.capacity; ++i) table.try_pass(0)->succeeded();
  cores.run();
  EXPECT_EQ(table.state(1), BreakerState::Closed) << "its failures were dropped";
  EXPECT_EQ(meters.counter(runtime::metrics::kQueueDroppedTotal, {"outcomes"}).value(),
            kOutcomes.capacity);
}

TEST_F(BreakersTest, AStopEndsTheJanitorAndItsProbes) {
  probed[0].takes = 1h;
  open();
  cores.advance(10s);
  EXPECT_EQ(probed[0].at_once, 3);
  shutdown.trigger(runtime::StopReason::Signal);
  cores.run();
  EXPECT_TRUE(janitor.done());
  EXPECT_EQ(probed[0].at_once, 0);
}

platform::Task<void> flood_after(base::Duration time, BreakerTable* table) {
  co_await runtime::sleep_for(time);
  for (std::uint32_t i = 0; i < kOutcomes.capacity; ++i) table->try_pass(1)->succeeded();
}

TEST_F(BreakersTest, AHalfOpenOneWhoseOutcomesWereLostIsProbedAgain) {
  open();
  cores.advance(10s);
  // Behind the probes' outcomes, and before the janitor has its turn.
  const Running<void> flood(cores[0], flood_after(probed[0].takes, &table));
  cores.advance(10ms);
  EXPECT_EQ(table.state(0), BreakerState::HalfOpen);
  cores.advance(10s);
  EXPECT_EQ(table.state(0), BreakerState::Closed);
  EXPECT_EQ(probed[0].asked, 6);
}

TEST_F(BreakersTest, ManyThreadsMayAskAndReport) {
  janitor.abort();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 1000; ++i) {
        if (auto pass = table.try_pass(0)) pass->failed();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Running<void> again(
      cores[0],
      table.run_janitor([this](std::uint32_t target) { return answer_probe(&probed[target]); },
                        shutdown));
  cores.run();
  EXPECT_EQ(table.state(0), BreakerState::Open);
}

}  // namespace
}  // namespace ron::index
