// Whom a group chooses: in flight, drained, down, ejected, by its breaker.
#include "http/upstream_group.h"

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "http/upstream_test_support.h"

namespace ron::http::test {
namespace {

using runtime::BreakerState;
using testing::Each;
using testing::HasSubstr;

class UpstreamGroupTest : public UpstreamTest {
 protected:
  static UpstreamPolicy ejecting() {
    UpstreamPolicy policy = calm();
    policy.eject_after = 5;
    return policy;
  }
  static UpstreamPolicy breaking() {
    UpstreamPolicy policy = calm();
    policy.breaker = {
        .error_percent = 50, .min_volume = 4, .window = 10s, .open_for = 4s, .probes = 2};
    return policy;
  }
  static UpstreamPolicy probing() {
    UpstreamPolicy policy = calm();
    policy.probe.path = "/healthz";
    return policy;
  }
  std::vector<std::size_t> asked() {
    std::vector<std::size_t> all;
    for (const auto& one : backends_) all.push_back(one->asked);
    return all;
  }
  UpstreamState state(std::size_t member) { return status(member).state; }
  // Requests until that member is ejected.
  void eject(std::size_t member) {
    backend(member).act = answers(503);
    for (int i = 0; i < 40 && state(member) != UpstreamState::Ejected; ++i) run();
    ASSERT_EQ(state(member), UpstreamState::Ejected);
  }
};

TEST_F(UpstreamGroupTest, EqualsTakeTurns) {
  start(3);
  run_times(30);
  EXPECT_THAT(asked(), Each(10U));
  EXPECT_EQ(count("upstream_requests_total", 0, "answered"), 10);
}

TEST_F(UpstreamGroupTest, TurnsAreEvenAroundAGap) {
  start(4);
  group_->set_drained("api.1", true);
  run_times(30);
  EXPECT_THAT(asked(), testing::ElementsAre(10U, 0U, 10U, 10U));
}

TEST_F(UpstreamGroupTest, TheOneWithTheFewestInFlightIsChosen) {
  start(2);
  backend(0).act = hangs();
  std::array<GroupOutcome, 2> stuck;
  const auto one = begin({}, stuck[0]);
  const auto two = begin({}, stuck[1]);
  world_.run_for(100ms);
  ASSERT_EQ(status(0).in_flight, 1U);
  run_times(10);
  EXPECT_EQ(backend(0).asked, 1U);
  EXPECT_EQ(backend(1).asked, 11U);
}

TEST_F(UpstreamGroupTest, ManyAtOnceSpreadEvenly) {
  start(3);
  for (const auto& one : backends_) one->act.after = 50ms;
  std::array<GroupOutcome, 30> outs;
  std::vector<std::unique_ptr<Root>> running;
  for (GroupOutcome& out : outs) running.push_back(begin({}, out));
  world_.run_for(20ms);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(status(i).in_flight, 10U);
  world_.run_for(1s);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(status(i).in_flight, 0U);
  EXPECT_THAT(asked(), Each(10U));
}

TEST_F(UpstreamGroupTest, ADrainedMemberGetsNothingNewAndFinishesWhatItHas) {
  start(2);
  backend(0).act.after = backend(1).act.after = 1s;
  std::array<GroupOutcome, 2> outs;
  const auto one = begin({}, outs[0]);
  const auto two = begin({}, outs[1]);
  world_.run_for(500ms);
  EXPECT_TRUE(group_->set_drained("api.0", true));
  EXPECT_EQ(state(0), UpstreamState::Drained);
  EXPECT_EQ(status(0).in_flight, 1U);
  run_times(4);
  EXPECT_EQ(outs[0].body, "ok");
  EXPECT_EQ(outs[1].body, "ok");
  EXPECT_EQ(backend(0).asked, 1U);
  group_->set_drained("api.0", false);
  run_times(4);
  EXPECT_EQ(backend(0).asked, 3U);
  EXPECT_FALSE(group_->set_drained("api.7", true));
}

TEST_F(UpstreamGroupTest, WithAllDrainedRequestsAreRefusedAtOnce) {
  start(2);
  group_->set_all_drained(true);
  const GroupOutcome out = run();
  EXPECT_EQ(out.code(), Code::Degraded);
  EXPECT_THAT(out.error->message, HasSubstr("every upstream of api is drained"));
  EXPECT_GT(out.error->retry_after_s, 0U);
  EXPECT_EQ(out.at, 0s);
  group_->set_all_drained(false);
  EXPECT_EQ(run().status, 200);
}

TEST_F(UpstreamGroupTest, FailuresInARowEject) {
  start(2, ejecting());
  backend(0).act = closes();
  run_times(8);
  EXPECT_EQ(state(0), UpstreamState::Healthy);
  EXPECT_EQ(status(0).failures, 4U);
  run_times(2);
  EXPECT_EQ(state(0), UpstreamState::Ejected);
  EXPECT_EQ(count("upstream_ejections_total", 0), 1);
  EXPECT_EQ(count("upstream_healthy", 0), 0);
  EXPECT_EQ(count("upstream_requests_total", 0, "failed"), 5);
  run_times(10);
  EXPECT_EQ(backend(0).asked, 5U);
}

TEST_F(UpstreamGroupTest, ASuccessBetweenFailuresSavesAMember) {
  start(2, ejecting());
  for (int i = 0; i < 4; ++i) {
    backend(0).act = closes();
    run_times(8);
    EXPECT_EQ(status(0).failures, 4U);
    backend(0).act = answers(200);
    run_times(2);
    EXPECT_EQ(status(0).failures, 0U);
  }
  EXPECT_EQ(count("upstream_ejections_total", 0), 0);
}

TEST_F(UpstreamGroupTest, AnEjectedMemberReturnsByTime) {
  start(2, ejecting());
  eject(0);
  backend(0).act = answers(200);
  const base::Duration left = status(0).returns_in;
  EXPECT_GT(left, 29s);
  EXPECT_LE(left, 30s);
  world_.run_for(left - 20ms);
  run_times(4);
  EXPECT_EQ(backend(0).asked, 5U);
  world_.run_for(20ms);
  EXPECT_EQ(count("upstream_returns_total", 0), 0);
  run_times(4);
  EXPECT_EQ(backend(0).asked, 7U);
  EXPECT_EQ(count("upstream_returns_total", 0), 1);
  EXPECT_EQ(count("upstream_healthy", 0), 1);
  EXPECT_EQ(state(0), UpstreamState::Healthy);
}

TEST_F(UpstreamGroupTest, AReturnIsNotedByProbesWhenNobodyAsks) {
  start(2, ejecting());
  eject(0);
  world_.run_for(31s);
  EXPECT_EQ(count("upstream_returns_total", 0), 0);
  probe();
  EXPECT_EQ(count("upstream_returns_total", 0), 1);
  EXPECT_EQ(backend(0).asked, 5U) << "there is no path to probe";
}

TEST_F(UpstreamGroupTest, EjectionsDoubleUpToTenTimesUntilASuccess) {
  start(2, ejecting());
  const std::array<base::Duration, 6> kExpected = {30s, 60s, 120s, 240s, 300s, 300s};
  for (const base::Duration expected : kExpected) {
    eject(0);
    EXPECT_EQ(std::chrono::round<std::chrono::seconds>(status(0).returns_in), expected);
    world_.run_for(expected + 1s);
  }
  backend(0).act = answers(200);
  run_times(2);
  eject(0);
  EXPECT_EQ(std::chrono::round<std::chrono::seconds>(status(0).returns_in), 30s);
  EXPECT_EQ(status(0).ejections, 7U);
}

TEST_F(UpstreamGroupTest, AMemberThatReturnsIsNotOutAgainAtItsFirstFailure) {
  start(2, ejecting());
  eject(0);
  world_.run_for(31s);
  run_times(8);
  EXPECT_EQ(state(0), UpstreamState::Healthy);
  EXPECT_EQ(status(0).failures, 4U);
  run_times(2);
  EXPECT_EQ(state(0), UpstreamState::Ejected);
}

TEST_F(UpstreamGroupTest, ASuccessFromBeforeAnEjectionSaysNothingAboutTheReturn) {
  start(2, ejecting());
  eject(0);
  world_.run_for(31s);
  group_->set_drained("api.1", true);
  base::Result<UpstreamAttempt> early = group_->choose(now());
  eject(0);
  early->completed(now());
  EXPECT_EQ(state(0), UpstreamState::Ejected);
  world_.run_for(61s);
  eject(0);
  EXPECT_EQ(std::chrono::round<std::chrono::seconds>(status(0).returns_in), 120s);
}

TEST_F(UpstreamGroupTest, AtMostHalfAreEjected) {
  start(5, ejecting());
  for (const auto& one : backends_) one->act = answers(503);
  run_times(200);
  std::size_t ejected = 0;
  for (std::size_t i = 0; i < 5; ++i) ejected += state(i) == UpstreamState::Ejected ? 1 : 0;
  EXPECT_EQ(ejected, 2U);
  // The others are still asked: one of them may be the first to recover.
  const std::vector<std::size_t> before = asked();
  run_times(30);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(asked()[i] - before[i], state(i) == UpstreamState::Ejected ? 0U : 10U);
  }
}

TEST_F(UpstreamGroupTest, TheOnlyMemberIsNeverEjected) {
  start(1, ejecting());
  backend(0).act = answers(503);
  run_times(20);
  EXPECT_EQ(state(0), UpstreamState::Healthy);
  EXPECT_EQ(backend(0).asked, 20U);
}

TEST_F(UpstreamGroupTest, WhereOnlyEjectedOnesAreLeftTheyAreUsed) {
  start(2, ejecting());
  eject(0);
  backend(0).act = answers(200);
  group_->set_drained("api.1", true);
  EXPECT_EQ(run().status, 200);
  EXPECT_EQ(state(0), UpstreamState::Ejected);
}

TEST_F(UpstreamGroupTest, OnlySomeAnswersAreFailures) {
  struct Row {
    int status;
    bool fails;
  };
  constexpr Row kRows[] = {{200, false}, {404, false}, {429, false}, {500, false}, {501, false},
                           {502, true},  {503, true},  {504, true},  {505, false}};
  start(1, ejecting());
  for (const Row& row : kRows) {
    backend(0).script = {answers(200), answers(row.status)};
    run();
    EXPECT_EQ(run().status, row.status) << "answers are handed through";
    EXPECT_EQ(status(0).failures, row.fails ? 1U : 0U) << row.status;
  }
  EXPECT_EQ(count("upstream_requests_total", 0, "unavailable"), 3);
}

TEST_F(UpstreamGroupTest, ABreakerOpensHalfOpensAndCloses) {
  start(1, breaking());
  backend(0).act = closes();
  run_times(4);
  EXPECT_EQ(status(0).breaker, BreakerState::Open);
  const GroupOutcome refused = run();
  EXPECT_EQ(refused.code(), Code::BreakerOpen);
  EXPECT_EQ(refused.error->status(), 503);
  EXPECT_GE(refused.error->retry_after_s, 4U);
  EXPECT_THAT(refused.error->message, HasSubstr("api.0"));
  EXPECT_EQ(backend(0).asked, 4U) << "an open breaker lets nothing through";
  EXPECT_EQ(reading(meters_, "breaker_open_total", "api.0"), 1);
  world_.run_for(6s);
  run();  // half open, and still failing
  EXPECT_EQ(status(0).breaker, BreakerState::Open);
  EXPECT_EQ(run().code(), Code::BreakerOpen);
  world_.run_for(6s);
  backend(0).act = answers(200);
  EXPECT_EQ(run().status, 200);
  EXPECT_EQ(status(0).breaker, BreakerState::HalfOpen);
  EXPECT_EQ(run().status, 200);
  EXPECT_EQ(status(0).breaker, BreakerState::Closed);
}

TEST_F(UpstreamGroupTest, AnOpenBreakerSendsRequestsElsewhereAndIsNotCounted) {
  start(2, breaking());
  backend(0).act = answers(502);
  run_times(8);
  EXPECT_EQ(status(0).breaker, BreakerState::Open);
  run_times(10);
  EXPECT_EQ(backend(0).asked, 4U);
  EXPECT_EQ(reading(meters_, "breaker_open_total", "api.0"), 0);
}

// Its probes are few: an answer that is read slowly must not keep the breaker from closing.
TEST_F(UpstreamGroupTest, AnAnswerThatStaysOpenDoesNotKeepABreakerHalfOpen) {
  start(1, breaking());
  backend(0).act = closes();
  run_times(4);
  world_.run_for(6s);
  backend(0).act = stalls();
  std::array<GroupOutcome, 2> streams;
  const auto one = begin({}, streams[0]);
  const auto two = begin({}, streams[1]);
  world_.run_for(100ms);
  EXPECT_EQ(status(0).in_flight, 2U);
  EXPECT_EQ(status(0).breaker, BreakerState::Closed);
}

TEST_F(UpstreamGroupTest, ProbesBringAMemberDownAndUp) {
  start(2, probing());
  backend(0).act = answers(500);
  probe();
  EXPECT_EQ(state(0), UpstreamState::Healthy) << "one failure is an accident";
  probe();
  EXPECT_EQ(state(0), UpstreamState::Down);
  EXPECT_EQ(count("upstream_healthy", 0), 0);
  EXPECT_EQ(count("upstream_probe_failures_total", 0), 2);
  EXPECT_THAT(backend(0).request, HasSubstr("GET /healthz HTTP/1.1\r\n"));
  const std::size_t before = backend(0).asked;
  run_times(4);
  EXPECT_EQ(backend(0).asked, before);
  backend(0).act = answers(404);
  probe();
  EXPECT_EQ(state(0), UpstreamState::Down);
  probe();
  EXPECT_EQ(state(0), UpstreamState::Healthy);
  EXPECT_EQ(count("upstream_healthy", 0), 1);
  EXPECT_EQ(state(1), UpstreamState::Healthy);
  EXPECT_EQ(status(0).in_flight, 0U);
  EXPECT_EQ(reading(meters_, "http_client_connections", "active"), 0);
}

TEST_F(UpstreamGroupTest, WithAllDownRequestsFailFastUntilProbesSucceed) {
  start(2, probing());
  for (const auto& one : backends_) one->die();
  probe();
  probe();
  const base::Duration before = since_start(now());
  const GroupOutcome out = run();
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_THAT(out.error->message, HasSubstr("no upstream of api is healthy"));
  EXPECT_EQ(out.error->retry_after_s, 10U);
  EXPECT_EQ(out.at, before);
  for (const auto& one : backends_) one->live();
  probe();
  probe();
  EXPECT_EQ(run().status, 200);
}

TEST_F(UpstreamGroupTest, AVerdictThatNobodyRenewsIsForgotten) {
  start(1, probing());
  backend(0).act = answers(500);
  probe();
  probe();
  backend(0).act = answers(200);
  world_.run_for(17s);
  EXPECT_EQ(run().code(), Code::UpstreamFail);
  world_.run_for(2s);
  EXPECT_EQ(run().status, 200);
  EXPECT_EQ(count("upstream_healthy", 0), 1);
}

TEST_F(UpstreamGroupTest, ARoundOfProbesTakesNoLongerThanOne) {
  start(4, probing());
  for (const auto& one : backends_) one->act = hangs();
  const TimePoint before = now();
  probe();
  EXPECT_EQ(now() - before, 1s);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(count("upstream_probe_failures_total", i), 1);
}

TEST_F(UpstreamGroupTest, ARoundOfProbesMayBeAborted) {
  start(2, probing());
  for (const auto& one : backends_) one->act = hangs();
  auto probing = std::make_unique<Root>(peer_.core(), group_->probe(&*client_));
  world_.run_for(500ms);
  probing.reset();
  EXPECT_EQ(reading(meters_, "http_client_connections", "active"), 0);
  EXPECT_EQ(count("upstream_probe_failures_total", 0), 0);
}

// As cores do: choices and ends from several threads lose nothing.
TEST_F(UpstreamGroupTest, IsSharedByThreads) {
  UpstreamPolicy policy = ejecting();
  policy.eject_for = 1ms;
  start(3, policy);
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kTimes = 5'000;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      TimePoint at{1h};
      for (std::size_t i = 0; i < kTimes; ++i) {
        at += 10us;
        base::Result<UpstreamAttempt> attempt = group_->choose(at);
        ASSERT_TRUE(attempt);
        const bool fails = i % 64 < 16 && attempt->member()->position() == t % 3;
        if (fails) attempt->failed(at);
        if (!fails && i % 7 != 0) attempt->completed(at);
        if (i % 100 == 0) group_->set_drained("api.2", i % 200 == 0);
        if (i % 50 == 0) EXPECT_EQ(group_->status(at).size(), 3U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::int64_t requests = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(status(i).in_flight, 0U);
    requests += count("upstream_requests_total", i);
    const std::int64_t out =
        count("upstream_ejections_total", i) - count("upstream_returns_total", i);
    EXPECT_TRUE(out == 0 || out == 1) << out;
  }
  EXPECT_EQ(requests, static_cast<std::int64_t>(kThreads * kTimes));
}

}  // namespace
}  // namespace ron::http::test
