// How a group sends: retries, their budget, and what counts for or against a member.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include "http/upstream_test_support.h"

namespace ron::http::test {
namespace {

using testing::HasSubstr;

class UpstreamSendTest : public UpstreamTest {
 protected:
  static UpstreamPolicy retrying() {
    UpstreamPolicy policy = calm();
    policy.retry.max_tries = 3;
    return policy;
  }
  static ClientRequest put(BodySource& source, std::uint64_t bytes) {
    return {.method = Method::Put, .source = &source, .source_bytes = bytes};
  }
  GroupOutcome run_within(base::Duration deadline, AnswerTime time, ClientRequest what = {}) {
    GroupOutcome out;
    const Root running(peer_.core(), fetch_from(&*group_, &*client_, what,
                                                Deadline(now() + deadline), &out, time));
    EXPECT_EQ(world_.run_until([&] { return out.done; }, 600s), sim::Outcome::Done);
    return out;
  }
  // Nothing is under way, and every request that was sent has one outcome.
  void expect_settled(std::size_t tries) {
    std::int64_t outcomes = 0;
    for (std::size_t i = 0; i < backends_.size(); ++i) {
      EXPECT_EQ(status(i).in_flight, 0U);
      outcomes += count("upstream_requests_total", i);
    }
    EXPECT_EQ(outcomes, static_cast<std::int64_t>(tries));
    EXPECT_EQ(reading(meters_, "http_client_connections", "active"), 0);
  }
};

// Gives one piece after a while.
class LateSource final : public BodySource {
 public:
  explicit LateSource(base::Duration after) : after_(after) {}
  Task<base::Result<base::ByteView>> next() override {
    ++asked;
    co_await runtime::sleep_for(after_);
    co_return base::as_bytes(std::string_view("late"));
  }
  std::size_t asked = 0;

 private:
  base::Duration after_;
};

// As the body of another upstream's answer that breaks off.
class BrokenSource final : public BodySource {
 public:
  Task<base::Result<base::ByteView>> next() override {
    co_return base::fail(Code::UpstreamFail, "another one closed");
  }
};

TEST_F(UpstreamSendTest, AFailureIsRepeatedAtAnotherMember) {
  start(2, retrying());
  backend(0).die();
  for (int i = 0; i < 6; ++i) {
    const GroupOutcome out = run();
    EXPECT_EQ(out.body, "ok");
    EXPECT_EQ(out.upstream, "api.1");
  }
  EXPECT_EQ(retries(), 3);
  EXPECT_EQ(count("upstream_requests_total", 0, "failed"), 3);
  EXPECT_EQ(count("upstream_requests_total", 1, "answered"), 6);
  expect_settled(9);
}

TEST_F(UpstreamSendTest, TheOnlyMemberIsTriedAgain) {
  start(1, retrying());
  backend(0).script = {closes(), closes()};
  EXPECT_EQ(run().status, 200);
  EXPECT_EQ(backend(0).asked, 3U);
  EXPECT_EQ(retries(), 2);
}

TEST_F(UpstreamSendTest, MaxTriesIsTheFirstOneAndItsRetries) {
  start(2, retrying());
  backend(0).act = backend(1).act = closes();
  const GroupOutcome out = run();
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_EQ(backend(0).asked + backend(1).asked, 3U);
  expect_settled(3);
}

// The waits: 50 to 100 ms, then 100 to 200 ms, drawn anew each time; a try takes 2 trips and the
// handshake 2 more.
TEST_F(UpstreamSendTest, WaitsHaveJitterAndGrow) {
  UpstreamPolicy policy = retrying();
  policy.retry.budget = 1;
  start(1, policy, {.max_idle = 0});
  std::vector<base::Duration> first;
  std::vector<base::Duration> second;
  for (int i = 0; i < 40; ++i) {
    backend(0).script = {closes()};
    TimePoint before = now();
    EXPECT_EQ(run().status, 200);
    first.push_back(now() - before);
    backend(0).script = {closes(), closes()};
    before = now();
    EXPECT_EQ(run().status, 200);
    second.push_back(now() - before);
    run_times(2);  // their deposits pay for the retries
  }
  const auto [least, most] = std::ranges::minmax(first);
  EXPECT_GE(least, 50ms);
  EXPECT_LE(most, 100ms + 10 * kTrip);
  EXPECT_GT(most - least, 30ms) << "there is no jitter";
  const auto [least_of_two, most_of_two] = std::ranges::minmax(second);
  EXPECT_GE(least_of_two, 150ms);
  EXPECT_LE(most_of_two, 300ms + 15 * kTrip);
}

TEST_F(UpstreamSendTest, AnAnswerIsNeverAskedForAgain) {
  start(2, retrying());
  backend(0).act = backend(1).act = answers(503);
  EXPECT_EQ(run().status, 503);
  EXPECT_EQ(backend(0).asked + backend(1).asked, 1U);
  EXPECT_EQ(retries(), 0);
}

TEST_F(UpstreamSendTest, WhatIsNotIdempotentIsRepeatedOnlyIfNothingWasSent) {
  start(2, retrying());
  backend(0).act = closes();
  group_->set_drained("api.1", true);
  EXPECT_EQ(run({.method = Method::Post}).code(), Code::UpstreamFail);
  EXPECT_EQ(backend(0).asked, 1U);
  group_->set_drained("api.1", false);
  backend(0).die();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(run({.method = Method::Post}).status, 200);
  EXPECT_EQ(retries(), 2);
}

TEST_F(UpstreamSendTest, ABodyThatWasUsedIsNotSentAgain) {
  start(1, retrying());
  backend(0).script = {closes()};
  ListSource source({"body"});
  EXPECT_EQ(run(put(source, 4)).code(), Code::UpstreamFail);
  EXPECT_EQ(retries(), 0);
  EXPECT_EQ(status(0).failures, 1U);
}

TEST_F(UpstreamSendTest, ABodyThatWasNotUsedGoesToAnother) {
  start(2, retrying());
  backend(0).die();
  for (int i = 0; i < 2; ++i) {
    ListSource source({"body"});
    EXPECT_EQ(run(put(source, 4)).status, 200);
    EXPECT_THAT(backend(1).request, HasSubstr("\r\n\r\nbody"));
  }
  EXPECT_EQ(retries(), 1);
}

TEST_F(UpstreamSendTest, TheDeadlineHoldsForAllTries) {
  start(2, retrying(), {.read_timeout = 300ms});
  backend(0).act = backend(1).act = hangs();
  const GroupOutcome out = run({}, 500ms);
  EXPECT_EQ(out.code(), Code::Timeout);
  EXPECT_EQ(out.at, 500ms);
  EXPECT_EQ(retries(), 1);
  expect_settled(2);
}

TEST_F(UpstreamSendTest, ARetryThatDoesNotFitIsNotScheduled) {
  start(2, retrying());
  backend(0).act = backend(1).act = closes();
  const GroupOutcome out = run({}, 50ms);
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_LT(out.at, 10ms) << "it waited for a retry that could not be";
  EXPECT_EQ(retries(), 0);
}

TEST_F(UpstreamSendTest, ADeadlineThatHasPassedIsNobodysFault) {
  start(1, retrying());
  EXPECT_EQ(run({}, 0ms).code(), Code::Timeout);
  EXPECT_EQ(status(0).failures, 0U);
  expect_settled(0);
}

TEST_F(UpstreamSendTest, ADeadUpstreamCostsNoMoreThanTheBudget) {
  start(1, retrying());
  backend(0).die();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(run().code(), Code::UpstreamFail);
  EXPECT_LE(retries(), 10 + 200 / 5);
  EXPECT_GT(retries(), 40) << "the budget is not used";
  EXPECT_GT(count("upstream_retries_denied_total", 0), 100);
  expect_settled(200 + static_cast<std::size_t>(retries()));
}

// Whatever fails and whenever: retries <= reserve + ratio * requests, at every moment.
TEST(UpstreamGroup, RetriesStayWithinTheBudget) {
  struct Schedule : UpstreamSendTest {
    void TestBody() override {}
    void play(const std::vector<std::uint8_t>& steps) {
      start(3, retrying(), {.read_timeout = 100ms});
      std::vector<std::unique_ptr<GroupOutcome>> outs;
      std::vector<std::unique_ptr<Root>> running;
      for (const std::uint8_t step : steps) {
        Backend& one = backend(step % 3);
        const std::array<Act, 5> kActs = {answers(200), closes(), hangs(), breaks_off(),
                                          answers(503)};
        one.act = kActs[step / 3 % 5];
        const std::size_t burst = 1 + step % 7;
        for (std::size_t i = 0; i < burst; ++i) {
          outs.push_back(std::make_unique<GroupOutcome>());
          running.push_back(begin({}, *outs.back(), 2s));
        }
        world_.run_for(std::chrono::milliseconds(step));
        RC_ASSERT(retries() * 5 <= 10 * 5 + static_cast<std::int64_t>(outs.size()));
      }
      world_.run_for(5s);
      for (const auto& out : outs) RC_ASSERT(out->done);
      RC_ASSERT(retries() * 5 <= 10 * 5 + static_cast<std::int64_t>(outs.size()));
      expect_settled(outs.size() + static_cast<std::size_t>(retries()));
    }
  };
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& steps) { Schedule().play(steps); }));
}

TEST_F(UpstreamSendTest, ABodyThatBreaksOffIsAFailure) {
  start(1, retrying());
  backend(0).act = breaks_off();
  const GroupOutcome out = run();
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_EQ(status(0).failures, 1U);
  EXPECT_EQ(backend(0).asked, 1U) << "an answer that has begun is not asked for again";
  EXPECT_EQ(count("upstream_requests_total", 0, "failed"), 1);
  expect_settled(1);
}

TEST_F(UpstreamSendTest, ABodyThatIsNoChunksIsAFailure) {
  start(1, retrying());
  backend(0).act = {.answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nrubbish\r\n"};
  EXPECT_EQ(run().code(), Code::UpstreamFail);
  EXPECT_EQ(status(0).failures, 1U);
  expect_settled(1);
}

TEST_F(UpstreamSendTest, ABodyThatStallsIsAFailure) {
  start(1, retrying(), {.read_timeout = 1s});
  backend(0).act = stalls();
  EXPECT_EQ(run().code(), Code::Timeout);
  EXPECT_EQ(status(0).failures, 1U);
  expect_settled(1);
}

TEST_F(UpstreamSendTest, AnAnswerWithoutABodyEndsWithItsHead) {
  start(1, retrying());
  backend(0).script = {closes(), {.answer = "HTTP/1.1 204 No Content\r\n\r\n"}};
  EXPECT_EQ(run().status, 204);
  EXPECT_EQ(status(0).failures, 0U);
  EXPECT_EQ(count("upstream_requests_total", 0, "answered"), 1);
  expect_settled(2);
}

// One that takes its time: the member has sent everything long before.
TEST_F(UpstreamSendTest, ACallerWhoReadsTooLateIsNotAFailure) {
  struct Slow {
    static Task<void> read(UpstreamGroup* group, Client* client, std::optional<Code>* code) {
      auto response = co_await group->send(client, {}, Deadline::in(1s));
      co_await response->next();
      co_await runtime::sleep_for(2s);
      const auto piece = co_await response->next();
      if (!piece) *code = piece.error().code;
    }
  };
  start(1, retrying());
  backend(0).act = stalls();
  std::optional<Code> code;
  const Root reading_slowly(peer_.core(), Slow::read(&*group_, &*client_, &code));
  world_.run_for(5s);
  EXPECT_EQ(code, Code::Timeout);
  EXPECT_EQ(status(0).failures, 0U);
  EXPECT_EQ(count("upstream_requests_total", 0, "abandoned"), 1);
}

TEST_F(UpstreamSendTest, AFailureOfTheRequestsBodyIsNotTheMembers) {
  start(2, retrying());
  ListSource source({"body", "fail"});
  const GroupOutcome out = run(put(source, 8));
  EXPECT_EQ(out.code(), Code::IntegrityFail) << "it comes through";
  EXPECT_EQ(retries(), 0);
  EXPECT_EQ(count("upstream_requests_total", 0, "abandoned"), 1);
  EXPECT_EQ(status(0).failures, 0U);
  expect_settled(1);
}

TEST_F(UpstreamSendTest, AFailureOfTheRequestsBodyIsToldFromTheMembersOwn) {
  start(1, retrying());
  BrokenSource source;
  const GroupOutcome out = run(put(source, 8));
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_EQ(status(0).failures, 0U);
  EXPECT_EQ(count("upstream_requests_total", 0, "abandoned"), 1);
}

TEST_F(UpstreamSendTest, ABodyThatDoesNotComeInTimeIsNotTheMembersFault) {
  start(1, retrying());
  LateSource source(100s);
  const GroupOutcome out = run(put(source, 4), 2s);
  EXPECT_EQ(out.code(), Code::Timeout);
  EXPECT_EQ(out.at, 2s);
  EXPECT_EQ(status(0).failures, 0U);
  expect_settled(1);
}

TEST_F(UpstreamSendTest, AFullPoolIsNotTheMembersFault) {
  start(1, calm(), {.max_connections = 1, .max_waiting = 0});
  backend(0).act = hangs();
  GroupOutcome stuck;
  const auto running = begin({}, stuck);
  world_.run_for(10ms);
  EXPECT_EQ(run().code(), Code::Busy);
  EXPECT_EQ(status(0).failures, 0U);
}

TEST_F(UpstreamSendTest, WhatWaitsForItsRetryIsNotInFlight) {
  start(1, retrying(), {.max_connections = 1, .max_waiting = 0});
  backend(0).act.after = 20ms;
  std::array<GroupOutcome, 2> outs;
  const auto one = begin({}, outs[0]);
  const auto two = begin({}, outs[1]);
  world_.run_for(10ms);
  EXPECT_EQ(status(0).in_flight, 1U);
  world_.run_for(1s);
  EXPECT_EQ(outs[1].body, "ok") << "there was room the second time";
  EXPECT_EQ(status(0).failures, 0U);
  expect_settled(3);
}

// The request failed for a reason; that nobody is left to try again is another matter.
TEST_F(UpstreamSendTest, ARetryThatFindsNobodyReportsTheFailureBefore) {
  start(1, retrying());
  backend(0).act = closes();
  GroupOutcome out;
  const auto running = begin({}, out);
  world_.run_for(20ms);
  group_->set_all_drained(true);
  world_.run_for(1s);
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_EQ(backend(0).asked, 1U);
}

TEST_F(UpstreamSendTest, AClientThatClosesIsNotTheMembersFault) {
  start(1, retrying());
  backend(0).act = hangs();
  GroupOutcome out;
  const auto running = begin({}, out);
  world_.run_for(10ms);
  const Root closing(peer_.core(), [](Client* client) -> Task<void> {
    co_await client->close(Deadline::in(0s));
  }(&*client_));
  world_.run_for(10ms);
  EXPECT_EQ(out.code(), Code::Canceled);
  EXPECT_EQ(status(0).failures, 0U);
  expect_settled(1);
}

// Whenever the client leaves: while connecting, sending, waiting for a head or a retry, reading.
TEST_F(UpstreamSendTest, AClientMayLeaveAtAnyMoment) {
  UpstreamPolicy policy = retrying();
  policy.retry.budget = 1;
  start(2, policy);
  for (base::Duration after = 0ms; after < 150ms; after += 500us) {
    SCOPED_TRACE(after.count());
    backend(0).script = {closes(), stalls()};
    backend(1).script = {closes(), stalls()};
    GroupOutcome out;
    auto running = begin({}, out);
    world_.run_for(after);
    running.reset();
    EXPECT_EQ(status(0).in_flight + status(1).in_flight, 0U);
    EXPECT_EQ(reading(meters_, "http_client_connections", "active"), 0);
    EXPECT_FALSE(out.done);
    world_.run_for(10ms);
    backend(0).script = backend(1).script = {};
    EXPECT_EQ(run().status, 200);
  }
  EXPECT_GT(count("upstream_requests_total", 0, "abandoned"), 0);
  EXPECT_GT(count("upstream_requests_total", 0, "failed"), 0);
}

TEST_F(UpstreamSendTest, AClientThatLeavesGivesItsPlaceInAHalfOpenBreakerBack) {
  UpstreamPolicy policy = calm();
  policy.breaker = {.min_volume = 4, .open_for = 4s, .probes = 1};
  start(1, policy);
  backend(0).act = closes();
  run_times(4);
  world_.run_for(6s);
  backend(0).act = hangs();
  GroupOutcome out;
  auto running = begin({}, out);
  world_.run_for(10ms);
  EXPECT_EQ(run().code(), Code::BreakerOpen) << "the only probe is out";
  running.reset();
  backend(0).act = answers(200);
  EXPECT_EQ(run().status, 200);
  EXPECT_EQ(status(0).breaker, runtime::BreakerState::Closed);
}

// Whoever gives a member less time than it is configured to have finds out nothing about it.
TEST_F(UpstreamSendTest, ADeadlineOfTheCallersIsNotTheMembersFault) {
  UpstreamPolicy policy = retrying();
  policy.breaker = {.min_volume = 4};
  policy.eject_after = 3;
  start(2, policy);
  for (const auto& one : backends_) one->act.after = 50ms;
  for (int i = 0; i < 30; ++i) {
    const GroupOutcome out = run({}, 5ms);
    EXPECT_EQ(out.code(), Code::Timeout);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(status(i).failures, 0U);
    EXPECT_EQ(status(i).breaker, runtime::BreakerState::Closed);
    EXPECT_EQ(status(i).state, UpstreamState::Healthy);
    EXPECT_EQ(count("upstream_requests_total", i, "abandoned"), 15);
  }
  EXPECT_EQ(run().status, 200);
}

TEST_F(UpstreamSendTest, AMemberThatHadItsTimeIsToBlame) {
  start(1, retrying());
  backend(0).act = hangs();
  EXPECT_EQ(run_within(500ms, {.within = 500ms}).code(), Code::Timeout);
  EXPECT_EQ(status(0).failures, 1U);
  EXPECT_EQ(count("upstream_requests_total", 0, "failed"), 1);
}

TEST_F(UpstreamSendTest, ATryThatBeganLateHadNotItsTime) {
  start(2, retrying());
  backend(0).act = {.closes = true, .after = 300ms};
  backend(1).act = hangs();
  EXPECT_EQ(run_within(500ms, {.within = 500ms}).code(), Code::Timeout);
  EXPECT_EQ(status(0).failures, 1U) << "it broke off";
  EXPECT_EQ(status(1).failures, 0U) << "it had less than half of its time";
  expect_settled(2);
}

TEST_F(UpstreamSendTest, A504ForACallerInAHurryIsNotTheMembersFault) {
  start(1, retrying());
  backend(0).act = answers(504);
  EXPECT_EQ(run_within(1s, {.within = 5s, .is_hurried = true}).status, 504);
  EXPECT_EQ(status(0).failures, 0U);
  EXPECT_EQ(run_within(5s, {.within = 5s}).status, 504);
  EXPECT_EQ(status(0).failures, 1U);
  backend(0).act = answers(503);
  EXPECT_EQ(run_within(1s, {.within = 5s, .is_hurried = true}).status, 503);
  EXPECT_EQ(status(0).failures, 2U) << "it says of itself that it is not there";
  expect_settled(3);
}

TEST_F(UpstreamSendTest, AWaitForAConnectionIsNotTheMembersFault) {
  start(1, calm(), {.max_connections = 1});
  backend(0).act = hangs();
  GroupOutcome stuck;
  const auto running = begin({}, stuck);
  world_.run_for(10ms);
  EXPECT_EQ(run_within(500ms, {.within = 500ms}).code(), Code::Timeout);
  EXPECT_EQ(status(0).failures, 0U);
}

TEST_F(UpstreamSendTest, ABodyThatIsLateIsNoWaitForTheMember) {
  start(1, retrying());
  backend(0).act = hangs();
  LateSource source(400ms);
  EXPECT_EQ(run_within(500ms, {.within = 500ms}, put(source, 4)).code(), Code::Timeout);
  EXPECT_EQ(status(0).failures, 0U) << "it had the whole request for 100 ms";
}

TEST_F(UpstreamSendTest, AHalfOpenBreakerDoesNotWaitForABody) {
  UpstreamPolicy policy = calm();
  policy.breaker = {.min_volume = 4, .open_for = 4s, .probes = 1};
  start(1, policy);
  backend(0).act = closes();
  run_times(4);
  world_.run_for(6s);
  backend(0).act = answers(200);
  LateSource source(10s);
  GroupOutcome dripping;
  const auto running = begin(put(source, 4), dripping);
  world_.run_for(10ms);
  ASSERT_EQ(status(0).breaker, runtime::BreakerState::HalfOpen);
  EXPECT_EQ(run().status, 200) << "the place of the only probe is free";
  EXPECT_EQ(status(0).breaker, runtime::BreakerState::Closed);
  world_.run_for(20s);
  EXPECT_EQ(dripping.status, 200);
}

TEST_F(UpstreamSendTest, WhatIsSentAgainOnAStaleConnectionCountsAsATry) {
  start(1, retrying());
  EXPECT_EQ(run().status, 200);
  backend(0).act = closes();  // the kept connection and all that follow
  EXPECT_EQ(run().code(), Code::UpstreamFail);
  EXPECT_EQ(backend(0).asked, 1U + 3U);
  EXPECT_EQ(reading(meters_, "upstream_stale_retries_total"), 1);
  EXPECT_EQ(retries(), 1);
}

TEST_F(UpstreamSendTest, OneTryIsOneSending) {
  start(1, calm());
  EXPECT_EQ(run().status, 200);
  backend(0).act = closes();
  EXPECT_EQ(run().code(), Code::UpstreamFail);
  EXPECT_EQ(backend(0).asked, 1U + 1U);
}

TEST_F(UpstreamSendTest, TheBodyGoesOnAsASource) {
  struct Forward {
    static Task<void> run(UpstreamGroup* group, Client* client, bool whole, std::string* out) {
      auto response = co_await group->send(client, {}, Deadline());
      UpstreamBody body(std::move(*response));
      for (;;) {
        const auto piece = co_await body.next();
        if (!piece || piece->empty() || !whole) co_return;
        *out += base::as_text(*piece);
      }
    }
  };
  start(1, retrying());
  backend(0).act = answers(200, "a body");
  std::string text;
  const Root whole(peer_.core(), Forward::run(&*group_, &*client_, true, &text));
  world_.run_for(1s);
  EXPECT_EQ(text, "a body");
  EXPECT_EQ(count("upstream_requests_total", 0, "answered"), 1);
  backend(0).act = stalls();
  const Root half(peer_.core(), Forward::run(&*group_, &*client_, false, &text));
  world_.run_for(1s);
  EXPECT_EQ(count("upstream_requests_total", 0, "abandoned"), 1);
  expect_settled(2);
}

TEST_F(UpstreamSendTest, HostIsTheMembersUnlessTheCallerBringsOne) {
  start(2, retrying());
  backend(0).die();
  EXPECT_EQ(run().status, 200);
  EXPECT_EQ(run().status, 200);
  const std::string authority = backend(1).node().endpoint(80).text();
  EXPECT_THAT(backend(1).request, HasSubstr("\r\nHost: " + authority + "\r\n"));
  EXPECT_EQ(run({.host = "shop.example"}).status, 200);
  EXPECT_THAT(backend(1).request, HasSubstr("\r\nHost: shop.example\r\n"));
}

// Whatever the network does, nothing is lost, and what is whole is right.
TEST(UpstreamGroup, SurvivesARoughNetwork) {
  std::size_t whole = 0;
  std::size_t failed = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    sim::FaultPlan faults = sim::FaultPlan::rough();
    faults.reset_segment = 20'000;
    sim::World world(seed, {.faults = faults});
    sim::Node& peer = world.add_node();
    std::array<Backend, 2> backends{Backend(world), Backend(world)};
    const std::string body(100'000, 'x');
    std::vector<UpstreamGroup::Member> members;
    for (std::size_t i = 0; i < 2; ++i) {
      backends[i].act = answers(200, body);
      members.push_back(
          {"api." + std::to_string(i), UpstreamAddress::parse(backends[i].url()).value()});
    }
    runtime::Meters meters("svc-client");
    Client client(peer.net(), {}, meters);
    UpstreamGroup group("api", std::move(members), {}, meters, peer.host().random);
    std::array<GroupOutcome, 10> outs;
    for (GroupOutcome& out : outs) {
      const Root running(peer.core(),
                         fetch_from(&group, &client, {}, Deadline(world.now() + 20s), &out));
      EXPECT_EQ(world.run_until([&] { return out.done; }, 60s), sim::Outcome::Done);
      if (!out.error) EXPECT_TRUE(out.body == body);
      ++(out.error ? failed : whole);
    }
    for (const UpstreamStatus& one : group.status(world.now())) EXPECT_EQ(one.in_flight, 0U);
    EXPECT_EQ(reading(meters, "http_client_connections", "active"), 0);
    EXPECT_EQ(reading(meters, "upstream_requests_total"),
              10 + reading(meters, "backoff_retries_total"));
  }
  EXPECT_GT(whole, 200U);
  EXPECT_GT(failed, 0U) << "no fault was met";
}

}  // namespace
}  // namespace ron::http::test
