#include "services/index/hedge.h"

#include <chrono>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/test_executor.h"

namespace ron::index {
namespace {

using namespace std::chrono_literals;
using base::Code;
using base::Result;
using runtime::Deadline;
using runtime::Running;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr base::Duration kDeadline = 1200ms;
constexpr base::Duration kNotEver = 1h;

// What a candidate will say, and when.
struct Script {
  base::Duration after{};
  Code code = Code::NotFound;
  bool good = false;
};
constexpr Script good(base::Duration after) { return {after, {}, true}; }
constexpr Script says_no(base::Duration after) { return {after, Code::NotFound, false}; }
constexpr Script fails(base::Duration after) { return {after, Code::UpstreamFail, false}; }
constexpr Script silent() { return good(kNotEver); }

// Of one ask: how it went, as its target sees it.
struct Seen {
  base::Duration asked_after{};
  bool answered = false;
  bool aborted = false;
};

struct Aborted {
  explicit Aborted(Seen* seen) : seen_(seen) {}
  Aborted(const Aborted&) = delete;
  Aborted& operator=(const Aborted&) = delete;
  ~Aborted() { seen_->aborted = !seen_->answered; }

 private:
  Seen* seen_;
};

platform::Task<Result<std::string>> play(Script script, std::uint32_t who, Seen* seen) {
  const Aborted watch(seen);
  if (script.after > base::Duration::zero()) co_await runtime::sleep_for(script.after);
  seen->answered = true;
  if (script.good) co_return "from " + std::to_string(who);
  co_return base::fail(script.code, "as scripted by " + std::to_string(who));
}

struct HedgeTest : testing::Test {
  runtime::TestCores cores;
  std::vector<Script> scripts;
  std::vector<Seen> seen;
  HedgePolicy policy;

  platform::Task<Hedged<std::string>> search(std::vector<Script> candidates,
                                             base::Duration deadline = kDeadline) {
    scripts = std::move(candidates);
    seen.assign(scripts.size(), {});
    begun_ = cores.now();
    const auto count = static_cast<std::uint32_t>(scripts.size());
    return hedge<std::string>(
        policy, count,
        [this](std::uint32_t who) {
          seen[who].asked_after = cores.now() - begun_;
          return play(scripts[who], who, &seen[who]);
        },
        Deadline(begun_ + deadline));
  }
  // Until it is done; how long that took.
  base::Duration finish(Running<Hedged<std::string>>& run) {
    for (base::Duration passed = 0ms; passed < 10s; passed += 1ms) {
      if (run.done()) break;
      cores.advance(1ms);
    }
    EXPECT_TRUE(run.done());
    return cores.now() - begun_;
  }

 private:
  platform::TimePoint begun_{};
};

std::uint32_t winner(const Hedged<std::string>& hedged) { return hedged.answers->back().who; }

TEST_F(HedgeTest, AlphaAreAskedAtOnceAndTheFirstGoodAnswerWins) {
  Running run(cores[0], search({good(30ms), good(10ms), good(20ms), good(1ms), good(1ms)}));
  EXPECT_EQ(finish(run), 10ms);
  const Hedged<std::string>& found = run.value();
  ASSERT_TRUE(found.answers);
  EXPECT_EQ(winner(found), 1U);
  EXPECT_EQ(found.answers->back().value, "from 1");
  EXPECT_EQ(found.asked, 3U);
  EXPECT_FALSE(found.hedged);
}

TEST_F(HedgeTest, TheLosersAreAbortedWhereTheyWait) {
  Running run(cores[0], search({silent(), good(10ms), silent()}));
  cores.advance(9ms);
  EXPECT_FALSE(seen[0].aborted || seen[2].aborted);
  cores.advance(1ms);
  ASSERT_TRUE(run.done());
  EXPECT_TRUE(seen[0].aborted && seen[2].aborted);
  EXPECT_FALSE(seen[1].aborted);
  EXPECT_EQ(cores[0].timers(), 0U) << "nothing of it is left";
}

TEST_F(HedgeTest, WhenNobodyAnsweredInTimeBetaOthersAreAsked) {
  Running run(cores[0], search({silent(), silent(), silent(), good(20ms), good(40ms), silent()}));
  EXPECT_EQ(finish(run), 170ms);
  EXPECT_EQ(winner(run.value()), 3U);
  EXPECT_TRUE(run.value().hedged);
  EXPECT_EQ(run.value().asked, 5U) << "the sixth is asked by nobody";
  EXPECT_EQ(seen[3].asked_after, 150ms);
  EXPECT_EQ(seen[4].asked_after, 150ms);
  EXPECT_TRUE(seen[0].aborted && seen[1].aborted && seen[2].aborted && seen[4].aborted);
}

TEST_F(HedgeTest, AnAnswerJustBeforeTheHedgeSavesIt) {
  Running run(cores[0], search({silent(), good(149ms), silent(), good(1ms)}));
  EXPECT_EQ(finish(run), 149ms);
  EXPECT_FALSE(run.value().hedged);
  EXPECT_EQ(run.value().asked, 3U);
}

TEST_F(HedgeTest, AnAlphaThatAnswersAfterTheHedgeStillWins) {
  Running run(cores[0], search({silent(), good(160ms), silent(), good(30ms), silent()}));
  EXPECT_EQ(finish(run), 160ms);
  EXPECT_EQ(winner(run.value()), 1U);
  EXPECT_TRUE(run.value().hedged);
  EXPECT_TRUE(seen[3].aborted);
}

TEST_F(HedgeTest, AnAlphaThatFailsMidFlightLeavesTheHedgeToBeta) {
  Running run(cores[0], search({fails(60ms), silent(), silent(), good(10ms), silent()}));
  EXPECT_EQ(finish(run), 160ms);
  EXPECT_EQ(winner(run.value()), 3U);
}

TEST_F(HedgeTest, BetaAreAskedAtOnceWhenAllHaveSaidNo) {
  Running run(cores[0], search({says_no(5ms), fails(20ms), says_no(10ms), good(7ms), silent()}));
  EXPECT_EQ(finish(run), 27ms);
  EXPECT_EQ(seen[3].asked_after, 20ms);
  EXPECT_TRUE(run.value().hedged);
}

TEST_F(HedgeTest, ItIsNotFoundWhenEverybodyAskedSaidNo) {
  const Script no = says_no(5ms);
  Running run(cores[0], search({no, no, no, no, no, good(1ms)}));
  EXPECT_EQ(finish(run), 10ms);
  ASSERT_FALSE(run.value().answers);
  EXPECT_EQ(run.value().answers.error().code, Code::NotFound);
  EXPECT_EQ(run.value().asked, 5U);
}

TEST_F(HedgeTest, AFailureIsNoNo) {
  const Script failure = fails(5ms);
  Running run(cores[0], search({failure, failure, failure, failure, failure}));
  finish(run);
  EXPECT_EQ(run.value().answers.error().code, Code::UpstreamFail);
  EXPECT_EQ(run.value().answers.error().message, "as scripted by 0");
  Running some(cores[0], search({failure, failure, says_no(1ms), failure, failure}));
  finish(some);
  EXPECT_EQ(some.value().answers.error().code, Code::NotFound) << "one that knows said no";
}

TEST_F(HedgeTest, TheDeadlineIsTimeoutAndAbortsEverybody) {
  Running run(cores[0], search({silent(), fails(10ms), silent(), silent(), silent()}));
  EXPECT_EQ(finish(run), kDeadline);
  EXPECT_EQ(run.value().answers.error().code, Code::Timeout);
  EXPECT_TRUE(seen[0].aborted && seen[2].aborted && seen[3].aborted && seen[4].aborted);
  EXPECT_EQ(cores[0].timers(), 0U);
}

TEST_F(HedgeTest, ADeadlineBeforeTheHedgeAsksNobodyElse) {
  Running run(cores[0], search({silent(), silent(), silent(), good(1ms)}, 100ms));
  EXPECT_EQ(finish(run), 100ms);
  EXPECT_EQ(run.value().answers.error().code, Code::Timeout);
  EXPECT_EQ(run.value().asked, 3U);
  EXPECT_FALSE(run.value().hedged);
}

TEST_F(HedgeTest, ADeadlineThatHasPassedAsksNobody) {
  Running run(cores[0], search({good(1ms)}, 0ms));
  finish(run);
  EXPECT_EQ(run.value().answers.error().code, Code::Timeout);
  EXPECT_EQ(run.value().asked, 0U);
}

TEST_F(HedgeTest, AnAnswerAtTheDeadlineCounts) {
  Running run(cores[0], search({good(kDeadline)}));
  cores.advance(kDeadline);
  ASSERT_TRUE(run.done());
  EXPECT_TRUE(run.value().answers) << "what is there is taken before the time is looked at";
}

TEST_F(HedgeTest, WithoutBetaNobodyElseIsAsked) {
  policy.alpha = 1;
  policy.beta = 0;
  Running run(cores[0], search({silent(), good(1ms), good(1ms)}));
  EXPECT_EQ(finish(run), kDeadline);
  EXPECT_EQ(run.value().asked, 1U);
  Running none(cores[0], search({says_no(1ms), good(1ms)}));
  EXPECT_EQ(finish(none), 1ms);
  EXPECT_EQ(none.value().answers.error().code, Code::NotFound);
}

TEST_F(HedgeTest, FewerCandidatesThanAlphaAreAllThereAre) {
  Running run(cores[0], search({silent(), good(200ms)}));
  EXPECT_EQ(finish(run), 200ms);
  EXPECT_FALSE(run.value().hedged);
  Running none(cores[0], search({}));
  cores.run();
  EXPECT_EQ(none.value().answers.error().code, Code::NotFound);
}

TEST_F(HedgeTest, OneThatAnswersWithoutWaitingSavesTheRest) {
  Running run(cores[0], search({says_no(0ms), good(0ms), good(0ms)}));
  cores.run();
  ASSERT_TRUE(run.done());
  EXPECT_EQ(winner(run.value()), 1U);
  EXPECT_EQ(run.value().asked, 2U);
}

TEST_F(HedgeTest, AQuorumNeedsAsManyGoodAnswers) {
  policy.quorum = 2;
  Running run(cores[0], search({good(10ms), says_no(5ms), good(30ms), good(1ms)}));
  EXPECT_EQ(finish(run), 30ms);
  ASSERT_TRUE(run.value().answers);
  ASSERT_EQ(run.value().answers->size(), 2U);
  EXPECT_EQ(run.value().answers->front().who, 0U);
  EXPECT_EQ(winner(run.value()), 2U);
  EXPECT_FALSE(run.value().hedged);
}

TEST_F(HedgeTest, AQuorumOutOfReachIsHedgedAtOnce) {
  policy.quorum = 3;
  Running run(cores[0], search({good(20ms), says_no(5ms), good(10ms), good(1ms), silent()}));
  EXPECT_EQ(finish(run), 20ms);
  EXPECT_EQ(seen[3].asked_after, 5ms);
  EXPECT_EQ(run.value().answers->size(), 3U);
}

TEST_F(HedgeTest, AQuorumThatCannotBeMadeIsNotWaitedFor) {
  policy.quorum = 3;
  const Script no = says_no(5ms);
  Running run(cores[0], search({good(1ms), no, no, no, silent()}));
  EXPECT_EQ(finish(run), 10ms);
  EXPECT_EQ(run.value().answers.error().code, Code::NotFound);
  EXPECT_TRUE(seen[4].aborted);
}

TEST_F(HedgeTest, OneWhoWasOvertakenIsLate) {
  Running run(cores[0], search({silent(), says_no(5ms), silent(), silent(), good(10ms)}));
  finish(run);
  EXPECT_THAT(run.value().late, ElementsAre(0, 2))
      << "the other beta was asked when the winner was";
  Running quick(cores[0], search({silent(), good(10ms), silent()}));
  finish(quick);
  EXPECT_THAT(quick.value().late, IsEmpty()) << "to lose a race is no fault";
}

TEST_F(HedgeTest, OneWhoIsOutAtTheDeadlineIsLateIfItHadTheTime) {
  Running run(cores[0], search({silent(), silent(), fails(10ms), silent(), silent()}));
  finish(run);
  EXPECT_THAT(run.value().late, ElementsAre(0, 1, 3, 4));
  Running hasty(cores[0], search({silent(), silent(), silent(), silent()}, 299ms));
  finish(hasty);
  EXPECT_THAT(hasty.value().late, ElementsAre(0, 1, 2)) << "149 ms are less than 150";
}

TEST_F(HedgeTest, ItsCallerLeavingAbortsEverybody) {
  {
    Running run(cores[0], search({silent(), silent(), silent(), silent(), silent()}));
    cores.advance(200ms);
  }
  for (const Seen& one : seen) EXPECT_TRUE(one.aborted);
  EXPECT_EQ(cores[0].timers(), 0U);
}

platform::Task<Result<std::string>> breaks() {
  throw std::runtime_error("a defect");
  co_return "never";
}

TEST_F(HedgeTest, ADefectInAnAskReachesTheCaller) {
  const Ask<std::string> ask = [](std::uint32_t) { return breaks(); };
  Running run(cores[0], hedge<std::string>(policy, 1, ask, {}));
  cores.run();
  EXPECT_TRUE(run.failed());
}

}  // namespace
}  // namespace ron::index
