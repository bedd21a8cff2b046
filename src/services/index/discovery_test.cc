#include "services/index/discovery.h"

#include <gtest/gtest.h>

#include "services/index/dht_target.h"
#include "services/index/test_discovery.h"

namespace ron::index {
namespace {

using namespace test;
using base::Code;
using runtime::BreakerState;

base::Code code_of(const Sought& sought) {
  EXPECT_FALSE(sought.result->has_value());
  return sought.result->has_value() ? Code::Internal : sought.result->error().code;
}

TEST_F(DiscoveryTest, ARecordInTheDhtIsFound) {
  add_proxies(3);
  servers[1].play = dht_says({record()});
  start();
  const Sought found = search();
  ASSERT_TRUE(found.result->has_value()) << found.result->error().message;
  EXPECT_EQ((*found.result)->records, std::vector{record()});
  EXPECT_EQ((*found.result)->winner, proxies[1]);
  EXPECT_EQ((*found.result)->source, TargetKind::Dht);
  EXPECT_FALSE((*found.result)->hedged);
  EXPECT_EQ(reading("index_asks_total", proxies[1], "found"), 1);
  EXPECT_EQ(reading("index_asks_total", proxies[0], "none"), 1);
}

TEST_F(DiscoveryTest, EveryLaneIsAskedUnderItsOwnKey) {
  add_proxies(3);
  start();
  search();
  for (std::uint8_t lane = 0; lane < 3; ++lane) {
    ASSERT_EQ(servers[lane].requests.size(), 1U);
    EXPECT_TRUE(servers[lane].requests[0].starts_with("GET /" + catalog::lane_key(lane, sought()) +
                                                      " HTTP/1.1\r\n"));
  }
}

TEST_F(DiscoveryTest, NobodyKnowingIsNotFound) {
  add_proxies(5);
  start();
  const Sought none = search();
  EXPECT_EQ(code_of(none), Code::NotFound);
  EXPECT_LE(none.took, 20ms);
  EXPECT_EQ(reading("index_searches_total", "none"), 1);
}

TEST_F(DiscoveryTest, ASilentTargetCostsNothingWhileOthersAnswer) {
  add_proxies(3);
  servers[0].play = silent();
  servers[1].play = dht_says({record()});
  start();
  const Sought found = search();
  ASSERT_TRUE(found.result->has_value());
  EXPECT_LE(found.took, 10ms);
  EXPECT_EQ(servers[0].left_early, 1U) << "the loser sees its connection closed";
  EXPECT_EQ(reading("index_asks_total", proxies[0], "aborted"), 1);
}

TEST_F(DiscoveryTest, WhenAlphaIsSilentBetaIsAskedAfterTheHedge) {
  policy.hedge.alpha = 1;
  add_proxies(3);
  servers[0].play = silent();
  servers[2].play = dht_says({record()});
  start();
  const Sought found = search();
  ASSERT_TRUE(found.result->has_value());
  EXPECT_TRUE((*found.result)->hedged);
  EXPECT_GE(found.took, 150ms);
  EXPECT_LE(found.took, 160ms);
  EXPECT_EQ(reading("index_extra_asks_total"), 2);
  EXPECT_EQ(reading("index_asks_total", proxies[0], "late"), 1);
  EXPECT_EQ(servers[0].left_early, 1U);
}

TEST_F(DiscoveryTest, WithoutHedgingASilentTargetIsATimeout) {
  policy.hedge.alpha = 1;
  policy.hedge.beta = 0;
  add_proxies(2);
  servers[0].play = silent();
  servers[1].play = dht_says({record()});
  start();
  const Sought late = search();
  EXPECT_EQ(code_of(late), Code::Timeout);
  EXPECT_EQ(late.took, 1200ms);
  EXPECT_EQ(servers[0].left_early, 1U);
}

TEST_F(DiscoveryTest, TheCallersDeadlineHoldsIfItIsSooner) {
  add_proxies(5);
  for (ScriptedServer& one : servers) one.play = silent();
  start();
  const Sought late = search(300ms);
  EXPECT_EQ(code_of(late), Code::Timeout);
  EXPECT_EQ(late.took, 300ms);
}

// Who is asked has the time that is configured; a client that wants it sooner finds out nothing.
TEST_F(DiscoveryTest, ADeadlineOfTheClientsIsNotTheTargetsFault) {
  add_proxies(1);
  servers[0].play = silent();
  start();
  for (std::uint32_t i = 0; i < 2 * BreakerTable::kMinVolume; ++i) {
    EXPECT_EQ(code_of(search(i % 2 == 0 ? 5ms : 400ms)), Code::Timeout);
  }
  world.run_for(10ms);
  EXPECT_EQ(breakers->state(0), BreakerState::Closed);
  for (std::uint32_t i = 0; i < BreakerTable::kMinVolume; ++i) {
    EXPECT_EQ(code_of(search()), Code::Timeout);
  }
  world.run_for(10ms);
  EXPECT_EQ(breakers->state(0), BreakerState::Open) << "it had its time";
}

// What a proxy does while a node of its DHT is dead.
TEST_F(DiscoveryTest, WhatCountsIsReturnedBeforeTheProxyIsDone) {
  add_proxies(1);
  servers[0].play = {.pieces = {{0ms, dht_head() + chunk(dht_line(record()))}, {1s, chunk("")}}};
  start();
  const Sought found = search();
  ASSERT_TRUE(found.result->has_value());
  EXPECT_LE(found.took, 5ms + DhtTarget::kSettle);
}

TEST_F(DiscoveryTest, ARecordThatDoesNotCountIsNotWhatIsWaitedFor) {
  const catalog::ProviderRecord foreign = record_of(node_key(9), sought(), kLater);
  add_proxies(1);
  servers[0].play = {.pieces = {{0ms, dht_head() + chunk(dht_line(foreign))},
                                {400ms, chunk(dht_line(record())) + chunk("")}}};
  start();
  const Sought found = search();
  ASSERT_TRUE(found.result->has_value()) << "the first one does not end it";
  EXPECT_EQ((*found.result)->records, std::vector{record()});
  EXPECT_GE(found.took, 400ms);
}

TEST_F(DiscoveryTest, OnlyRecordsThatCountAreReturned) {
  add_proxies(3);
  catalog::ProviderRecord forged = record();
  forged.url = "http://evil.example";
  servers[0].play = dht_says({forged});
  servers[1].play = dht_says({record_of(known, sought(), kNow - 1)});
  servers[2].play = dht_says({record_of(node_key(9), sought(), kLater)});
  start();
  EXPECT_EQ(code_of(search()), Code::NotFound);
  EXPECT_EQ(reading("index_records_refused_total", "forged"), 1);
  EXPECT_EQ(reading("index_records_refused_total", "expired"), 1);
  EXPECT_EQ(reading("index_records_refused_total", "foreign"), 1);
}

TEST_F(DiscoveryTest, AQuorumIsOfTargetsThatHaveARecordThatCounts) {
  policy.hedge.quorum = 2;
  add_proxies(3);
  servers[0].play = dht_says({record(5)});
  servers[1].play = dht_says({record_of(node_key(9), sought(), kLater)});
  servers[2].play = dht_says({record(6)}, 50ms);
  start();
  const Sought found = search();
  ASSERT_TRUE(found.result->has_value());
  EXPECT_GE(found.took, 50ms);
  EXPECT_EQ((*found.result)->records, std::vector{record(6)}) << "of a node the newest";
}

TEST_F(DiscoveryTest, ARefusedConnectionIsTriedAgainAndNoMoreThanThreeTimes) {
  add_proxies(1);
  servers[0].die();
  start();
  const Sought failed = search();
  EXPECT_EQ(code_of(failed), Code::UpstreamFail);
  EXPECT_EQ(reading("backoff_retries_total", "find_providers"), 3);
  EXPECT_GE(failed.took, 150ms);
  EXPECT_LE(failed.took, 310ms);
}

TEST_F(DiscoveryTest, ATargetThatComesBackMeanwhileIsFound) {
  add_proxies(1);
  servers[0].play = dht_says({record()});
  servers[0].die();
  start();
  Sought out;
  const Root running(self.core(), run(this, sought(), 10s, &out));
  world.run_for(60ms);
  servers[0].live();
  EXPECT_EQ(world.run_until([&] { return out.done; }, 10s), sim::Outcome::Done);
  EXPECT_TRUE(out.result->has_value());
}

TEST_F(DiscoveryTest, ABreakerOpensForOneThatFailsAndOthersAreAsked) {
  policy.hedge.alpha = 1;
  add_proxies(2);
  servers[0].play = says(500, "text/plain", "broken");
  servers[1].play = dht_says({record()});
  start();
  for (std::uint32_t i = 0; i < BreakerTable::kMinVolume; ++i) {
    ASSERT_TRUE(search().result->has_value());
  }
  EXPECT_EQ(breakers->state(0), BreakerState::Open);
  const std::size_t before = servers[0].requests.size();
  const Sought found = search();
  ASSERT_TRUE(found.result->has_value());
  EXPECT_FALSE((*found.result)->hedged) << "the good one is asked first";
  EXPECT_EQ(servers[0].requests.size(), before);
  EXPECT_EQ(reading("breaker_open_total", proxies[0]), 1);
}

TEST_F(DiscoveryTest, NobodyWhoMayBeAskedIsBreakerOpen) {
  add_proxies(1);
  servers[0].play = says(500, "text/plain", "broken");
  start();
  for (std::uint32_t i = 0; i < BreakerTable::kMinVolume; ++i) search();
  EXPECT_EQ(code_of(search()), Code::BreakerOpen);
}

TEST_F(DiscoveryTest, TheJanitorFindsOutThatATargetIsBack) {
  add_proxies(1);
  servers[0].play = says(500, "text/plain", "broken");
  start();
  for (std::uint32_t i = 0; i < BreakerTable::kMinVolume; ++i) search();
  ASSERT_EQ(breakers->state(0), BreakerState::Open);
  world.run_for(10s);
  world.run_for(20ms);
  EXPECT_EQ(breakers->state(0), BreakerState::Open) << "the probes failed";
  servers[0].play = dht_says({record()});
  world.run_for(10s);
  EXPECT_EQ(breakers->state(0), BreakerState::Closed);
  EXPECT_TRUE(search().result->has_value());
}

TEST_F(DiscoveryTest, OneThatIsAlwaysOvertakenIsGivenARest) {
  policy.hedge.alpha = 1;
  add_proxies(2);
  servers[0].play = silent();
  servers[1].play = dht_says({record()});
  start();
  for (std::uint32_t i = 0; i < BreakerTable::kMinVolume; ++i) search();
  EXPECT_EQ(breakers->state(0), BreakerState::Open);
  EXPECT_LE(search().took, 10ms) << "nobody waits for it any more";
}

// A proxy cannot say that nobody has it before a dead node of its DHT is given up.
TEST_F(DiscoveryTest, OneThatHasBegunToAnswerIsNotToBlame) {
  add_proxies(1);
  servers[0].play = {.pieces = {{0ms, dht_head()}}};
  start();
  for (std::uint32_t i = 0; i < 2 * BreakerTable::kMinVolume; ++i) {
    EXPECT_EQ(code_of(search()), Code::Timeout);
  }
  EXPECT_EQ(breakers->state(0), BreakerState::Closed);
}

TEST_F(DiscoveryTest, APeerIsAskedForWhatItHasItself) {
  ScriptedServer& peer = server(peers);
  peer.play = says(200, "application/cbor", encode_records(std::vector{record()}));
  start();
  const Sought found = search();
  ASSERT_TRUE(found.result->has_value());
  EXPECT_EQ((*found.result)->source, TargetKind::Peer);
  EXPECT_EQ((*found.result)->winner, peers[0]);
  EXPECT_TRUE(peer.requests[0].starts_with("GET /providers/" + sought().text() + "?local=1 "));
  peer.play = says(404, "application/json", "{}");
  EXPECT_EQ(code_of(search()), Code::NotFound);
  peer.play = says(200, "application/cbor", "garbage");
  EXPECT_EQ(code_of(search()), Code::UpstreamFail);
}

TEST_F(DiscoveryTest, AServerOfTheListIsAskedWhenNobodyElseKnows) {
  add_proxies(2);
  ScriptedServer& fallback = server(fixed);
  fallback.play = says(200, "application/octet-stream", "");
  start();
  const Sought found = search();
  ASSERT_TRUE(found.result->has_value());
  EXPECT_EQ((*found.result)->source, TargetKind::Static);
  EXPECT_EQ((*found.result)->records[0].url, fixed[0]);
  EXPECT_TRUE(fallback.requests[0].starts_with("HEAD /o/" + sought().text() + " "));
  servers[0].play = dht_says({record()});
  EXPECT_EQ((*search().result)->source, TargetKind::Dht);
  EXPECT_EQ(fallback.requests.size(), 1U) << "and only then";
}

TEST_F(DiscoveryTest, SearchesBeginAtAnotherTargetForEveryAddress) {
  add_proxies(5);
  start();
  policy.hedge = {.alpha = 1, .beta = 0};
  for (std::uint8_t i = 0; i < 50; ++i) search(10s, address(i));
  for (const ScriptedServer& one : servers) EXPECT_GT(one.requests.size(), 4U);
}

TEST_F(DiscoveryTest, WithoutTargetsNobodyIsAsked) {
  start();
  const Sought none = search();
  EXPECT_EQ(code_of(none), Code::NotFound);
  EXPECT_EQ(none.took, 0ms);
}

TEST_F(DiscoveryTest, ACallerThatLeavesClosesEveryConnection) {
  add_proxies(3);
  for (ScriptedServer& one : servers) one.play = silent();
  start();
  {
    Sought out;
    const Root running(self.core(), run(this, sought(), 10s, &out));
    world.run_for(50ms);
  }
  world.run_for(10ms);
  for (const ScriptedServer& one : servers) EXPECT_EQ(one.left_early, 1U);
  EXPECT_EQ(reading("http_client_connections"), 0);
}

// What a hostile proxy may do; it costs its own lane and nothing else.
struct HostileTest : DiscoveryTest, testing::WithParamInterface<std::pair<const char*, Play>> {};

TEST_P(HostileTest, CostsOnlyItsLane) {
  add_proxies(3);
  servers[0].play = GetParam().second;
  start();
  servers[1].play = dht_says({record()}, 30ms);
  const Sought found = search();
  ASSERT_TRUE(found.result->has_value());
  EXPECT_EQ((*found.result)->winner, proxies[1]);
  EXPECT_LE(found.took, 40ms) << "the others are as quick as ever";
}

TEST_P(HostileTest, IsNeverWaitedForBeyondTheDeadline) {
  add_proxies(1);
  servers[0].play = GetParam().second;
  start();
  const Sought none = search();
  EXPECT_FALSE(none.result->has_value());
  EXPECT_LE(none.took, 1200ms);
}

std::string kilobytes(std::size_t count) { return std::string(count * 1024, 'x'); }

INSTANTIATE_TEST_SUITE_P(
    Answers, HostileTest,
    testing::Values(
        std::pair("garbage", says(200, "application/json", "this is no JSON\n")),
        std::pair("no_http", Play{.pieces = {{0ms, "SSH-2.0-OpenSSH_9.2\r\n"}}, .closes = true}),
        std::pair("endless_body",
                  Play{.pieces = {{0ms, dht_head()}, {0ms, chunk(dht_line("not a record"))}},
                       .goes_on = true}),
        std::pair("endless_line", Play{.pieces = {{0ms, dht_head()}, {0ms, chunk(kilobytes(16))}},
                                       .goes_on = true}),
        std::pair("huge_line", Play{.pieces = {{0ms,
                                                "HTTP/1.1 200 OK\r\nContent-Type: application/json"
                                                "\r\nContent-Length: 1073741824\r\n\r\n"},
                                               {0ms, kilobytes(16)}},
                                    .goes_on = true}),
        std::pair("slow_drip",
                  Play{.pieces = {{0ms, dht_head()}, {50ms, chunk("{")}}, .goes_on = true}),
        std::pair("slow_head", Play{.pieces = {{0ms, "HTTP/1.1 200 OK\r\n"}, {50ms, "X: y\r\n"}},
                                    .goes_on = true}),
        std::pair("redirect", says(302, "application/json", "", "Location: http://10.9.9.9/\r\n")),
        std::pair("wrong_type", says(200, "text/html", "{}")),
        std::pair("encoded", says(200, "application/json", "{}", "Content-Encoding: gzip\r\n")),
        std::pair("breaks_off", Play{.pieces = {{0ms, dht_head() + "5\r\n{"}}, .closes = true}),
        std::pair("says_nothing", Play{})),
    [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace ron::index
