#include "services/edge/sites.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "services/edge/site_keeper.h"
#include "services/edge/test_sites.h"

namespace ron::edge {
namespace {

using namespace std::chrono_literals;
using testing::EdgeSites;

// Of an answer; empty when it is not there.
std::string header(const http::test::Answer& answer, const std::string& name) {
  const std::size_t at = answer.head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size() + 4;
  return answer.head.substr(begin, answer.head.find("\r\n", begin) - begin);
}

constexpr const char* kConfigured = "[[edge.sites]]\nname = \"s\"\ntarget = \"docs\"\n";

TEST_F(EdgeSites, AreReadBeforeAnyoneIsLetIn) {
  set_name("docs", {{"index.html", "one"}});
  start({}, kConfigured);
  EXPECT_EQ(get("s/").body, "one");
}

TEST_F(EdgeSites, ASlowOriginHoldsNobodyUp) {
  set_name("docs", {{"index.html", "one"}});
  index_.takes = 4s;
  start({}, kConfigured);
  EXPECT_EQ(get("s/").status, 503);
  EXPECT_EQ(core_->sites().missing(), std::vector<std::string>{"sites"});
  world_.run_for(5s);
  EXPECT_EQ(get("s/").body, "one");
  EXPECT_TRUE(core_->sites().missing().empty());
}

TEST_F(EdgeSites, FollowTheirNameAndNothingElse) {
  set_name("docs", {{"index.html", "one"}});
  start({"edge.sites_refresh=100ms"});
  ASSERT_EQ(add_site("s", "docs").status, 201);
  ASSERT_EQ(add_site("first", "docs@1").status, 201);
  const std::uint64_t asked = index_.asked;
  world_.run_for(1s);
  EXPECT_GE(index_.asked, asked + 9);
  EXPECT_LE(index_.asked, asked + 11);  // one of the two is settled
  set_name("docs", {{"index.html", "two"}});
  world_.run_for(200ms);
  EXPECT_EQ(get("s/").body, "two");
  EXPECT_EQ(get("first/").body, "one");
  EXPECT_EQ(header(get("s/"), "Cache-Control"), "no-cache");
  EXPECT_EQ(header(get("first/"), "Cache-Control"), "public, max-age=31536000, immutable")
      << "a version of a name never changes";
}

TEST_F(EdgeSites, ASlowSiteHoldsUpNoOther) {
  for (const char* name : {"a", "b", "c"}) set_name(name, {{"index.html", "one"}});
  start({"edge.sites_refresh=100ms"},
        "[[edge.sites]]\nname = \"a\"\ntarget = \"a\"\n"
        "[[edge.sites]]\nname = \"b\"\ntarget = \"b\"\n");
  set_name("a", {{"index.html", "slow"}});
  storage_.slow[index_.names["a"].back().text()] = 20s;
  world_.run_for(1s);
  set_name("b", {{"index.html", "two"}});
  ASSERT_EQ(add_site("c", "c").status, 201);
  set_name("c", {{"index.html", "two"}});
  world_.run_for(500ms);
  EXPECT_EQ(get("a/").body, "one");
  EXPECT_EQ(get("b/").body, "two");
  EXPECT_EQ(get("c/").body, "two");
  world_.run_for(20s);
  EXPECT_EQ(get("a/").body, "slow");
}

// More than there are lanes, and all but one of them take long.
TEST_F(EdgeSites, AsManyAreReadAtOnceAsThereAreLanes) {
  std::string rows;
  for (std::size_t i = 0; i < 2 * SiteKeeper::kLanes; ++i) {
    const std::string name = "s" + std::to_string(10 + i);
    set_name(name, {{"index.html", name}});
    storage_.slow[index_.names[name].back().text()] = 5s;
    rows += "[[edge.sites]]\nname = \"" + name + "\"\ntarget = \"" + name + "\"\n";
  }
  start({}, rows);
  world_.run_for(4s);
  const auto read = [this] {
    std::size_t count = 0;
    for (const auto& [name, site] : *core_->sites().all()) count += site->tree ? 1 : 0;
    return count;
  };
  EXPECT_EQ(read(), 0U) << "the first look was given up and begun again";
  world_.run_for(2s);
  EXPECT_EQ(read(), SiteKeeper::kLanes);
  world_.run_for(5s);
  EXPECT_EQ(read(), 2 * SiteKeeper::kLanes);
  EXPECT_TRUE(core_->sites().missing().empty());
}

TEST_F(EdgeSites, SayWhichOfTheirFilesAreNotStored) {
  set_name("docs", {{"a/b.css", "style"}, {"index.html", "one"}, {"z.html", "last"}});
  const auto address = [](std::string_view text) { return b3::hash(base::as_bytes(text)).text(); };
  storage_.objects.erase(address("last"));
  storage_.objects.erase(address("style"));
  start({"edge.sites_check=1m"}, kConfigured);
  world_.run_for(1s);
  EXPECT_EQ(core_->sites().find("s")->missing, (MissingFiles{2, "a/b.css"}));
  EXPECT_EQ(core_->sites().missing(), std::vector<std::string>{"sites: s misses 2 files"});
  EXPECT_EQ(core_->sites().missing_files(), (runtime::Meters::Levels{{"s", 2}}));
  EXPECT_TRUE(core_->readiness().degraded);
  const std::string listed = ask("GET", "/edge/sites").body;
  EXPECT_TRUE(listed.contains(R"("first_missing":"a/b.css")")) << listed;
  EXPECT_TRUE(listed.contains(R"("missing_files":2)")) << listed;
  EXPECT_EQ(get("s/").body, "one") << "the rest is shown";

  storage_.keep("style");
  storage_.keep("last");
  world_.run_for(50s);
  EXPECT_EQ(core_->sites().find("s")->missing.count, 2U);
  world_.run_for(20s);
  EXPECT_EQ(core_->sites().find("s")->missing, MissingFiles{});
  EXPECT_TRUE(core_->sites().missing().empty());
}

TEST_F(EdgeSites, AreCheckedAgainWhenTheyMoveAndNotOtherwise) {
  set_name("docs", {{"index.html", "one"}});
  start({"edge.sites_check=1h", "edge.sites_refresh=100ms"}, kConfigured);
  world_.run_for(10s);
  EXPECT_EQ(storage_.asked, 1U);
  set_name("docs", {{"index.html", "two"}, {"more", "more"}});
  world_.run_for(10s);
  EXPECT_EQ(storage_.asked, 3U);
  storage_.objects.clear();
  reload({"edge.sites_check=1s", "edge.sites_refresh=100ms"}, kConfigured);
  world_.run_for(10s);
  EXPECT_EQ(core_->sites().find("s")->missing.count, 2U);
}

// Many files are asked for a few at a time, and nothing is said of them before all are known.
TEST_F(EdgeSites, AreCheckedAFewFilesAtATime) {
  Files files;
  for (int i = 0; i < 1000; ++i) files["f" + std::to_string(i)] = std::to_string(i);
  set_name("docs", files);
  start({}, kConfigured);
  const std::uint64_t before = storage_.asked;
  world_.run_for(10 * kCheckRest);
  EXPECT_GT(storage_.asked, before);
  EXPECT_LE(storage_.asked - before, 11 * kCheckedAtOnceHere);
  world_.run_for(10s);
  EXPECT_EQ(storage_.asked, 1000U);
}

TEST_F(EdgeSites, WhatTheStorageCannotTellIsNotMissing) {
  set_name("docs", {{"index.html", "one"}});
  storage_.stat_failure = base::Error(base::Code::Busy, "the queue is full");
  start({}, kConfigured);
  world_.run_for(10s);
  EXPECT_EQ(core_->sites().find("s")->missing, MissingFiles{});
  EXPECT_TRUE(core_->sites().missing().empty());
  storage_.stat_failure.reset();
  storage_.objects.erase(b3::hash(base::as_bytes(std::string_view("one"))).text());
  world_.run_for(2min);
  EXPECT_EQ(core_->sites().find("s")->missing.count, 1U) << "it was never asked again";
}

TEST_F(EdgeSites, TheSameTreeIsNotReadAgain) {
  set_name("docs", {{"index.html", "one"}});
  start({"edge.sites_refresh=100ms"});
  ASSERT_EQ(add_site("s", "docs").status, 201);
  world_.run_for(1s);
  index_.names["docs"].push_back(index_.names["docs"].back());
  world_.run_for(1s);
  EXPECT_EQ(core_->sites().find("s")->version, 2U);
  EXPECT_EQ(storage_.opened.at(index_.names["docs"].back().text()), 1);
}

TEST_F(EdgeSites, WhatIsShownStaysWhenItsNameFails) {
  set_name("docs", {{"index.html", "one"}});
  start({"edge.sites_refresh=100ms"});
  ASSERT_EQ(add_site("s", "docs").status, 201);
  index_.failure = base::Error(base::Code::Busy, "the index is busy");
  world_.run_for(60s);
  client_ = std::make_unique<http::test::RawClient>(world_, peer_, endpoint_);
  EXPECT_EQ(get("s/").body, "one");
  EXPECT_EQ(core_->sites().find("s")->error->message, "the index is busy");
  // Less and less often.
  const std::uint64_t asked = index_.asked;
  world_.run_for(60s);
  EXPECT_LE(index_.asked, asked + 5);
  index_.failure.reset();
  world_.run_for(31s);
  EXPECT_FALSE(core_->sites().find("s")->error);
}

// Readiness says whether the origin answers, and not whether every name is one.
TEST_F(EdgeSites, AnOriginThatDoesNotAnswerIsMissed) {
  using Missing = std::vector<std::string>;
  index_.failure = base::Error(base::Code::UpstreamFail, "nobody is there");
  start({"edge.sites_refresh=100ms"}, kConfigured);
  EXPECT_EQ(core_->sites().missing(), Missing{"sites: the origin does not answer"});
  index_.failure.reset();
  world_.run_for(31s);
  EXPECT_EQ(core_->sites().find("s")->error->code, base::Code::NotFound);
  EXPECT_EQ(core_->sites().missing(), Missing{});
  set_name("docs", {{"index.html", "one"}});
  world_.run_for(1s);
  EXPECT_EQ(core_->sites().missing(), Missing{});
  index_.failure = base::Error(base::Code::Unauthorized, "who are you");
  world_.run_for(1s);
  EXPECT_EQ(core_->sites().missing(),
            Missing{"sites: the origin does not give them: Unauthorized"});
  index_.failure.reset();
  world_.run_for(31s);
  EXPECT_EQ(core_->sites().missing(), Missing{});
}

// Requests and switches in all orders: a page, its coding, its tag and its ranges are of one tree.
TEST_F(EdgeSites, AnswersNeverMixTwoTrees) {
  std::vector<std::string> pages;
  std::map<std::string, std::string> by_tag;
  for (int i = 0; i < 2; ++i) {
    pages.push_back(std::string(20'000, static_cast<char>('a' + i)));
    const std::string packed = "gzip of " + std::to_string(i);
    set_name("docs", {{"index.html", pages.back()}, {"index.html.gz", packed}});
    for (const std::string& text : {pages.back(), packed}) {
      by_tag["\"" + b3::hash(base::as_bytes(text)).text() + "\""] = text;
    }
  }
  const std::vector<base::ObjectId> trees = index_.names["docs"];
  start({"edge.sites_refresh=10ms"});
  ASSERT_EQ(add_site("s", "docs").status, 201);
  storage_.takes = 7ms;
  index_.takes = 3ms;
  std::set<std::string> seen;
  for (int i = 0; i < 300; ++i) {
    if (i % 5 == 0) index_.names["docs"].push_back(trees[static_cast<std::size_t>(i / 5 % 2)]);
    const auto whole = get("s/");
    const std::string tag = header(whole, "ETag");
    ASSERT_EQ(whole.body, by_tag.at(tag)) << i;
    const auto part = get("s/", "Range: bytes=100-199\r\n");
    ASSERT_EQ(part.body, by_tag.at(header(part, "ETag")).substr(100, 100)) << i;
    const auto packed = get("s/", "Accept-Encoding: gzip\r\n");
    ASSERT_EQ(packed.body, by_tag.at(header(packed, "ETag"))) << i;
    ASSERT_EQ(header(packed, "Content-Encoding"), "gzip");
    seen.insert(tag);
    world_.run_for(4ms);
  }
  EXPECT_EQ(seen.size(), 2U);
}

TEST_F(EdgeSites, AFileIsReadOnceForAllWhoAskAtOnce) {
  set_name("docs", {{"index.html", "one"}});
  start();
  ASSERT_EQ(add_site("s", "docs").status, 201);
  storage_.takes = 50ms;
  const std::string page = b3::hash(base::as_bytes("one")).text();
  std::vector<std::unique_ptr<http::test::RawClient>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<http::test::RawClient>(world_, peer_, endpoint_));
    clients.back()->send("GET /edge/sites/s/ HTTP/1.1\r\nHost: web.example\r\n\r\n");
  }
  world_.run_for(200ms);
  EXPECT_EQ(storage_.opened.at(page), 1);
  EXPECT_EQ(get("s/").body, "one");
  EXPECT_EQ(storage_.opened.at(page), 1);
}

TEST_F(EdgeSites, WhatAManifestSaysOfAFileHasToBeSo) {
  const base::ObjectId file = storage_.keep("four");
  const catalog::Manifest manifest{
      {{.path = "a.txt",
        .what = catalog::TreeFile{.address = file, .length = 5, .type = "text/plain"},
        .mtime_s = {}},
       {.path = "large.bin",
        .what =
            catalog::TreeFile{
                .address = file, .length = 9 * base::kMiB, .type = "application/octet-stream"},
        .mtime_s = {}}}};
  const base::ObjectId address = storage_.keep(catalog::print(manifest));
  start();
  ASSERT_EQ(add_site("s", address.text()).status, 201);
  EXPECT_EQ(get("s/a.txt").status, 502);
  EXPECT_EQ(get("s/large.bin").status, 502);
}

TEST_F(EdgeSites, AreKeptUntilTheyAreRemoved) {
  set_name("docs", {{"index.html", "one"}});
  start();
  ASSERT_EQ(add_site("s", "docs").status, 201);
  ASSERT_EQ(add_site("t", "docs").status, 201);
  ASSERT_EQ(ask("DELETE", "/admin/sites/t").status, 200);
  EXPECT_EQ(ask("DELETE", "/admin/sites/t").status, 404);
  start();
  EXPECT_EQ(get("s/").body, "one");
  EXPECT_EQ(get("t/").status, 404);
}

TEST_F(EdgeSites, AReloadTakesAndGives) {
  set_name("docs", {{"index.html", "one"}});
  set_name("other", {{"index.html", "other"}});
  start({"edge.sites_refresh=1h"}, kConfigured);
  EXPECT_EQ(get("s/").body, "one");
  EXPECT_EQ(add_site("s", "other").status, 403);
  EXPECT_EQ(ask("DELETE", "/admin/sites/s").status, 403);
  reload({"edge.sites_refresh=1h"}, "[[edge.sites]]\nname = \"s\"\ntarget = \"other\"\n");
  EXPECT_EQ(get("s/").body, "other");
  reload({});
  EXPECT_EQ(get("s/").status, 404);
}

// What memory has says for how long it holds, so the same tree is another one.
TEST_F(EdgeSites, AnAddressHoldsForeverAndANameDoesNot) {
  set_name("docs", {{"index.html", "one"}});
  start();
  ASSERT_EQ(add_site("s", index_.names["docs"].back().text()).status, 201);
  EXPECT_EQ(header(get("s/"), "Cache-Control"), "public, max-age=31536000, immutable");
  ASSERT_EQ(add_site("s", "docs").status, 200);
  EXPECT_EQ(header(get("s/"), "Cache-Control"), "no-cache");
}

TEST_F(EdgeSites, WithoutAnOriginThereIsAReason) {
  has_origin = false;
  start();
  EXPECT_TRUE(core_->sites().missing().empty());
  EXPECT_EQ(add_site("s", "docs").status, 503);
  start({}, kConfigured);
  EXPECT_EQ(get("s/").status, 503);
  EXPECT_EQ(core_->sites().missing(), std::vector<std::string>{"edge.origin"});
}

}  // namespace
}  // namespace ron::edge
