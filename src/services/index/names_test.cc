#include "services/index/names.h"

#include <set>

#include <gtest/gtest.h>

#include "services/index/test_index.h"

namespace ron::index {
namespace {

using testing::named;
using testing::removed;
using testing::TestStore;

class Names : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(store_.open()); }

  void put(std::initializer_list<const char*> names) {
    for (const char* name : names) ASSERT_TRUE(store_.set(named(name, name)));
  }
  // Page after page, names and prefixes as they come.
  std::vector<std::string> walk(ListQuery query) {
    std::vector<std::string> all;
    for (int pages = 0; pages < 1000; ++pages) {
      const NamePage page = store_.list(query);
      for (const auto& name : page.names) all.push_back(name.name);
      for (const auto& prefix : page.prefixes) all.push_back(prefix);
      EXPECT_LE(page.names.size() + page.prefixes.size(), query.limit);
      if (!page.next) break;
      query.after = *page.next;
    }
    return all;
  }

  volume::Machine machine_{1};
  TestStore store_{machine_};
};

using Texts = std::vector<std::string>;

TEST_F(Names, AreListedInOrderWhateverThePage) {
  put({"b", "a", "a/x", "a/y/z", "c", "a-b"});
  for (const std::size_t limit : {1, 2, 3, 100}) {
    EXPECT_EQ(walk({.limit = limit}), (Texts{"a", "a-b", "a/x", "a/y/z", "b", "c"})) << limit;
  }
  EXPECT_EQ(walk({.prefix = "a/", .limit = 10}), (Texts{"a/x", "a/y/z"}));
}

TEST_F(Names, BelowADelimiterStandOnce) {
  put({"a", "a/x", "a/y/z", "a/y/w", "a0", "b/c"});
  for (const std::size_t limit : {1, 2, 100}) {
    const Texts found = walk({.delimiter = "/", .limit = limit});
    EXPECT_EQ(std::set(found.begin(), found.end()), (std::set<std::string>{"a", "a/", "a0", "b/"}))
        << limit;
    EXPECT_EQ(found.size(), 4U) << limit;
  }
  const NamePage page = store_.list({.prefix = "a/", .delimiter = "/", .limit = 10});
  ASSERT_EQ(page.names.size(), 1U);
  EXPECT_EQ(page.names.front().name, "a/x");
  EXPECT_EQ(page.prefixes, (Texts{"a/y/"}));
}

TEST_F(Names, ManyPrefixesFitOnAPage) {
  for (int i = 0; i < 150; ++i) {
    ASSERT_TRUE(store_.set(named("docs/d" + std::to_string(i) + "/x", "x")));
    ASSERT_TRUE(store_.set(named("docs/d" + std::to_string(i) + "/y", "x")));
  }
  const NamePage page = store_.list({.prefix = "docs/", .delimiter = "/", .limit = 1000});
  EXPECT_EQ(page.prefixes.size(), 150U);
  EXPECT_FALSE(page.next);
}

TEST_F(Names, ThoseThatWereRemovedAreStoodOver) {
  for (int i = 0; i < 600; ++i) {
    const std::string name = "n" + std::to_string(1000 + i);
    ASSERT_TRUE(store_.set(named(name, "x")));
    if (i % 300 != 299) ASSERT_TRUE(store_.set(removed(name)));
  }
  EXPECT_EQ(walk({.limit = 1}), (Texts{"n1299", "n1599"}));
}

TEST_F(Names, HistoryIsNewestFirst) {
  for (int i = 1; i <= 7; ++i) ASSERT_TRUE(store_.set(named("docs", std::to_string(i))));
  const auto name = catalog::parse_name("docs").value();
  std::vector<std::uint64_t> versions;
  std::uint64_t before = UINT64_MAX;
  for (;;) {
    const History page =
        testing::run(machine_, name_history(&store_->map(), name, before, 3)).value();
    for (const NameVersion& version : page.versions) versions.push_back(version.version);
    if (!page.has_more) break;
    before = page.versions.back().version;
  }
  EXPECT_EQ(versions, (std::vector<std::uint64_t>{7, 6, 5, 4, 3, 2, 1}));
}

}  // namespace
}  // namespace ron::index
