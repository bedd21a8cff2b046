#include "services/kit/single_flight.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <expected>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "platform/random.h"
#include "runtime/test_executor.h"

namespace ron::kit {
namespace {

using base::Result;
using platform::Task;
using runtime::Deadline;
using runtime::Running;

constexpr runtime::LockDecl kFlights{"flights", 1, "who waits for what"};

struct SingleFlightTest : testing::Test {
  using Flights = SingleFlight<int, int>;
  using Waited = std::expected<Result<int>, runtime::Waited>;

  static Task<Waited> wait(Flights::Waiting waiting, Deadline deadline = {}) {
    co_return co_await waiting.wait(deadline);
  }

  runtime::TestCores cores;
  Flights flights{kFlights};
};

TEST_F(SingleFlightTest, OneJobAnswersAllWhoWait) {
  auto first = flights.join(7);
  auto second = flights.join(7);
  ASSERT_TRUE(first.reply);
  EXPECT_FALSE(second.reply);
  Running one(cores[0], wait(std::move(first.waiting)));
  Running other(cores[0], wait(std::move(second.waiting)));
  std::move(*first.reply).send(42);
  cores.run();
  EXPECT_EQ(*one.value().value(), 42);
  EXPECT_EQ(*other.value().value(), 42);
}

TEST_F(SingleFlightTest, EachKeyHasAFlightOfItsOwnAndOneThatEndedIsForgotten) {
  auto seven = flights.join(7);
  EXPECT_TRUE(flights.join(8).reply);
  std::move(*seven.reply).send(1);
  EXPECT_TRUE(flights.join(7).reply) << "the next one begins anew";
}

TEST_F(SingleFlightTest, TheBoundRefusesFurtherOnes) {
  auto first = flights.try_join(7, 2);
  auto second = flights.try_join(7, 2);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(flights.try_join(7, 2));
  EXPECT_TRUE(flights.try_join(8, 2)) << "of this one only";
  EXPECT_TRUE(flights.try_join(7, 3)) << "the bound is that of who comes";
}

TEST_F(SingleFlightTest, ThoseWhoLeftMakeRoom) {
  auto first = flights.try_join(7, 2);
  auto second = flights.try_join(7, 2);
  ASSERT_FALSE(flights.try_join(7, 2));
  second.reset();
  auto third = flights.try_join(7, 2);
  ASSERT_TRUE(third);
  EXPECT_FALSE(third->reply) << "it is the same flight";
  Running waiting(cores[0], wait(std::move(third->waiting)));
  std::move(*first->reply).send(42);
  cores.run();
  EXPECT_EQ(*waiting.value().value(), 42);
}

TEST_F(SingleFlightTest, WhoeverBeganItMayLeaveWithoutTheOthers) {
  std::optional<Flights::Joined> first(flights.join(7));
  auto second = flights.join(7);
  auto reply = std::move(*first->reply);
  first.reset();
  EXPECT_FALSE(reply.abandoned());
  Running waiting(cores[0], wait(std::move(second.waiting)));
  std::move(reply).send(42);
  cores.run();
  EXPECT_EQ(*waiting.value().value(), 42);
}

TEST_F(SingleFlightTest, TheLastWhoLeavesAbandonsTheJob) {
  std::optional<Flights::Joined> first(flights.join(7));
  std::optional<Flights::Joined> second(flights.join(7));
  auto reply = std::move(*first->reply);
  first.reset();
  EXPECT_FALSE(reply.abandoned());
  second.reset();
  EXPECT_TRUE(reply.abandoned());
  auto next = flights.join(7);
  EXPECT_TRUE(next.reply) << "nobody waits for the old one: the next who comes begins anew";
  std::move(reply).send(1);
  EXPECT_FALSE(flights.join(7).reply) << "the end of the old one is none of the new one's";
}

TEST_F(SingleFlightTest, AJobThatGoesWithoutAnAnswerTellsAll) {
  auto first = flights.join(7);
  auto second = flights.join(7);
  Running one(cores[0], wait(std::move(first.waiting)));
  Running other(cores[0], wait(std::move(second.waiting)));
  first.reply.reset();
  cores.run();
  EXPECT_EQ(one.value().error(), runtime::Waited::Closed);
  EXPECT_EQ(other.value().error(), runtime::Waited::Closed);
  EXPECT_TRUE(flights.join(7).reply);
}

// Threads come to a few keys, leave and answer in whatever order the machine likes. Of each key at
// most one job that somebody waits for is there at a time, and never more wait than may.
TEST(SingleFlight, ThreadsNeverHaveTwoJobsThatAnyoneWaitsFor) {
  using Flights = SingleFlight<std::uint64_t, int>;
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kKeys = 2;
  constexpr std::size_t kMost = 2;
  constexpr int kRounds = 20'000;
  Flights flights(kFlights);
  std::array<std::atomic<int>, kKeys> begun{};
  std::atomic<int> refused = 0;
  const auto come_and_go = [&](std::uint64_t seed) {
    platform::FastRandom random(seed);
    std::optional<Flights::Joined> kept;  // a place that it stays in for a round
    for (int i = 0; i < kRounds; ++i) {
      const std::uint64_t key = random.below(kKeys);
      auto joined = flights.try_join(key, kMost);
      if (!joined) {
        ++refused;
        continue;
      }
      if (!joined->reply) {
        kept = std::nullopt;
        kept.emplace(std::move(*joined));
        continue;
      }
      // While whoever began it waits, nobody else can begin another.
      EXPECT_EQ(begun[key].fetch_add(1), 0);
      if (random.below(4) == 0) std::this_thread::yield();
      begun[key].fetch_sub(1);
      if (random.below(2) == 0) std::move(*joined->reply).send(1);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(come_and_go, i + 1);
  }
  EXPECT_GT(refused.load(), 0);
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    EXPECT_TRUE(flights.join(key).reply) << "nothing is left of them";
  }
}

}  // namespace
}  // namespace ron::kit
