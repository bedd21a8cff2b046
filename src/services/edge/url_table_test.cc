#include "services/edge/url_table.h"

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "services/edge/test_assets.h"

namespace ron::edge {
namespace {

using testing::fresh_for;

// A stored answer; `vary` names what it depends on.
AssetPtr asset(std::string url, std::string hold, std::uint64_t length = 100,
               Preferences preferences = {}, std::string vary = "") {
  AssetFacts facts;
  facts.url = "https://example.org/" + std::move(url);
  facts.preferences = std::move(preferences);
  facts.fields = fresh_for(60);
  if (!vary.empty()) facts.fields.emplace_back("Vary", std::move(vary));
  facts.length = length;
  facts.hold = std::move(hold);
  static std::uint64_t serial = 0;
  return std::make_shared<const Asset>(std::move(facts), ++serial, base::Duration{});
}
bool knows(const UrlTable& table, const std::string& url, const Preferences& asked = {}) {
  return table.find("https://example.org/" + url, asked).asset != nullptr;
}

TEST(UrlTable, FindsTheVariantThatFits) {
  UrlTable table({base::kMiB, 100});
  EXPECT_TRUE(table.put(asset("a", "1", 10, {.accept_language = "de"}, "Accept-Language")).empty());
  EXPECT_TRUE(table.put(asset("a", "2", 10, {.accept_language = "fr"}, "Accept-Language")).empty());
  EXPECT_EQ(table.find("https://example.org/a", {.accept_language = "de"}).asset->facts.hold, "1");
  const auto french = table.find("https://example.org/a", {"text/html", "fr"});
  EXPECT_EQ(french.asset->facts.hold, "2");
  EXPECT_TRUE(french.vary.accept_language);
  EXPECT_FALSE(french.vary.accept);
  EXPECT_FALSE(knows(table, "a"));
  EXPECT_FALSE(knows(table, "b"));
}

TEST(UrlTable, TheSameVariantIsReplacedAndLetGo) {
  UrlTable table({base::kMiB, 100});
  const AssetPtr first = asset("a", "1");
  static_cast<void>(table.put(first));
  const auto gone = table.put(asset("a", "2"));
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0], first);
  EXPECT_FALSE(table.has(*first));
  EXPECT_EQ(table.entries(), 1U);
  EXPECT_EQ(table.bytes(), 100 + UrlTable::kRecordBytes);
}

TEST(UrlTable, WhatIsFreshenedKeepsItsBytes) {
  UrlTable table({base::kMiB, 100});
  const AssetPtr before = asset("a", "1");
  const AssetPtr after = asset("a", "1");
  static_cast<void>(table.put(before));
  EXPECT_TRUE(table.put(after).empty());
  EXPECT_TRUE(table.has(*after));
  EXPECT_FALSE(table.has(*before));
}

TEST(UrlTable, AUrlHasAFewVariantsOnly) {
  UrlTable table({base::kMiB, 100});
  std::vector<AssetPtr> gone;
  for (std::size_t i = 0; i < 3 * UrlTable::kMaxVariants; ++i) {
    const std::string number = std::to_string(i);
    std::ranges::move(table.put(asset("a", number, 10, {.accept = number}, "accept")),
                      std::back_inserter(gone));
  }
  EXPECT_EQ(table.entries(), UrlTable::kMaxVariants);
  ASSERT_EQ(gone.size(), 2 * UrlTable::kMaxVariants);
  EXPECT_EQ(gone.front()->facts.hold, "0");
  EXPECT_TRUE(knows(table, "a", {.accept = "23"}));
}

// Anybody can make as many 404s of a URL as there are values of Accept.
TEST(UrlTable, A404TakesNoCopysPlace) {
  const auto missing = [](std::string accept) {
    AssetFacts facts;
    facts.url = "https://example.org/a";
    facts.status = 404;
    facts.preferences.accept = std::move(accept);
    return std::make_shared<const Asset>(std::move(facts), 1, std::chrono::seconds(5));
  };
  UrlTable table({base::kMiB, 100});
  for (std::size_t i = 1; i < UrlTable::kMaxVariants; ++i) {
    static_cast<void>(
        table.put(asset("a", std::to_string(i), 10, {.accept = std::to_string(i)}, "Accept")));
  }
  const AssetPtr first = missing("x");
  EXPECT_TRUE(table.put(first).empty());
  EXPECT_TRUE(table.has(*first));
  EXPECT_FALSE(knows(table, "a", {.accept = "y"}));
  EXPECT_FALSE(knows(table, "a", {.accept = "x", .accept_language = "de"}));
  // It says nothing of how the others are chosen.
  EXPECT_EQ(table.find("https://example.org/a", {.accept = "x"}).vary, VaryMask{.accept = true});
  // A further 404 takes its place, and a further copy takes that.
  const AssetPtr second = missing("y");
  static_cast<void>(table.put(second));
  EXPECT_TRUE(table.has(*second));
  EXPECT_FALSE(table.has(*first));
  EXPECT_EQ(table.put(asset("a", "8", 10, {.accept = "8"}, "Accept")).size(), 1U);
  const AssetPtr late = missing("z");
  EXPECT_EQ(table.put(late), UrlTable::LetGo{late});
  for (std::size_t i = 1; i <= UrlTable::kMaxVariants; ++i) {
    EXPECT_TRUE(knows(table, "a", {.accept = std::to_string(i)})) << i;
  }
  EXPECT_EQ(table.entries(), UrlTable::kMaxVariants);
}

TEST(UrlTable, WhatIsTooLargeIsLetGoAtOnce) {
  UrlTable table({10'000, 100});
  const AssetPtr large = asset("a", "1", 10'000);
  const auto gone = table.put(large);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0], large);
  EXPECT_EQ(table.entries(), 0U);
}

TEST(UrlTable, AScanDoesNotDriveOutWhatIsWanted) {
  for (const UrlTable::Bounds bounds :
       {UrlTable::Bounds{100 * 612, 100'000}, UrlTable::Bounds{base::kGiB, 100}}) {
    UrlTable table(bounds);
    for (int i = 0; i < 50; ++i)
      static_cast<void>(table.put(asset("hot" + std::to_string(i), "h")));
    for (int i = 0; i < 5'000; ++i) {
      static_cast<void>(table.put(asset("scan" + std::to_string(i), "s" + std::to_string(i))));
      if (i % 10 == 0) {
        for (int j = 0; j < 50; ++j) static_cast<void>(knows(table, "hot" + std::to_string(j)));
      }
    }
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(knows(table, "hot" + std::to_string(i))) << i;
  }
}

// Each counts with what it takes: long URLs and many header lines leave room for fewer, and do not
// drive out what is wanted.
TEST(UrlTable, IsBoundedInMemory) {
  constexpr std::uint64_t kEntries = 1000;
  UrlTable table({base::kGiB, kEntries});
  for (int i = 0; i < 50; ++i) static_cast<void>(table.put(asset("hot" + std::to_string(i), "h")));
  const auto want_hot = [&] {
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(knows(table, "hot" + std::to_string(i))) << i;
  };
  for (int i = 0; i < 5'000; ++i) {
    AssetFacts facts;
    facts.url = "https://example.org/" + std::to_string(i) + "?" + std::string(4'000, 'q');
    facts.status = 404;
    facts.fields = {{"X-Long", std::string(static_cast<std::size_t>(i % 8) * 1'000, 'l')}};
    static_cast<void>(
        table.put(std::make_shared<const Asset>(std::move(facts), 1, base::Duration{})));
    EXPECT_LE(table.memory_bytes(), kEntries * UrlTable::kEntryBytes);
    if (i % 10 == 0) want_hot();
  }
  want_hot();
  // There is room for 2,048,000 bytes, and each takes 8,000 to 16,000.
  EXPECT_GT(table.entries(), 100U);
  EXPECT_LT(table.entries(), 300U);
  static_cast<void>(table.purge([](const Asset&) { return true; }));
  EXPECT_EQ(table.memory_bytes(), 0U);
}

TEST(UrlTable, WhatWasAskedForBeforeAPurgeIsNotPutAfterIt) {
  UrlTable table({base::kMiB, 100});
  const std::uint64_t before = table.purges();
  EXPECT_TRUE(table.put_unless_purged(asset("a", "1"), before));
  EXPECT_EQ(table.purge([](const Asset& one) { return one.facts.hold == "1"; }).size(), 1U);
  EXPECT_FALSE(table.put_unless_purged(asset("a", "2"), before));
  EXPECT_FALSE(knows(table, "a"));
  EXPECT_TRUE(table.put_unless_purged(asset("a", "3"), table.purges()));
  EXPECT_TRUE(knows(table, "a"));
}

TEST(UrlTable, WhatIsReplacedIsThereAtEveryMoment) {
  UrlTable table({base::kMiB, 100});
  static_cast<void>(table.put(asset("a", "0")));
  std::atomic<bool> is_over = false;
  std::atomic<int> missed = 0;
  {
    const std::jthread reader([&] {
      while (!is_over.load()) missed += knows(table, "a") ? 0 : 1;
    });
    for (int i = 1; i < 20'000; ++i) static_cast<void>(table.put(asset("a", std::to_string(i))));
    is_over = true;
  }
  EXPECT_EQ(missed.load(), 0);
}

TEST(UrlTable, LowerBoundsTakeEffect) {
  UrlTable table({base::kMiB, 100});
  for (int i = 0; i < 50; ++i) {
    static_cast<void>(table.put(asset(std::to_string(i), std::to_string(i))));
  }
  table.set_bounds({base::kMiB, 10});
  EXPECT_EQ(table.entries(), 50U);
  EXPECT_EQ(table.trim().size(), 40U);
  EXPECT_EQ(table.entries(), 10U);
}

// Whatever is done with it: it is within its bounds, it knows exactly what was put and not let go,
// and everything is let go once.
TEST(UrlTable, IsBoundedAndLetsGoExactlyOnce) {
  EXPECT_TRUE(rc::check([] {
    UrlTable::Bounds bounds{*rc::gen::inRange<std::uint64_t>(2'000, 40'000),
                            *rc::gen::inRange<std::uint64_t>(1, 40)};
    UrlTable table(bounds);
    std::map<std::string, AssetPtr> held;  // by hold
    int next = 0;
    const auto let_go = [&](const UrlTable::LetGo& gone) {
      for (const AssetPtr& one : gone) RC_ASSERT(held.erase(one->facts.hold) == 1);
    };
    const auto steps = *rc::gen::container<std::vector<int>>(200, rc::gen::inRange(0, 1000));
    for (const int step : steps) {
      const std::string url = std::to_string(step % 60);
      const int what = step % 17;
      if (what < 10) {
        const std::string hold = std::to_string(++next);
        const std::string variant = std::to_string(step % 3);
        const AssetPtr made = asset(url, hold, static_cast<std::uint64_t>(step) * 5,
                                    {.accept = variant}, step % 2 == 0 ? "Accept" : "");
        held[hold] = made;
        let_go(table.put(made));
      } else if (what < 14) {
        static_cast<void>(knows(table, url, {.accept = std::to_string(step % 3)}));
      } else if (what == 14 && !held.empty()) {
        const AssetPtr victim = held.begin()->second;
        RC_ASSERT(table.erase(*victim));
        RC_ASSERT(!table.erase(*victim));
        held.erase(victim->facts.hold);
      } else if (what == 15) {
        let_go(table.purge([&](const Asset& one) { return one.facts.url.ends_with(url); }));
      } else {
        bounds.entries = 1 + static_cast<std::uint64_t>(step) % 40;
        table.set_bounds(bounds);
        let_go(table.trim());
      }
      std::uint64_t bytes = 0;
      for (const auto& [hold, one] : held) {
        RC_ASSERT(table.has(*one));
        bytes += one->facts.length + UrlTable::kRecordBytes;
      }
      RC_ASSERT(table.entries() == held.size());
      RC_ASSERT(table.bytes() == bytes);
      RC_ASSERT(bytes <= bounds.bytes && held.size() <= bounds.entries);
    }
  }));
}

TEST(AssetFacts, AreReadBackAsTheyWereWritten) {
  AssetFacts facts;
  facts.url = "https://example.org/a?b";
  facts.preferences = {"text/html", "de"};
  facts.fields = fresh_for(5);
  facts.times = {1, 2};
  facts.length = 7;
  facts.final_url = "https://example.org/c";
  facts.hold = "h";
  const std::string text = encode(facts);
  const auto read = decode_facts(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(encode(*read), text);
  EXPECT_EQ(read->preferences, facts.preferences);
  EXPECT_EQ(read->final_url, facts.final_url);
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    EXPECT_FALSE(decode_facts(std::string_view(text).substr(0, cut))) << cut;
  }
  EXPECT_FALSE(decode_facts(text + "x"));
}

}  // namespace
}  // namespace ron::edge
