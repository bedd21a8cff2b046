// What one request got of an origin, and who else may have it.
#include <algorithm>
#include <chrono>
#include <map>

#include <gtest/gtest.h>

#include "services/edge/assets.h"
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
using testing::OriginAnswer;

constexpr std::string_view kOdd = "Accept: odd/odd\r\n";

// An origin that says `odd_` to whoever accepts odd/odd, and `answer_` to all others.
class AssetsSharingTest : public AssetsTest {
 protected:
  AssetsSharingTest() {
    origins_.script = [this](const FetchRequest& request) {
      return request.accept == "odd/odd" ? odd_ : answer_;
    };
  }
  using All = std::vector<std::unique_ptr<Asked>>;
  // Whoever asks after it waits for its fill.
  All led_by(std::string_view url, std::string_view fields) {
    All all;
    all.push_back(life_->ask(url, fields));
    world_.run_for(answer_.takes / 2);
    return all;
  }
  void finish(const All& all) {
    life_->run_until(
        [&] { return std::ranges::all_of(all, [](const auto& one) { return one->done(); }); });
  }
  static OriginAnswer failure(Code code) { return {.error = base::Error(code, "so it is")}; }
  static OriginAnswer missing(KeptFields fields = {}) {
    return {.status = 404, .fields = std::move(fields)};
  }

  OriginAnswer odd_ = failure(Code::UpstreamFail);
};

TEST_F(AssetsSharingTest, AnErrorIsForThoseWhoAskTheSame) {
  start();
  All all = led_by(kUrl, kOdd);
  for (int i = 1; i < 40; ++i) {
    all.push_back(life_->ask(kUrl, i % 2 == 0 ? kOdd : "Accept: text/plain\r\n"));
  }
  finish(all);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ((*all[i])->status, i % 2 == 0 ? 502 : 200);
  EXPECT_EQ(asked(), 2U);
  EXPECT_EQ(get().field("X-Cache"), "hit");
}

TEST_F(AssetsSharingTest, EachSetOfFieldsIsAskedForOnce) {
  start();
  fail_with(Code::UpstreamFail);
  const std::vector<std::string> sets = {"", "Accept: text/plain\r\n", "Accept-Language: de\r\n",
                                         "Accept: text/plain\r\nAccept-Language: de\r\n"};
  All all = led_by(kUrl, "");
  for (std::size_t i = 1; i < 40; ++i) all.push_back(life_->ask(kUrl, sets[i % sets.size()]));
  finish(all);
  for (const auto& one : all) EXPECT_EQ((*one)->status, 502);
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const FetchRequest& each : origins_.asked) ++counts[{each.accept, each.accept_language}];
  EXPECT_EQ(counts.size(), sets.size());
  EXPECT_EQ(asked(), sets.size());
}

// No request would have done better.
TEST_F(AssetsSharingTest, AnErrorBeforeTheOriginIsAskedIsForAll) {
  start();
  odd_.error->details.emplace_back(kOriginNotAsked);
  All all = led_by(kUrl, kOdd);
  for (int i = 0; i < 9; ++i) all.push_back(life_->ask(kUrl));
  finish(all);
  for (const auto& one : all) EXPECT_EQ((*one)->status, 502);
  EXPECT_EQ(asked(), 1U);
}

TEST_F(AssetsSharingTest, AnErrorOfAnotherRequestMakesNoCopyStale) {
  start();
  answer_.fields = fresh_for(10);
  get();
  world_.run_for(11s);
  answer_.body = "new";
  answer_.fields = fresh_for(10, "\"v2\"");
  All all = led_by(kUrl, kOdd);
  for (int i = 0; i < 9; ++i) all.push_back(life_->ask(kUrl));
  finish(all);
  EXPECT_EQ((*all[0])->field("X-Cache"), "stale");
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ((*all[i])->body, "new");
  EXPECT_EQ(asked(), 3U);
}

TEST_F(AssetsSharingTest, A404IsForThoseWhoAskTheSame) {
  for (const std::string_view control : {"", "no-cache", "no-store", "max-age=60"}) {
    odd_ = missing();
    if (!control.empty()) odd_.fields = {{"Cache-Control", std::string(control)}};
    start();
    const std::string url = "/edge/assets/example.org/" + std::string(control);
    All all = led_by(url, kOdd);
    for (int i = 1; i < 10; ++i) all.push_back(life_->ask(url, i % 2 == 0 ? kOdd : ""));
    finish(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ((*all[i])->status, i % 2 == 0 ? 404 : 200) << control;
    }
    EXPECT_EQ(get(url).field("X-Cache"), "hit") << control;
    life_->stop();
    life_.reset();
  }
}

TEST_F(AssetsSharingTest, A404IsRememberedForThoseWhoAskTheSame) {
  start();
  odd_ = missing();
  EXPECT_EQ(get(kUrl, kOdd).status, 404);
  EXPECT_EQ(get(kUrl, kOdd).field("X-Cache"), "hit");
  EXPECT_EQ(asked(), 1U);
  EXPECT_EQ(get().body, "hello");
  EXPECT_EQ(get(kUrl, "Accept-Language: de\r\n").field("X-Cache"), "hit");
  EXPECT_EQ(asked(), 2U);
}

TEST_F(AssetsSharingTest, A404ObeysItsCacheControl) {
  start({"edge.cache.negative_ttl=5s"});
  const auto asks_again_after = [&](std::string_view control, base::Duration pause) {
    odd_ = missing({{"Cache-Control", std::string(control)}});
    const std::string url = "/edge/assets/example.org/" + std::to_string(asked());
    EXPECT_EQ(get(url, kOdd).status, 404);
    const std::size_t before = asked();
    world_.run_for(pause);
    EXPECT_EQ(get(url, kOdd).status, 404);
    return asked() != before;
  };
  for (const std::string_view never : {"no-cache", "no-store", "private", "max-age=0"}) {
    EXPECT_TRUE(asks_again_after(never, 0s)) << never;
  }
  EXPECT_FALSE(asks_again_after("max-age=2", 1s));
  EXPECT_TRUE(asks_again_after("max-age=2", 3s));
  // Not for longer than we say.
  EXPECT_FALSE(asks_again_after("max-age=60", 4s));
  EXPECT_TRUE(asks_again_after("max-age=60", 6s));
}

TEST_F(AssetsSharingTest, A404LeavesTheCopyOfOthers) {
  for (const std::string_view control : {"max-age=60", "no-cache", "no-store"}) {
    odd_ = missing({{"Cache-Control", std::string(control)}});
    answer_ = {.body = "hello", .fields = fresh_for(10)};
    start({"edge.cache.stale_if_error=100s"});
    const std::string url = "/edge/assets/example.org/" + std::string(control);
    get(url);
    // Fresh or old.
    EXPECT_EQ(get(url, std::string(kOdd) + "Cache-Control: no-cache\r\n").status, 404);
    EXPECT_EQ(get(url).field("X-Cache"), "hit") << control;
    world_.run_for(11s);
    EXPECT_EQ(get(url, kOdd).status, 404);
    fail_with(Code::UpstreamFail);
    EXPECT_EQ(get(url).field("X-Cache"), "stale") << control;
    answer_ = {.status = 304};
    EXPECT_EQ(get(url).field("X-Cache"), "revalidated") << control;
    life_->stop();
    // Also after a restart.
    start({"edge.cache.stale_if_error=100s"});
    EXPECT_EQ(get(url).body, "hello") << control;
    life_->stop();
    life_.reset();
  }
}

TEST_F(AssetsSharingTest, A404ToTheSameRequestTakesTheCopy) {
  for (const std::string_view control : {"max-age=60", "no-cache"}) {
    answer_ = {.body = "hello", .fields = fresh_for(10)};
    start();
    const std::string url = "/edge/assets/example.org/" + std::string(control);
    get(url);
    world_.run_for(11s);
    answer_ = missing({{"Cache-Control", std::string(control)}});
    EXPECT_EQ(get(url).status, 404);
    life_->settle();
    EXPECT_EQ(life_->core().assets().store()->volume().stats().objects, 0U) << control;
    world_.run_for(11s);
    fail_with(Code::UpstreamFail);
    EXPECT_EQ(get(url).status, 502) << control;
    life_->stop();
    life_.reset();
  }
}

// Anybody can make them.
TEST_F(AssetsSharingTest, Many404sPushNoCopyOut) {
  start();
  get();
  answer_ = missing();
  for (int i = 0; i < 20; ++i) {
    const std::string fields = "Accept: x/" + std::to_string(i) + "\r\nCache-Control: no-cache\r\n";
    EXPECT_EQ(get(kUrl, fields).status, 404);
  }
  EXPECT_EQ(get().field("X-Cache"), "hit");
}

TEST_F(AssetsSharingTest, EverySpellingOfAUrlIsOne) {
  start();
  EXPECT_EQ(get("/edge/assets/example.org/%61?").field("X-Cache"), "miss");
  EXPECT_EQ(origins_.asked.at(0).target, "/a");
  for (const std::string_view spelling : {"/a", "/%61", "/a?", "/%61?"}) {
    EXPECT_EQ(get("/edge/assets/example.org" + std::string(spelling)).field("X-Cache"), "hit")
        << spelling;
  }
  EXPECT_EQ(asked(), 1U);
  EXPECT_EQ(life_->table().entries(), 1U);
}

}  // namespace
}  // namespace ron::edge
