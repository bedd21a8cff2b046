#include "http/name_cache.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "http/test_support.h"

namespace ron::http {
namespace {

using namespace test;
using base::Code;
using platform::Endpoint;
using runtime::Deadline;

Endpoint address(std::uint8_t last, std::uint16_t port = 80) {
  return *Endpoint::parse("10.0.0." + std::to_string(last) + ":" + std::to_string(port));
}

// A name service that takes a second, counts what it is asked, and can be out of order.
class SlowResolver final : public platform::Resolver {
 public:
  Task<base::Result<std::vector<Endpoint>>> resolve(std::string host, std::uint16_t port) override {
    ++asked;
    co_await runtime::sleep_for(1s);
    if (out_of_order) co_return base::fail(Code::UpstreamFail, "the name service is away");
    const auto found = names.find(host);
    if (found == names.end()) co_return base::fail(Code::NotFound, "no host '" + host + "'");
    std::vector<Endpoint> endpoints = found->second;
    for (Endpoint& each : endpoints) each.port = port;
    co_return std::move(endpoints);
  }

  std::map<std::string, std::vector<Endpoint>> names;
  std::size_t asked = 0;
  bool out_of_order = false;
};

struct Outcome {
  bool done = false;
  std::vector<Endpoint> endpoints;  // in the order of the request
  std::optional<Code> code;
  base::Duration at{};
};

Task<void> look_up(NameCache* names, std::string name, Deadline deadline, Outcome* out) {
  std::shared_ptr<Addresses> addresses = names->find(name, 80);
  if (!addresses) {
    NameCache::Answer answer = co_await names->resolve(name, 80, deadline);
    if (answer) addresses = *answer;
    if (!answer) out->code = answer.error().code;
  }
  const TimePoint now = platform::Executor::current()->now();
  if (addresses) {
    const Addresses::Order order = addresses->next_order(now);
    for (std::size_t i = 0; i < order.size(); ++i) {
      out->endpoints.push_back(addresses->endpoint(order[i]));
    }
  }
  out->at = since_start(now);
  out->done = true;
}

class NameCacheTest : public testing::Test {
 protected:
  NameCacheTest() {
    settings_.resolver = &resolver_;
    settings_.name_ttl = 30s;
    settings_.name_failure_ttl = 2s;
    resolver_.names["one"] = {address(1)};
    resolver_.names["two"] = {address(1), address(2)};
  }
  std::unique_ptr<Root> begin(const std::string& name, Outcome& out, base::Duration within = 60s) {
    return std::make_unique<Root>(node_.core(),
                                  look_up(&names_, name, Deadline(world_.now() + within), &out));
  }
  Outcome run(const std::string& name, base::Duration within = 60s) {
    Outcome out;
    const auto running = begin(name, out, within);
    EXPECT_EQ(world_.run_until([&] { return out.done; }, 600s), sim::Outcome::Done);
    return out;
  }
  [[nodiscard]] base::Duration now() const { return since_start(world_.now()); }

  sim::World world_{3, exact_world()};
  sim::Node& node_ = world_.add_node();
  SlowResolver resolver_;
  ClientSettings settings_;
  NameCache names_{settings_};
};

TEST_F(NameCacheTest, AnAnswerIsRememberedForAWhile) {
  EXPECT_EQ(run("one").at, 1s);
  const Outcome again = run("one");
  EXPECT_EQ(again.at, 1s) << "it waited";
  EXPECT_EQ(again.endpoints, std::vector{address(1)});
  EXPECT_EQ(resolver_.asked, 1U);
}

TEST_F(NameCacheTest, AnAgedAnswerIsUsedOnceMoreWhileItIsAskedForAnew) {
  run("one");
  resolver_.names["one"] = {address(7)};
  world_.run_for(40s);
  const base::Duration begun = now();
  const Outcome aged = run("one");
  EXPECT_EQ(aged.at, begun) << "it waited";
  EXPECT_EQ(aged.endpoints, std::vector{address(1)});
  world_.run_for(2s);
  EXPECT_EQ(run("one").endpoints, std::vector{address(7)});
  EXPECT_EQ(resolver_.asked, 2U);
}

TEST_F(NameCacheTest, AnAnswerThatIsTooOldIsNotUsed) {
  run("one");
  resolver_.names["one"] = {address(7)};
  world_.run_for(100s);
  const base::Duration begun = now();
  const Outcome out = run("one");
  EXPECT_EQ(out.endpoints, std::vector{address(7)});
  EXPECT_EQ(out.at, begun + 1s);
}

TEST_F(NameCacheTest, OldAddressesHoldWhileTheNameServiceIsAway) {
  run("one");
  resolver_.out_of_order = true;
  world_.run_for(100s);
  EXPECT_EQ(run("one").endpoints, std::vector{address(1)});
}

TEST_F(NameCacheTest, AHostThatIsGoneIsGone) {
  run("one");
  resolver_.names.clear();
  world_.run_for(100s);
  EXPECT_EQ(run("one").code, Code::UpstreamFail);
}

TEST_F(NameCacheTest, ThatAHostDoesNotExistIsRememberedForLess) {
  EXPECT_EQ(run("nobody").code, Code::UpstreamFail);
  const base::Duration begun = now();
  EXPECT_EQ(run("nobody").at, begun) << "it asked again";
  EXPECT_EQ(resolver_.asked, 1U);
  resolver_.names["nobody"] = {address(9)};
  world_.run_for(3s);
  EXPECT_EQ(run("nobody").endpoints, std::vector{address(9)});
}

TEST_F(NameCacheTest, OneQuestionServesAllWhoWait) {
  std::array<Outcome, 10> outs;
  std::vector<std::unique_ptr<Root>> running;
  for (Outcome& out : outs) running.push_back(begin("two", out));
  world_.run_for(2s);
  for (const Outcome& out : outs) {
    EXPECT_EQ(out.at, 1s);
    EXPECT_EQ(out.endpoints.size(), 2U);
  }
  EXPECT_EQ(resolver_.asked, 1U);
}

TEST_F(NameCacheTest, TheQuestionOutlivesWhoAskedFirst) {
  Outcome first;
  Outcome second;
  auto one = begin("one", first);
  world_.run_for(100ms);
  const auto two = begin("one", second);
  world_.run_for(100ms);
  one.reset();
  world_.run_for(2s);
  EXPECT_EQ(second.endpoints, std::vector{address(1)});
  EXPECT_EQ(second.at, 1s);
}

TEST_F(NameCacheTest, WaitingEndsAtTheDeadline) {
  const Outcome out = run("one", 300ms);
  EXPECT_EQ(out.code, Code::Timeout);
  EXPECT_EQ(out.at, 300ms);
  EXPECT_EQ(run("one").endpoints, std::vector{address(1)});
  EXPECT_EQ(resolver_.asked, 1U);
}

TEST_F(NameCacheTest, TooManyWhoWaitAreBusy) {
  settings_.max_waiting = 2;
  std::array<Outcome, 3> outs;
  std::vector<std::unique_ptr<Root>> running;
  for (Outcome& out : outs) {
    running.push_back(begin("one", out));
    world_.run_for(0ms);
  }
  EXPECT_EQ(outs[2].code, Code::Busy);
  running[0].reset();
  Outcome late;
  const auto another = begin("one", late);
  world_.run_for(2s);
  EXPECT_FALSE(late.code) << "one that left still counts";
}

TEST_F(NameCacheTest, CloseSendsAwayThoseWhoWait) {
  Outcome out;
  const auto running = begin("one", out);
  world_.run_for(100ms);
  names_.close();
  world_.run_for(1ms);
  EXPECT_EQ(out.code, Code::Canceled);
  EXPECT_EQ(run("two").code, Code::Canceled);
}

TEST_F(NameCacheTest, AddressesAreNotAskedFor) {
  EXPECT_EQ(run("10.0.0.9").endpoints, std::vector{address(9)});
  EXPECT_EQ(run("::1").endpoints, std::vector{*Endpoint::parse("[::1]:80")});
  EXPECT_EQ(run("[::1]").endpoints, std::vector{*Endpoint::parse("[::1]:80")});
  EXPECT_EQ(resolver_.asked, 0U);
  world_.run_for(1h);
  EXPECT_EQ(run("10.0.0.9").endpoints, std::vector{address(9)});
}

TEST_F(NameCacheTest, WhatMayNotBeUsedIsLeftOut) {
  settings_.allow_address = [](const Endpoint& each) { return each != address(1); };
  EXPECT_EQ(run("two").endpoints, std::vector{address(2)});
  EXPECT_EQ(run("one").code, Code::NotAllowed);
  EXPECT_EQ(run("10.0.0.1").code, Code::NotAllowed);
}

TEST_F(NameCacheTest, TheNameUnusedForLongestMakesRoom) {
  for (std::size_t i = 0; i < NameCache::kNames + 10; ++i) {
    const std::string name = "host-" + std::to_string(i);
    resolver_.names[name] = {address(1)};
    EXPECT_EQ(run(name).endpoints.size(), 1U);
    run("host-0");
  }
  const std::size_t asked = resolver_.asked;
  run("host-0");
  EXPECT_EQ(resolver_.asked, asked) << "the one in use was pushed out";
  run("host-1");
  EXPECT_EQ(resolver_.asked, asked + 1) << "the one out of use was not";
}

TEST_F(NameCacheTest, NamesThatAreAskedForAreBounded) {
  std::vector<Outcome> outs(NameCache::kNames + 1);
  std::vector<std::unique_ptr<Root>> running;
  for (std::size_t i = 0; i < outs.size(); ++i) {
    running.push_back(begin("host-" + std::to_string(i), outs[i]));
    world_.run_for(0ms);
  }
  EXPECT_EQ(outs.back().code, Code::Busy);
  EXPECT_EQ(std::ranges::count(outs, true, &Outcome::done), 1);
}

TEST(Addresses, EachRequestBeginsWithAnotherOne) {
  Addresses addresses({address(1), address(2), address(3)});
  std::vector<std::size_t> firsts;
  for (int i = 0; i < 4; ++i) {
    const Addresses::Order order = addresses.next_order(TimePoint(1s));
    EXPECT_EQ(order.size(), 3U);
    EXPECT_EQ(order[1], (order[0] + 1) % 3);
    firsts.push_back(order[0]);
  }
  EXPECT_EQ(firsts, (std::vector<std::size_t>{0, 1, 2, 0}));
}

TEST(Addresses, OneThatFailedComesLastForAWhile) {
  Addresses addresses({address(1), address(2)});
  addresses.failed(0, TimePoint(1s));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(addresses.next_order(TimePoint(2s))[0], 1U);
  Addresses renewed({address(2), address(1)}, &addresses);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(renewed.next_order(TimePoint(2s))[0], 0U);
  const TimePoint later = TimePoint(1s) + Addresses::kAvoided;
  EXPECT_NE(addresses.next_order(later)[0], addresses.next_order(later)[0]);
  addresses.failed(0, later);
  addresses.answered(0);
  EXPECT_NE(addresses.next_order(later)[0], addresses.next_order(later)[0]);
}

TEST(Addresses, OnlySoManyAreUsed) {
  std::vector<Endpoint> many;
  for (std::uint8_t i = 0; i < 40; ++i) many.push_back(address(i));
  EXPECT_EQ(Addresses(many).next_order(TimePoint(1s)).size(), Addresses::kMost);
}

}  // namespace
}  // namespace ron::http
