#include "services/edge/assets.h"

#include <chrono>

#include <gtest/gtest.h>

#include "b3/hash.h"
#include "services/edge/test_assets.h"

namespace ron::edge {
namespace {

using namespace std::chrono_literals;
using base::Code;
using testing::Answer;
using testing::Asked;
using testing::AssetsTest;
using testing::fresh_for;
using testing::kUrl;
using testing::noise;
using testing::OriginAnswer;

TEST_F(AssetsTest, AMissIsFilledAndThenAHit) {
  start();
  const Answer miss = get();
  EXPECT_EQ(miss.status, 200);
  EXPECT_EQ(miss.body, "hello");
  EXPECT_EQ(miss.field("X-Cache"), "miss");
  EXPECT_EQ(miss.field("Content-Type"), "text/plain");
  EXPECT_EQ(miss.field("ETag"), "\"" + b3::hash(base::as_bytes("hello")).text() + "\"");
  world_.run_for(10s);
  const Answer hit = get();
  EXPECT_EQ(hit.body, "hello");
  EXPECT_EQ(hit.field("X-Cache"), "hit");
  EXPECT_EQ(hit.field("Age"), "10");
  EXPECT_EQ(hit.field("ETag"), miss.field("ETag"));
  EXPECT_EQ(asked(), 1U);
  EXPECT_EQ(life_->counted("edge_cache_requests_total", "hit"), 1U);
  EXPECT_EQ(life_->counted("edge_cache_requests_total", "miss"), 1U);
}

TEST_F(AssetsTest, ConditionsAndRangesOfHits) {
  start();
  const std::string tag = get().field("ETag");
  EXPECT_EQ(get(kUrl, "If-None-Match: " + tag + "\r\n").status, 304);
  const Answer part = get(kUrl, "Range: bytes=1-3\r\n");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "ell");
  EXPECT_EQ(get(kUrl, "Range: bytes=9-\r\n").status, 416);
  EXPECT_EQ(get(kUrl, "Range: bytes=1-3\r\nIf-Range: \"other\"\r\n").status, 200);
  EXPECT_EQ(asked(), 1U);
}

TEST_F(AssetsTest, AThousandWhoAskAtOnceCauseOneRequest) {
  start();
  std::vector<std::unique_ptr<Asked>> all;
  for (int i = 0; i < 1000; ++i) all.push_back(life_->ask(kUrl));
  life_->run_until([&] { return std::ranges::all_of(all, [](auto& one) { return one->done(); }); });
  EXPECT_EQ(asked(), 1U);
  for (const auto& one : all) {
    EXPECT_EQ((*one)->status, 200);
    EXPECT_EQ((*one)->body, "hello");
  }
}

TEST_F(AssetsTest, BeyondTheBoundOfThoseWhoWaitItIsBusy) {
  start({"edge.fill.max_waiting=10"});
  std::vector<std::unique_ptr<Asked>> all;
  for (int i = 0; i < 25; ++i) all.push_back(life_->ask(kUrl));
  life_->run_until([&] { return std::ranges::all_of(all, [](auto& one) { return one->done(); }); });
  EXPECT_EQ(std::ranges::count_if(all, [](auto& one) { return (*one)->status == 200; }), 10);
  EXPECT_EQ(std::ranges::count_if(all, [](auto& one) { return (*one)->status == 429; }), 15);
  EXPECT_EQ(asked(), 1U);
  EXPECT_EQ(life_->counted("busy_rejections_total"), 15U);
}

TEST_F(AssetsTest, AnOriginThatDiesMidwayIsNeverHalfASuccess) {
  start();
  answer_.body = noise(1'000'000);
  fail_with(Code::UpstreamFail);
  answer_.sent = 500'000;
  std::vector<std::unique_ptr<Asked>> all;
  for (int i = 0; i < 50; ++i) all.push_back(life_->ask(kUrl));
  life_->run_until([&] { return std::ranges::all_of(all, [](auto& one) { return one->done(); }); });
  for (const auto& one : all) EXPECT_EQ((*one)->status, 502);
  EXPECT_EQ(asked(), 1U);
  life_->settle();
  EXPECT_EQ(life_->table().entries(), 0U);
  EXPECT_EQ(life_->core().assets().store()->volume().stats().objects, 0U);
  answer_.error.reset();
  EXPECT_EQ(get().body, answer_.body);
}

TEST_F(AssetsTest, AStaleCopyIsCheckedAndFreshened) {
  start();
  answer_.fields = fresh_for(10);
  get();
  world_.run_for(11s);
  origins_.script = [](const FetchRequest& request) {
    EXPECT_EQ(request.validators.etag, "\"v1\"");
    OriginAnswer answer;
    answer.status = 304;
    answer.fields = {{"Cache-Control", "max-age=100"}};
    return answer;
  };
  const Answer checked = get();
  EXPECT_EQ(checked.status, 200);
  EXPECT_EQ(checked.body, "hello");
  EXPECT_EQ(checked.field("X-Cache"), "revalidated");
  EXPECT_EQ(checked.field("Cache-Control"), "max-age=100");
  world_.run_for(50s);
  EXPECT_EQ(get().field("X-Cache"), "hit");
  EXPECT_EQ(asked(), 2U);
  life_->settle();
  EXPECT_EQ(life_->core().assets().store()->volume().stats().objects, 1U);
}

TEST_F(AssetsTest, AChangedAnswerTakesThePlaceOfTheStaleOne) {
  start();
  answer_.fields = fresh_for(10);
  get();
  world_.run_for(11s);
  answer_.body = "new";
  answer_.fields = fresh_for(10, "\"v2\"");
  const Answer changed = get();
  EXPECT_EQ(changed.body, "new");
  EXPECT_EQ(changed.field("X-Cache"), "miss");
  life_->settle();
  EXPECT_EQ(life_->table().entries(), 1U);
  EXPECT_EQ(life_->core().assets().store()->volume().stats().objects, 1U);
}

TEST_F(AssetsTest, AStaleCopyIsBetterThanAnErrorForAWhile) {
  start({"edge.cache.stale_if_error=100s"});
  answer_.fields = fresh_for(10);
  get();
  world_.run_for(50s);
  fail_with(Code::UpstreamFail);
  const Answer stale = get();
  EXPECT_EQ(stale.status, 200);
  EXPECT_EQ(stale.body, "hello");
  EXPECT_EQ(stale.field("X-Cache"), "stale");
  EXPECT_EQ(stale.field("Age"), "50");
  // Somebody who wants the origin's word gets the error.
  EXPECT_EQ(get(kUrl, "Cache-Control: no-cache\r\n").status, 502);
  fail_with(Code::BodyCap);
  EXPECT_EQ(get().status, 413);
  fail_with(Code::Timeout);
  EXPECT_EQ(get().field("X-Cache"), "stale");
  world_.run_for(100s);
  EXPECT_EQ(get().status, 504);
}

TEST_F(AssetsTest, WhatMustBeCheckedIsNeverServedStale) {
  start();
  answer_.fields = {{"Cache-Control", "max-age=10, must-revalidate"}, {"ETag", "\"v1\""}};
  get();
  world_.run_for(11s);
  fail_with(Code::UpstreamFail);
  EXPECT_EQ(get().status, 502);
  EXPECT_EQ(get(kUrl, "Cache-Control: max-stale\r\n").status, 502);
}

TEST_F(AssetsTest, WhatAnOriginLacksIsRememberedForAMoment) {
  start({"edge.cache.negative_ttl=5s"});
  answer_.status = 404;
  const Answer first = get();
  EXPECT_EQ(first.status, 404);
  EXPECT_EQ(first.field("X-Cache"), "miss");
  const Answer second = get();
  EXPECT_EQ(second.status, 404);
  EXPECT_EQ(second.field("X-Cache"), "hit");
  EXPECT_NE(second.body.find("NotFound"), std::string::npos);
  EXPECT_EQ(asked(), 1U);
  world_.run_for(6s);
  answer_.status = 200;
  EXPECT_EQ(get().body, "hello");
  EXPECT_EQ(get().body, "hello");
  EXPECT_EQ(asked(), 2U);
}

TEST_F(AssetsTest, WhatMayNotBeKeptIsNotSharedEither) {
  start();
  int made = 0;
  origins_.script = [&](const FetchRequest&) {
    OriginAnswer answer;
    answer.body = "for " + std::to_string(++made);
    answer.fields = {{"Cache-Control", "private, max-age=60"}, {"ETag", "\"p\""}};
    return answer;
  };
  std::vector<std::unique_ptr<Asked>> all;
  for (int i = 0; i < 5; ++i) all.push_back(life_->ask(kUrl));
  life_->run_until([&] { return std::ranges::all_of(all, [](auto& one) { return one->done(); }); });
  std::vector<std::string> bodies;
  for (const auto& one : all) bodies.push_back((*one)->body);
  std::ranges::sort(bodies);
  EXPECT_EQ(std::ranges::unique(bodies).size(), 0U);
  EXPECT_EQ(made, 5);
  life_->settle();
  EXPECT_EQ(life_->table().entries(), 0U);
  EXPECT_EQ(life_->core().assets().store()->volume().stats().objects, 0U);
}

TEST_F(AssetsTest, VariantsAreChosenByWhatTheyVaryOn) {
  start();
  origins_.script = [](const FetchRequest& request) {
    OriginAnswer answer;
    answer.body = "in " + request.accept_language;
    answer.fields = fresh_for(60);
    answer.fields.emplace_back("Vary", "Accept-Language, Accept-Encoding");
    return answer;
  };
  const std::string german = "Accept-Language: de\r\n";
  const std::string french = "Accept-Language: fr\r\nAccept: text/html\r\n";
  EXPECT_EQ(get(kUrl, german).body, "in de");
  EXPECT_EQ(get(kUrl, french).body, "in fr");
  EXPECT_EQ(get(kUrl, german).field("X-Cache"), "hit");
  EXPECT_EQ(get(kUrl, "Accept-Language: fr\r\n").field("X-Cache"), "hit");
  EXPECT_EQ(get(kUrl).body, "in ");
  EXPECT_EQ(asked(), 3U);
  EXPECT_EQ(life_->table().entries(), 3U);
}

TEST_F(AssetsTest, ThoseWhoWaitForAnotherVariantFillTheirOwn) {
  start();
  origins_.script = [](const FetchRequest& request) {
    OriginAnswer answer;
    answer.body = "in " + request.accept_language;
    answer.fields = fresh_for(60);
    answer.fields.emplace_back("Vary", "accept-language");
    return answer;
  };
  std::vector<std::unique_ptr<Asked>> all;
  for (int i = 0; i < 40; ++i) {
    all.push_back(
        life_->ask(kUrl, i % 2 == 0 ? "Accept-Language: de\r\n" : "Accept-Language: fr\r\n"));
  }
  life_->run_until([&] { return std::ranges::all_of(all, [](auto& one) { return one->done(); }); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ((*all[i])->body, i % 2 == 0 ? "in de" : "in fr");
  }
  EXPECT_EQ(asked(), 2U);
}

TEST_F(AssetsTest, RequestsSayWhatTheyTake) {
  start();
  EXPECT_EQ(get(kUrl, "Cache-Control: only-if-cached\r\n").status, 504);
  EXPECT_EQ(asked(), 0U);
  get();
  EXPECT_EQ(get(kUrl, "Cache-Control: only-if-cached\r\n").status, 200);
  world_.run_for(30s);
  EXPECT_EQ(get(kUrl, "Cache-Control: max-age=40\r\n").field("X-Cache"), "hit");
  EXPECT_EQ(asked(), 1U);
  get(kUrl, "Cache-Control: max-age=20\r\n");
  EXPECT_EQ(asked(), 2U);
  world_.run_for(30s);
  get(kUrl, "Cache-Control: min-fresh=40\r\n");
  EXPECT_EQ(asked(), 3U);
  get(kUrl, "Cache-Control: no-cache\r\n");
  EXPECT_EQ(asked(), 4U);
  world_.run_for(70s);
  EXPECT_EQ(get(kUrl, "Cache-Control: max-stale=20\r\n").field("X-Cache"), "stale");
  EXPECT_EQ(asked(), 4U);
}

TEST_F(AssetsTest, ARequestThatSaysNoStoreLeavesNothing) {
  start();
  EXPECT_EQ(get(kUrl, "Cache-Control: no-store\r\n").body, "hello");
  life_->settle();
  EXPECT_EQ(life_->table().entries(), 0U);
  EXPECT_EQ(life_->core().assets().store()->volume().stats().objects, 0U);
}

TEST_F(AssetsTest, OnlyWhatIsAllowedIsAnsweredEvenFromTheCache) {
  start();
  EXPECT_EQ(get("/edge/assets/denied.example/a").status, 403);
  EXPECT_EQ(get("/edge/assets/exa%6dple.org/a").status, 400);
  EXPECT_EQ(get("/edge/assets/user@example.org/a").status, 400);
  EXPECT_EQ(asked(), 0U);
}

TEST_F(AssetsTest, OneUrlHasOneKeyAndTheQueryIsPartOfIt) {
  start();
  get("/edge/assets/Example.ORG:443/a-B?x=1&y=2");
  EXPECT_EQ(origins_.asked.at(0).host_port, "example.org");
  EXPECT_EQ(get("/edge/assets/example.org/a-B?x=1&y=2").field("X-Cache"), "hit");
  EXPECT_EQ(get("/edge/assets/example.org/a-B?y=2&x=1").field("X-Cache"), "miss");
  EXPECT_EQ(get("/edge/assets/example.org:8443/a-B?x=1&y=2").field("X-Cache"), "miss");
}

TEST_F(AssetsTest, OfflineNothingIsFilled) {
  start();
  answer_.fields = fresh_for(10);
  get();
  life_->settle();
  life_->stop();
  life_.reset();
  life_.emplace(world_, node_, origins_, std::vector<std::string>{}, "/edge");
  EXPECT_EQ(get().field("X-Cache"), "hit");
  world_.run_for(11s);
  EXPECT_EQ(get().field("X-Cache"), "stale");
  const Answer absent = get("/edge/assets/example.org/other");
  EXPECT_EQ(absent.status, 403);
  EXPECT_NE(absent.body.find("offline"), std::string::npos);
  EXPECT_EQ(asked(), 1U);
}

// An origin that says nothing at all holds fills, and nothing that is here.
TEST_F(AssetsTest, FillsThatHangHoldNoLoads) {
  start({"edge.cache.ram_bytes=0", "edge.workers=2", "edge.loaders=1", "edge.channels.work=8"});
  get();
  get("/edge/assets/example.org/b");
  answer_.takes = 1h;
  std::vector<std::unique_ptr<Asked>> hanging;
  for (int i = 0; i < 30; ++i) {
    hanging.push_back(life_->ask("/edge/assets/example.org/hangs/" + std::to_string(i)));
  }
  world_.run_for(100ms);
  // Two at work, six that wait; the others are told so.
  std::ptrdiff_t busy = 0;
  for (const auto& each : hanging) {
    if (!each->done()) continue;
    EXPECT_EQ((*each)->status, 429);
    ++busy;
  }
  EXPECT_EQ(busy, 22);
  EXPECT_EQ(life_->counted("queue_dropped_total", "work"), 22U);
  const auto missing = life_->core().readiness().missing;
  EXPECT_NE(std::ranges::find(missing, "queue: full"), missing.end());
  const platform::TimePoint since = world_.now();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(get().field("X-Cache"), "hit");
    EXPECT_EQ(get("/edge/assets/example.org/b").field("X-Cache"), "hit");
  }
  EXPECT_LT(world_.now() - since, 500ms);
}

TEST_F(AssetsTest, APurgeForgetsForGood) {
  start();
  get("/edge/assets/example.org/a/1");
  get("/edge/assets/example.org/a/2");
  get("/edge/assets/example.org/b");
  EXPECT_EQ(life_->purge([](const Asset& asset) {
    return asset.facts.url.starts_with("https://example.org/a/");
  }),
            2U);
  EXPECT_EQ(life_->table().entries(), 1U);
  // Also after a crash that loses whatever was not flushed.
  node_.power_cut();
  life_.reset();
  node_.restart();
  start();
  EXPECT_EQ(get("/edge/assets/example.org/a/1").field("X-Cache"), "miss");
}

TEST_F(AssetsTest, WhatIsFilledDuringAPurgeIsNotKept) {
  start();
  answer_.takes = 1s;
  const auto asked = life_->ask(kUrl);
  world_.run_for(500ms);
  life_->purge([](const Asset&) { return true; });
  life_->run_until([&] { return asked->done(); });
  EXPECT_EQ((*asked)->body, "hello");
  EXPECT_EQ(life_->table().entries(), 0U);
  life_->settle();
  EXPECT_EQ(life_->core().assets().store()->volume().stats().objects, 0U);
}

TEST_F(AssetsTest, WhoComesAfterAPurgeDoesNotWaitForAFillOfBefore) {
  for (const bool is_amnesiac : {false, true}) {
    start({}, is_amnesiac);
    answer_.takes = 1s;
    answer_.body = "old";
    const auto before = life_->ask(kUrl);
    world_.run_for(500ms);
    life_->purge([](const Asset&) { return true; });
    answer_.body = "new";
    const auto after = life_->ask(kUrl);
    life_->run_until([&] { return before->done() && after->done(); });
    EXPECT_EQ((*before)->body, "old");
    EXPECT_EQ((*after)->body, "new");
    const Answer hit = get();
    EXPECT_EQ(hit.body, "new");
    EXPECT_EQ(hit.field("X-Cache"), "hit");
    life_->stop();
    life_.reset();
  }
}

}  // namespace
}  // namespace ron::edge
