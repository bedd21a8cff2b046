#include "services/gateway/drr.h"

#include <array>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace ron::gateway {
namespace {

struct Job {
  int flow;
  Cost cost;
};
using Round = DeficitRoundRobin<int, Job>;

void add(Round& round, int flow, Cost cost, std::uint32_t quantum = 1) {
  round.enqueue(flow, quantum, cost, {flow, cost});
}

// Keeps every flow's line filled and serves until `total` was served; what each flow got.
std::map<int, Cost> serve(Round& round, const std::map<int, std::pair<Cost, std::uint32_t>>& flows,
                          Cost total) {
  std::map<int, Cost> served;
  Cost sum = 0;
  while (sum < total) {
    for (const auto& [flow, how] : flows) {
      while (round.waiting(flow) < 2) add(round, flow, how.first, how.second);
    }
    const auto job = round.next();
    served[job->flow] += job->cost;
    sum += job->cost;
  }
  return served;
}

TEST(DeficitRoundRobin, NobodyWaitsNobodyIsServed) {
  Round round(2);
  EXPECT_TRUE(round.empty());
  EXPECT_FALSE(round.next());
  add(round, 1, 1);
  add(round, 1, 1);
  EXPECT_TRUE(round.full());
}

TEST(DeficitRoundRobin, AFlowIsServedInItsOrder) {
  Round round(8);
  for (Cost cost : {5, 500, 50}) add(round, 1, cost);
  for (Cost cost : {5, 500, 50}) EXPECT_EQ(round.next()->cost, cost);
  EXPECT_FALSE(round.next());
}

TEST(DeficitRoundRobin, ManyRequestsDoNotGetMoreThanFew) {
  Round round(600);
  for (int i = 0; i < 500; ++i) add(round, 1, Round::kQuantumCost);
  add(round, 2, Round::kQuantumCost);
  round.next();
  EXPECT_EQ(round.next()->flow, 2);
}

TEST(DeficitRoundRobin, LargeRequestsDoNotGetMoreThanSmall) {
  Round round(64);
  const auto served = serve(round, {{1, {1, 1}}, {2, {4096, 1}}}, 1'000'000);
  EXPECT_NEAR(static_cast<double>(served.at(1)) / static_cast<double>(served.at(2)), 1.0, 0.02);
}

TEST(DeficitRoundRobin, QuantaAreShares) {
  Round round(64);
  const auto served = serve(round, {{1, {100, 3}}, {2, {70, 1}}}, 1'000'000);
  EXPECT_NEAR(static_cast<double>(served.at(1)) / static_cast<double>(served.at(2)), 3.0, 0.05);
}

TEST(DeficitRoundRobin, WhatWasUnderestimatedIsMadeUpFor) {
  Round round(64);
  std::map<int, Cost> real;
  for (int turn = 0; turn < 20'000; ++turn) {
    for (int flow : {1, 2}) {
      while (round.waiting(flow) < 2) add(round, flow, 10);
    }
    const int flow = round.next()->flow;
    const Cost cost = flow == 1 ? 10 : 200;  // the second one always costs more than it says
    round.charge(flow, cost - 10);
    real[flow] += cost;
  }
  EXPECT_NEAR(static_cast<double>(real.at(1)) / static_cast<double>(real.at(2)), 1.0, 0.05);
}

TEST(DeficitRoundRobin, NothingIsSavedUpWhileNothingWaits) {
  Round round(64);
  serve(round, {{2, {64, 1}}}, 100'000);  // flow 1 is away for long
  for (int i = 0; i < 8; ++i) add(round, 1, 64);
  while (round.waiting(2) < 8) add(round, 2, 64);
  int first_four = 0;
  for (int i = 0; i < 4; ++i) first_four += round.next()->flow == 1 ? 1 : 0;
  EXPECT_EQ(first_four, 2);
}

TEST(DeficitRoundRobin, ADebtIsPaidOffByTheRoundsThatPass) {
  Round round(64);
  add(round, 1, 1);
  round.next();
  round.charge(1, 10 * Round::kQuantumCost);
  EXPECT_EQ(round.deficit(1), 1 - 1 - 10 * Round::kQuantumCost);
  serve(round, {{2, {64, 1}}}, 20 * Round::kQuantumCost);
  while (round.waiting(2) > 0) round.next();
  add(round, 1, 1);
  EXPECT_GE(round.deficit(1), 0);
}

TEST(DeficitRoundRobin, AHugeItemOfAPoorFlowTakesNoHugeLoop) {
  Round round(64);
  for (int flow = 0; flow < 32; ++flow) add(round, flow, Round::kMostCost);
  for (int i = 0; i < 32; ++i) EXPECT_TRUE(round.next());
  EXPECT_FALSE(round.next());
}

TEST(DeficitRoundRobin, ForgettingAFlowForgetsItsDebt) {
  Round round(4);
  add(round, 1, 1);
  round.charge(1, 5);
  const auto everyone = [](int) { return true; };
  round.forget_idle(everyone);  // it waits: kept
  EXPECT_EQ(round.waiting(1), 1U);
  round.next();
  round.charge(1, 500);
  round.forget_idle(everyone);
  EXPECT_EQ(round.deficit(1), 0);
}

TEST(DeficitRoundRobin, WhatIsUnwantedLeavesItsLine) {
  Round round(16);
  for (Cost cost : {1, 2, 3, 4}) add(round, 1, cost);
  add(round, 2, 1);
  add(round, 3, 3);
  round.remove_if([](const Job& job) { return job.cost % 2 == 1; });
  EXPECT_EQ(round.size(), 2U);
  add(round, 1, 5);
  for (Cost cost : {2, 4, 5}) EXPECT_EQ(round.next()->cost, cost);
  EXPECT_FALSE(round.next());
  for (int i = 0; i < 16; ++i) add(round, 1, 1);  // every place can be used again
  EXPECT_TRUE(round.full());
}

TEST(DeficitRoundRobin, TheLongestLinesAreShortenedFromTheirEnds) {
  Round round(32);
  for (Cost cost = 1; cost <= 16; ++cost) add(round, 1, cost);
  for (Cost cost = 1; cost <= 8; ++cost) add(round, 2, cost);
  add(round, 3, 1);
  std::map<int, std::vector<Cost>> cut;
  round.shorten(12, [&](const Job& job) { cut[job.flow].push_back(job.cost); });
  EXPECT_EQ(round.waiting(1), 5U);
  EXPECT_EQ(round.waiting(2), 5U);
  EXPECT_EQ(round.waiting(3), 1U);
  EXPECT_EQ(cut[1].size(), 11U);
  EXPECT_EQ(cut[2], (std::vector<Cost>{6, 7, 8}));
  std::map<int, std::vector<Cost>> left;
  while (const auto job = round.next()) left[job->flow].push_back(job->cost);
  EXPECT_EQ(left[1], (std::vector<Cost>{1, 2, 3, 4, 5}));
}

TEST(DeficitRoundRobin, NobodysLineIsShortenedToNothing) {
  Round round(8);
  for (int flow = 0; flow < 8; ++flow) add(round, flow, 1);
  round.shorten(4, [](const Job&) {});
  EXPECT_EQ(round.size(), 8U);
}

TEST(DeficitRoundRobin, FlowsThatComeAndGoAreForgottenInTime) {
  Round round(8);
  for (int flow = 0; flow < 1000; ++flow) {
    add(round, flow, 1);
    round.next();
    if (flow % 2 == 0) round.charge(flow, 100);
    ASSERT_LE(round.known(), 16U);
  }
}

// Over any stretch in which both wait, two flows differ from their shares by no more than a
// constant.
RC_GTEST_PROP(DeficitRoundRobin, NobodyGetsAheadByMoreThanAConstant, ()) {
  const auto quanta = *rc::gen::container<std::vector<std::uint32_t>>(
      *rc::gen::inRange<std::size_t>(2, 6), rc::gen::inRange<std::uint32_t>(1, 5));
  const Cost most = *rc::gen::element<Cost>(1, 64, 1000, 5000);
  Round round(64);
  std::vector<Cost> served(quanta.size(), 0);
  const auto seeds =
      *rc::gen::container<std::vector<std::uint32_t>>(400, rc::gen::arbitrary<std::uint32_t>());
  std::size_t draw = 0;
  const auto cost = [&] { return 1 + static_cast<Cost>(seeds[draw++ % seeds.size()]) % most; };
  for (int turn = 0; turn < 2000; ++turn) {
    for (std::size_t flow = 0; flow < quanta.size(); ++flow) {
      while (round.waiting(static_cast<int>(flow)) < 2) {
        add(round, static_cast<int>(flow), cost(), quanta[flow]);
      }
    }
    const auto job = round.next();
    RC_ASSERT(job.has_value());
    served[static_cast<std::size_t>(job->flow)] += job->cost;
    for (std::size_t a = 0; a < quanta.size(); ++a) {
      for (std::size_t b = 0; b < quanta.size(); ++b) {
        const double ahead =
            static_cast<double>(served[a]) / quanta[a] - static_cast<double>(served[b]) / quanta[b];
        RC_ASSERT(ahead <= static_cast<double>(2 * most + 2 * Round::kQuantumCost));
      }
    }
  }
}

// Whatever is put in comes out, once, and each flow's in its order.
RC_GTEST_PROP(DeficitRoundRobin, NothingIsLostOrServedTwice, ()) {
  Round round(256);
  std::map<int, std::vector<Cost>> in;
  std::map<int, std::vector<Cost>> out;
  for (const auto& [flow, cost, serves] :
       *rc::gen::container<std::vector<std::tuple<int, Cost, bool>>>(
           200, rc::gen::tuple(rc::gen::inRange(0, 6), rc::gen::inRange<Cost>(1, 3000),
                               rc::gen::arbitrary<bool>()))) {
    add(round, flow, cost);
    in[flow].push_back(cost);
    if (!serves) continue;
    const auto job = round.next();
    out[job->flow].push_back(job->cost);
    round.charge(job->flow, static_cast<Cost>(job->cost % 7) * 100 - 200);
  }
  while (const auto job = round.next()) out[job->flow].push_back(job->cost);
  RC_ASSERT(in == out);
  RC_ASSERT(round.empty());
}

}  // namespace
}  // namespace ron::gateway
