#include "catalog/manifest_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "catalog/manifest_diff.h"
#include "catalog/test_tree.h"

namespace ron::catalog {
namespace {

using testing::directory_at;
using testing::file_at;
using testing::link_at;

Manifest sample() {
  return {{file_at("a-b", "12"), file_at("a/c", "1"), file_at("a/d/e", "123"), file_at("aé/x"),
           directory_at("empty"), link_at("z", "a")}};
}

TEST(Find, TakesExactPathsOnly) {
  const Manifest manifest = sample();
  ASSERT_TRUE(check(manifest));
  EXPECT_EQ(find(manifest, "a/c"), &manifest.entries[1]);
  EXPECT_EQ(find(manifest, "a"), nullptr);
  EXPECT_EQ(find(manifest, "a/c/"), nullptr);
  EXPECT_EQ(find(manifest, ""), nullptr);
  EXPECT_EQ(find(manifest, "zz"), nullptr);
}

TEST(EntriesBelow, AreThoseOfTheDirectory) {
  const Manifest manifest = sample();
  EXPECT_EQ(entries_below(manifest, "").size(), 6U);
  const auto below = entries_below(manifest, "a");
  ASSERT_EQ(below.size(), 2U);
  EXPECT_EQ(below[0].path, "a/c");
  EXPECT_EQ(entries_below(manifest, "a/d").front().path, "a/d/e");
  EXPECT_EQ(entries_below(manifest, "aé").size(), 1U);
  EXPECT_TRUE(entries_below(manifest, "a/c").empty());
  EXPECT_TRUE(entries_below(manifest, "b").empty());
}

TEST(Children, AreSortedByNameAndSummedUp) {
  const Manifest manifest = sample();
  const auto found = children(manifest, "");
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found[0].name, "a");
  EXPECT_EQ(found[0].entry, nullptr);
  EXPECT_EQ(found[0].entries, 2U);
  EXPECT_EQ(found[0].length, 4U);
  EXPECT_EQ(found[1].name, "a-b");
  EXPECT_EQ(found[1].entry, &manifest.entries[0]);
  EXPECT_EQ(found[4].name, "z");
  const auto inner = children(manifest, "a");
  ASSERT_EQ(inner.size(), 2U);
  EXPECT_EQ(inner[0].name, "c");
  EXPECT_EQ(inner[1].name, "d");
}

TEST(EntriesBelow, AgreesWithLookingAtAll) {
  EXPECT_TRUE(rc::check("entries_below", [] {
    const Manifest manifest = testing::any_manifest();
    for (const ManifestEntry& entry : manifest.entries) {
      for (std::size_t at = entry.path.find('/'); at != std::string::npos;
           at = entry.path.find('/', at + 1)) {
        const std::string directory = entry.path.substr(0, at);
        std::size_t expected = 0;
        for (const auto& one : manifest.entries) expected += one.path.starts_with(directory + "/");
        RC_ASSERT(entries_below(manifest, directory).size() == expected);
      }
    }
  }));
}

std::string shown(const std::vector<TreeChange>& changes) {
  std::string text;
  for (const TreeChange& change : changes) {
    text += change.before == nullptr ? 'A' : change.after == nullptr ? 'D' : 'M';
    text += " " + change.path() + "\n";
  }
  return text;
}

TEST(Diff, NamesWhatWasAddedModifiedAndRemoved) {
  Manifest after = sample();
  std::get<TreeFile>(after.entries[0].what).exec = true;
  after.entries[1] = file_at("a/c", "2");
  after.entries.erase(after.entries.begin() + 3);
  after.entries.back() = link_at("z", "empty");
  after.entries.push_back(file_at("zz"));
  EXPECT_EQ(shown(diff(sample(), after)), "M a-b\nM a/c\nD aé/x\nM z\nA zz\n");
  EXPECT_EQ(shown(diff(sample(), sample())), "");
}

TEST(Diff, ComparesTimesWhereBothHaveThem) {
  Manifest before{{file_at("a")}};
  Manifest after = before;
  after.entries[0].mtime_s = 5;
  EXPECT_TRUE(diff(before, after).empty());
  before.entries[0].mtime_s = 4;
  EXPECT_EQ(shown(diff(before, after)), "M a\n");
}

TEST(Diff, LeadsFromOneTreeToTheOther) {
  EXPECT_TRUE(rc::check("apply(diff)", [] {
    const Manifest before = testing::any_manifest();
    const Manifest after = testing::any_manifest();
    std::map<std::string, ManifestEntry> made;
    for (const ManifestEntry& entry : before.entries) made[entry.path] = entry;
    for (const TreeChange& change : diff(before, after)) {
      made.erase(change.path());
      if (change.after != nullptr) made[change.path()] = *change.after;
    }
    RC_ASSERT(made.size() == after.entries.size());
    for (const ManifestEntry& entry : after.entries) {
      RC_ASSERT(made.at(entry.path).what == entry.what);
    }
  }));
}

}  // namespace
}  // namespace ron::catalog
