#include "services/index/republisher.h"

#include <gtest/gtest.h>

#include "services/index/test_discovery.h"

namespace ron::index {
namespace {

using namespace test;
using base::Result;

// Among scripted proxies and peers that take every record.
struct RepublisherTest : DiscoveryTest {
  std::vector<catalog::ProviderRecord> held;
  RepublishPolicy pace{.every = 5min, .per_second = 1000};
  bool is_readable = true;
  bool is_amnesiac = false;
  std::optional<http::Client> client;
  std::vector<std::unique_ptr<Target>> targets;
  std::optional<Republisher> republisher;
  std::unique_ptr<Root> running;

  static Task<Result<RecordPage>> read(RepublisherTest* test, std::string after,
                                       std::size_t limit) {
    co_await runtime::sleep_for(1ms);
    if (!test->is_readable) co_return base::fail(base::Code::StorageBusy, "not now");
    const std::size_t from = after.empty() ? 0 : std::stoul(after);
    const std::size_t to = std::min(from + limit, test->held.size());
    RecordPage page;
    page.records.assign(test->held.begin() + static_cast<std::ptrdiff_t>(from),
                        test->held.begin() + static_cast<std::ptrdiff_t>(to));
    if (to < test->held.size()) page.after = std::to_string(to);
    co_return page;
  }
  void hold(std::uint8_t count) {
    for (std::uint8_t i = 0; i < count; ++i) held.push_back(record_of(known, address(i), kLater));
  }
  void begin() {
    start();
    client.emplace(self.host().net, http::ClientSettings(), meters);
    targets = list->make(*client, meters);
    republisher.emplace(Republisher::Parts{
        .topology = &topology,
        .clock = &self.host().clock,
        .targets = &*list,
        .breakers = &*breakers,
        .read = [this](std::string after,
                       std::size_t limit) { return read(this, std::move(after), limit); },
        .settings = [this] { return pace; },
        .is_amnesiac = is_amnesiac});
    running = std::make_unique<Root>(self.core(), republisher->run(&targets, shutdown));
  }
  void TearDown() override {
    running.reset();
    janitor.reset();
  }
  std::int64_t lag() { return reading("index_republish_lag_seconds"); }
};

Play takes() { return says(200, "application/json", "{}"); }

TEST_F(RepublisherTest, EverythingIsPublishedAtTheStartToEveryLane) {
  add_proxies(2);
  for (ScriptedServer& one : servers) one.play = takes();
  hold(3);
  begin();
  world.run_for(1s);
  for (std::uint8_t lane = 0; lane < 2; ++lane) {
    ASSERT_EQ(servers[lane].requests.size(), 3U);
    EXPECT_TRUE(servers[lane].requests[1].starts_with(
        "POST /" + catalog::lane_key(lane, address(1)) + " HTTP/1.1\r\n"));
    EXPECT_TRUE(servers[lane].requests[1].contains(
        base::to_base64(base::as_bytes(catalog::encode(held[1])))));
  }
  EXPECT_EQ(reading("index_published_total"), 6);
  EXPECT_EQ(lag(), 0);
}

TEST_F(RepublisherTest, AndAgainEveryFiveMinutes) {
  add_proxies(1);
  servers[0].play = takes();
  hold(2);
  begin();
  world.run_for(5min - 1s);
  EXPECT_EQ(servers[0].requests.size(), 2U);
  world.run_for(2s);
  EXPECT_EQ(servers[0].requests.size(), 4U);
  EXPECT_EQ(servers[0].requests[0], servers[0].requests[2]) << "the same value, refreshed";
  world.run_for(5min);
  EXPECT_EQ(servers[0].requests.size(), 6U);
  EXPECT_EQ(lag(), 0);
}

TEST_F(RepublisherTest, APeerTakesThemToo) {
  server(peers).play = says(201, "application/json", "{}");
  hold(1);
  begin();
  world.run_for(1s);
  ASSERT_EQ(servers[0].requests.size(), 1U);
  EXPECT_TRUE(
      servers[0].requests[0].starts_with("PUT /providers/" + address(0).text() + " HTTP/1.1\r\n"));
  EXPECT_TRUE(servers[0].requests[0].ends_with(catalog::encode(held[0])));
}

TEST_F(RepublisherTest, AServerOfTheListIsToldNothing) {
  server(fixed).play = takes();
  hold(1);
  begin();
  republisher->announce(held[0]);
  world.run_for(20min);
  EXPECT_TRUE(servers[0].requests.empty());
  EXPECT_EQ(lag(), 0);
}

TEST_F(RepublisherTest, PagesAreReadToTheEnd) {
  add_proxies(1);
  servers[0].play = takes();
  hold(200);
  begin();
  world.run_for(10s);
  EXPECT_EQ(servers[0].requests.size(), 200U);
}

TEST_F(RepublisherTest, NoMoreLeaveThanThePaceAllows) {
  add_proxies(1);
  servers[0].play = takes();
  pace.per_second = 10;
  hold(100);
  begin();
  world.run_for(5s);
  EXPECT_GE(servers[0].requests.size(), 49U);
  EXPECT_LE(servers[0].requests.size(), 51U);
}

TEST_F(RepublisherTest, WhatIsAnnouncedIsPublishedAtOnce) {
  add_proxies(2);
  for (ScriptedServer& one : servers) one.play = takes();
  begin();
  world.run_for(10s);
  republisher->announce(record());
  world.run_for(10ms);
  EXPECT_EQ(servers[0].requests.size(), 1U);
  EXPECT_EQ(servers[1].requests.size(), 1U);
}

TEST_F(RepublisherTest, WhatIsAnnouncedGoesBeforeTheRestOfARound) {
  add_proxies(1);
  servers[0].play = takes();
  pace.per_second = 10;
  hold(100);
  begin();
  world.run_for(1s);
  const catalog::ProviderRecord fresh = record_of(known, address(200), kLater);
  republisher->announce(fresh);
  world.run_for(300ms);
  EXPECT_TRUE(std::ranges::any_of(servers[0].requests, [&](const std::string& request) {
    return request.contains(catalog::lane_key(0, address(200)));
  }));
}

TEST_F(RepublisherTest, ADeadTargetDelaysOnlyItselfAndTheLagShowsIt) {
  add_proxies(2);
  servers[0].play = silent();
  servers[1].play = takes();
  hold(20);
  begin();
  world.run_for(10min);
  EXPECT_EQ(servers[1].requests.size(), 40U);
  EXPECT_GE(reading("index_publish_failures_total", proxies[0]), 20);
  EXPECT_GE(lag(), 299);
  servers[0].play = takes();
  world.run_for(2min);
  EXPECT_EQ(lag(), 0) << "a round that failed is tried again sooner";
}

TEST_F(RepublisherTest, ARecordThatIsNotWantedIsNoReasonToTryAgainSooner) {
  server(peers).play = says(403, "application/json", "{}");
  hold(1);
  begin();
  world.run_for(4min);
  EXPECT_EQ(servers[0].requests.size(), 1U);
  EXPECT_EQ(reading("index_publish_failures_total"), 1);
  EXPECT_EQ(lag(), 0);
}

TEST_F(RepublisherTest, RecordsThatCannotBeReadAreReadLater) {
  add_proxies(1);
  servers[0].play = takes();
  hold(2);
  is_readable = false;
  begin();
  world.run_for(30s);
  EXPECT_TRUE(servers[0].requests.empty());
  is_readable = true;
  world.run_for(2s);
  EXPECT_EQ(servers[0].requests.size(), 2U);
}

TEST_F(RepublisherTest, ATargetWhoseBreakerIsOpenIsWaitedFor) {
  add_proxies(1);
  servers[0].play = takes();
  hold(1);
  begin();
  world.run_for(1s);
  for (std::uint32_t i = 0; i < BreakerTable::kMinVolume; ++i) breakers->try_pass(0)->failed();
  world.run_for(1s);
  ASSERT_EQ(breakers->state(0), runtime::BreakerState::Open);
  const std::size_t before = servers[0].requests.size();
  republisher->announce(record());
  world.run_for(5s);
  EXPECT_EQ(servers[0].requests.size(), before);
  servers[0].play = dht_says({});  // for the janitor's probes
  world.run_for(8s);
  EXPECT_EQ(std::ranges::count_if(
                servers[0].requests.begin() + static_cast<std::ptrdiff_t>(before),
                servers[0].requests.end(),
                [](const std::string& request) { return request.starts_with("POST /"); }),
            1);
}

TEST_F(RepublisherTest, AmnesiaPublishesNothing) {
  is_amnesiac = true;
  add_proxies(1);
  servers[0].play = takes();
  hold(2);
  begin();
  republisher->announce(held[0]);
  world.run_for(20min);
  EXPECT_TRUE(servers[0].requests.empty());
  EXPECT_EQ(lag(), 0);
}

TEST_F(RepublisherTest, AStopEndsIt) {
  add_proxies(1);
  servers[0].play = silent();
  hold(20);
  begin();
  world.run_for(1s);
  shutdown.trigger(runtime::StopReason::Signal);
  world.run_for(1s);
  EXPECT_TRUE(running->done());
  EXPECT_EQ(reading("http_client_connections"), 0);
}

}  // namespace
}  // namespace ron::index
