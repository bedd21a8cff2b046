// What of an answer is kept, where and under which conditions, from the origin to the disk.
#include "services/edge/asset_filler.h"

#include <chrono>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "services/edge/test_assets.h"

namespace ron::edge {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::EdgeLife;
using testing::fresh_for;
using testing::noise;
using testing::OriginAnswer;
using testing::ScriptedOrigins;

constexpr std::string_view kUrl = "/edge/assets/example.org/a.txt";

class AssetFillerTest : public ::testing::Test {
 protected:
  AssetFillerTest() {
    origins_.script = [this](const FetchRequest&) { return answer_; };
    answer_.body = "hello";
    answer_.fields = fresh_for(60);
  }
  void start() {
    life_.reset();
    life_.emplace(world_, node_, origins_, std::vector<std::string>{"edge.mode=live"}, "/edge");
  }
  Answer get(std::string_view target = kUrl, std::string_view lines = "") {
    return life_->get(target, lines);
  }
  std::size_t asked() const { return origins_.asked.size(); }
  // How many entries there are on disk; each becomes what `change` makes of it, if there is one.
  using Change = std::string (*)(std::string);
  static platform::Task<void> rewrite(platform::Host* host, Change change, std::size_t* count) {
    const auto map = co_await host->key_values.open("/edge/entries", {});
    const auto all = co_await (*map)->scan("", "", 100);
    platform::KeyValueBatch batch;
    for (auto [hold, text] : *all) {
      if (change != nullptr) batch.put(hold, change(std::move(text)));
    }
    if (change != nullptr) {
      const base::Result<> written = co_await (*map)->write(std::move(batch));
      EXPECT_TRUE(written);
      const base::Result<> flushed = co_await (*map)->flush();
      EXPECT_TRUE(flushed);
    }
    *count = all->size();
  }
  std::size_t rewrite_entries(Change change) {
    platform::Host host = node_.host();
    std::size_t count = SIZE_MAX;
    const platform::test::Root root(node_.core(), rewrite(&host, change, &count));
    EXPECT_EQ(world_.run_until([&] { return root.done(); }, 1min), platform::sim::Outcome::Done);
    return count;
  }

  platform::sim::World world_{1};
  platform::sim::Node& node_ = world_.add_node();
  ScriptedOrigins origins_{node_.clock()};
  OriginAnswer answer_;
  std::optional<EdgeLife> life_;
};

TEST_F(AssetFillerTest, ACopyIsCheckedWhereItIsFrom) {
  answer_.fields = fresh_for(10);
  answer_.final_url = "https://example.org/v1";
  start();
  get();
  life_->stop();
  start();
  world_.run_for(11s);
  get();
  EXPECT_EQ(origins_.asked.back().validators.etag, "\"v1\"");
  EXPECT_EQ(origins_.asked.back().validators.url, "https://example.org/v1");
  answer_.final_url = "https://example.org/a.txt";
  world_.run_for(11s);
  get();
  world_.run_for(11s);
  get();
  EXPECT_EQ(origins_.asked.back().validators.url, "");
}

TEST_F(AssetFillerTest, A304WithoutAnAgeIsNew) {
  start();
  answer_.fields = fresh_for(100);
  answer_.fields.emplace_back("Age", "90");
  answer_.fields.emplace_back("Date", "Thu, 01 Jan 1970 00:00:00 GMT");
  get();
  world_.run_for(11s);
  answer_ = {.status = 304};
  EXPECT_EQ(get().field("X-Cache"), "revalidated");
  EXPECT_EQ(get().field("X-Cache"), "hit");
  EXPECT_EQ(get().field("Age"), "0");
  EXPECT_EQ(asked(), 2U);
}

TEST_F(AssetFillerTest, A304ThatVariesIsForThoseWhoAskTheSame) {
  start();
  answer_.fields = fresh_for(10);
  get(kUrl, "Accept-Language: de\r\n");
  world_.run_for(11s);
  answer_ = {.status = 304, .fields = {{"Vary", "Accept-Language"}}};
  EXPECT_EQ(get(kUrl, "Accept-Language: de\r\n").field("X-Cache"), "revalidated");
  EXPECT_EQ(get(kUrl, "Accept-Language: de\r\n").field("X-Cache"), "hit");
  EXPECT_EQ(life_->table().entries(), 1U);
  answer_ = {.body = "in English", .fields = fresh_for(10)};
  const Answer english = get(kUrl, "Accept-Language: en\r\n");
  EXPECT_EQ(english.body, "in English");
  EXPECT_EQ(origins_.asked.back().validators.etag, "");
}

// Redirects may say other things when a copy is checked than they did when it came.
TEST_F(AssetFillerTest, A304ThatMayNotBeKeptTakesTheCopyAlong) {
  start();
  answer_.fields = fresh_for(10);
  get();
  world_.run_for(11s);
  answer_ = {.status = 304};
  http::CacheFields hop;
  hop.add("Cache-Control", "no-store", 0);
  answer_.restraints.add_redirect(302, hop, false, {});
  const Answer checked = get();
  EXPECT_EQ(checked.status, 200);
  EXPECT_EQ(checked.body, "hello");
  EXPECT_NE(checked.field("Cache-Control").find("no-store"), std::string::npos);
  EXPECT_EQ(life_->table().entries(), 0U);
  life_->settle();
  EXPECT_EQ(life_->core().assets().store()->volume().stats().objects, 0U);
}

// Not a byte of them is on disk, at no time.
TEST_F(AssetFillerTest, LargeBodiesThatMayNotBeKeptAreRefused) {
  start();
  answer_.body = noise(11'000'123);
  const auto refused = [&](std::string_view lines = "") {
    const Answer answer = get(kUrl, lines);
    EXPECT_NE(answer.body.find("may not be kept"), std::string::npos);
    const auto stats = life_->core().assets().store()->volume().stats();
    EXPECT_EQ(stats.uploads + stats.objects + stats.stored_bytes, 0U);
    return answer.status == 413;
  };
  for (const bool says_length : {true, false}) {
    answer_.says_length = says_length;
    answer_.fields = {{"Cache-Control", "no-store"}, {"ETag", "\"v1\""}};
    EXPECT_TRUE(refused());
    answer_.fields = fresh_for(60);
    EXPECT_TRUE(refused("Cache-Control: no-store\r\n"));
  }
  EXPECT_EQ(life_->counted("edge_rejects_total", "body_cap"), 4U);
  EXPECT_EQ(get().status, 200);
  answer_.body = noise(base::limits::kDecodedBytes);
  answer_.fields = {{"Cache-Control", "no-store"}, {"ETag", "\"v1\""}};
  EXPECT_TRUE(get("/edge/assets/example.org/b").body == answer_.body);
}

TEST_F(AssetFillerTest, BrowsersAreToldThatItIsNotOurs) {
  start();
  for (const std::string_view lines : {"", "", "Range: bytes=0-1\r\n"}) {
    const Answer answer = get(kUrl, lines);
    EXPECT_EQ(answer.field("Content-Security-Policy"), "sandbox");
  }
}

// One that another version wrote is as good as none.
TEST_F(AssetFillerTest, EntriesThatCannotBeReadAreForgotten) {
  start();
  get();
  life_->stop();
  life_.reset();
  const Change of_another_version = [](std::string text) {
    text[0] = '\x01';
    return text;
  };
  EXPECT_EQ(rewrite_entries(of_another_version), 1U);
  start();
  EXPECT_EQ(life_->table().entries(), 0U);
  life_->settle();
  EXPECT_EQ(life_->core().assets().store()->volume().stats().objects, 0U);
  life_->stop();
  life_.reset();
  EXPECT_EQ(rewrite_entries(nullptr), 0U);
}

// Earlier versions kept an asset under each spelling of its URL, where no purge finds it now.
TEST_F(AssetFillerTest, EntriesUnderAnotherSpellingOfTheirUrlAreForgotten) {
  for (const Change respell :
       {+[](std::string url) { return url + "?"; },
        +[](std::string) { return std::string("https://example.org/%61.txt"); }}) {
    static Change spell;
    spell = respell;
    start();
    get();
    life_->stop();
    life_.reset();
    const Change of_an_earlier_version = [](std::string text) {
      AssetFacts facts = decode_facts(text).value();
      facts.url = spell(facts.url);
      return encode(facts);
    };
    EXPECT_EQ(rewrite_entries(of_an_earlier_version), 1U);
    start();
    EXPECT_EQ(life_->table().entries(), 0U);
    life_->settle();
    EXPECT_EQ(life_->core().assets().store()->volume().stats().objects, 0U);
    life_->stop();
    life_.reset();
    EXPECT_EQ(rewrite_entries(nullptr), 0U);
  }
}

}  // namespace
}  // namespace ron::edge
