#include "services/edge/site_tree.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "b3/hash.h"
#include "catalog/manifest_path.h"
#include "catalog/test_tree.h"

namespace ron::edge {
namespace {

using catalog::Manifest;
using catalog::ManifestEntry;
using catalog::testing::directory_at;
using catalog::testing::file_at;
using catalog::testing::link_at;
using Kind = SiteTree::Kind;

Manifest manifest_of(std::vector<ManifestEntry> entries) {
  std::ranges::sort(entries, {}, &ManifestEntry::path);
  Manifest manifest{std::move(entries)};
  EXPECT_TRUE(catalog::check(manifest));
  return manifest;
}

// Every file holds its own path, so that it is known which one was found.
ManifestEntry page(std::string_view path) { return file_at(path, path); }

std::string at(const SiteTree& tree, std::string_view path) {
  const SiteTree::Found found = tree.find(path);
  if (found.kind == Kind::Redirect) return "redirect";
  if (found.kind == Kind::Missing) return "missing";
  return tree.file(found.file).address.text();
}
std::string address_of(std::string_view content) {
  return b3::hash(base::as_bytes(content)).text();
}
std::string error_page_of(const SiteTree& tree, std::string_view path) {
  const SiteTree::FileIndex found = tree.error_page(path);
  return found == SiteTree::kNoFile ? "none" : tree.file(found).address.text();
}

TEST(SiteTree, FindsFilesAndTheIndexPagesOfDirectories) {
  const SiteTree tree(manifest_of({page("index.html"), page("a-b"), page("a/index.html"),
                                   page("a/b/c.txt"), directory_at("empty")}));
  EXPECT_EQ(at(tree, ""), address_of("index.html"));
  EXPECT_EQ(at(tree, "index.html"), address_of("index.html"));
  EXPECT_EQ(at(tree, "a"), "redirect");
  EXPECT_EQ(at(tree, "a/"), address_of("a/index.html"));
  EXPECT_EQ(at(tree, "a-b"), address_of("a-b"));
  EXPECT_EQ(at(tree, "a/b"), "redirect");
  EXPECT_EQ(at(tree, "a/b/"), "missing");
  EXPECT_EQ(at(tree, "a/b/c.txt"), address_of("a/b/c.txt"));
  EXPECT_EQ(at(tree, "a/b/c.txt/"), "missing");
  EXPECT_EQ(at(tree, "a/b/c.txt/d"), "missing");
  EXPECT_EQ(at(tree, "empty"), "redirect");
  EXPECT_EQ(at(tree, "empty/"), "missing");
  EXPECT_EQ(at(tree, "A"), "missing");
  EXPECT_EQ(tree.files(), 4U);
  EXPECT_EQ(tree.bytes(), std::string("index.htmla-ba/index.htmla/b/c.txt").size());
}

TEST(SiteTree, AnEmptyTreeHasNothing) {
  const SiteTree tree{Manifest{}};
  EXPECT_EQ(at(tree, ""), "missing");
  EXPECT_EQ(at(tree, "x"), "missing");
  EXPECT_EQ(error_page_of(tree, "x"), "none");
}

TEST(SiteTree, FollowsLinksToFilesAndDirectories) {
  const SiteTree tree(
      manifest_of({page("v1/index.html"), page("v1/css/a.css"), link_at("latest", "v1"),
                   link_at("home.html", "latest/index.html"), link_at("v1/up", ".."),
                   link_at("v1/css/self", "../../latest/css"), link_at("dot", "./v1/css//a.css")}));
  EXPECT_EQ(at(tree, "latest"), "redirect");
  EXPECT_EQ(at(tree, "latest/"), address_of("v1/index.html"));
  EXPECT_EQ(at(tree, "latest/css/a.css"), address_of("v1/css/a.css"));
  EXPECT_EQ(at(tree, "home.html"), address_of("v1/index.html"));
  EXPECT_EQ(at(tree, "v1/up/latest/up/v1/css/self/a.css"), address_of("v1/css/a.css"));
  EXPECT_EQ(at(tree, "dot"), address_of("v1/css/a.css"));
  EXPECT_EQ(at(tree, "latest/nothing"), "missing");
}

TEST(SiteTree, LinksInCirclesAndIntoNothingLeadNowhere) {
  const SiteTree tree(
      manifest_of({link_at("a", "b"), link_at("b", "a"), link_at("self", "self"),
                   link_at("nothing", "none"), link_at("deep", "a/b/c"), page("x")}));
  for (const char* path : {"a", "b", "a/", "self", "self/self", "nothing", "nothing/x", "deep"}) {
    EXPECT_EQ(at(tree, path), "missing") << path;
  }
  EXPECT_EQ(at(tree, "x"), address_of("x"));
}

TEST(SiteTree, FollowsABoundedNumberOfLinks) {
  // Each stands before the one it leads to, so that each round of following ends one.
  std::vector<ManifestEntry> entries = {page("z")};
  for (std::size_t i = 0; i < 2 * SiteTree::kMostHops; ++i) {
    const bool is_last = i + 1 == 2 * SiteTree::kMostHops;
    entries.push_back(link_at(std::string(1, static_cast<char>('a' + i)),
                              is_last ? "z" : std::string(1, static_cast<char>('a' + i + 1))));
  }
  const SiteTree tree(manifest_of(entries));
  EXPECT_EQ(at(tree, "a"), "missing");
  EXPECT_EQ(at(tree, std::string(1, static_cast<char>('a' + SiteTree::kMostHops))),
            address_of("z"));
}

// Tens of thousands of links into a deep directory where nothing is: each name of each target is
// looked up once, and so are those of links that lead through each other.
TEST(SiteTree, FollowsEachLinkOnce) {
  constexpr std::size_t kLinks = 40'000;
  constexpr std::size_t kDepth = 40;
  std::string deep = "d";
  for (std::size_t i = 1; i < kDepth; ++i) deep += "/d";
  std::vector<ManifestEntry> entries = {page(deep + "/page")};
  for (std::size_t i = 0; i < kLinks; ++i) {
    entries.push_back(link_at("l" + std::to_string(i), deep + "/nothing"));
  }
  const SiteTree dangling(manifest_of(entries));
  EXPECT_EQ(at(dangling, "l7"), "missing");
  EXPECT_EQ(dangling.link_steps(), kLinks * (kDepth + 1));

  entries.erase(entries.begin() + 1, entries.end());
  for (std::size_t i = 0; i < kLinks; ++i) {
    entries.push_back(link_at("l" + std::to_string(i), "l" + std::to_string((i + 1) % kLinks)));
  }
  const SiteTree circle(manifest_of(entries));
  EXPECT_EQ(at(circle, "l7"), "missing");
  EXPECT_EQ(circle.link_steps(), kLinks);
}

// The walk of one link passes through the ends of others, whatever the order they stand in.
TEST(SiteTree, FollowsLinksThroughLinks) {
  const SiteTree tree(
      manifest_of({page("a-b/x"), page("a/b/c/page"), page("a0"), link_at("1", "2/c"),
                   link_at("2", "3/b"), link_at("3", "a"), link_at("4", "1/page"),
                   link_at("5", "4/page"), link_at("6", "a-b/x/y"), link_at("7", "6/z")}));
  EXPECT_EQ(at(tree, "1/page"), address_of("a/b/c/page"));
  EXPECT_EQ(at(tree, "4"), address_of("a/b/c/page"));
  EXPECT_EQ(at(tree, "3/b/c/page"), address_of("a/b/c/page"));
  for (const char* path : {"5", "6", "7", "3/x", "3/b/c"}) {
    EXPECT_EQ(at(tree, path), path == std::string_view("3/b/c") ? "redirect" : "missing") << path;
  }
}

TEST(SiteTree, IsNotReadOnceItIsAskedToStop) {
  const auto flag = std::make_shared<base::StopFlag>();
  const base::StopToken stop(flag);
  const std::string text = catalog::print(manifest_of({page("x"), link_at("y", "x")}));
  EXPECT_TRUE(SiteTree::read(text, stop).has_value());
  flag->set(base::StopCause::Ending);
  EXPECT_EQ(SiteTree::read(text, stop).error().code, base::Code::Canceled);
  flag->set(base::StopCause::Overdue);
  EXPECT_EQ(SiteTree::read(text, stop).error().code, base::Code::Timeout);
}

TEST(SiteTree, HasTheNearestErrorPage) {
  const SiteTree tree(manifest_of({page("404.html"), page("a/404.html"), page("a/b/x"), page("c/x"),
                                   link_at("d", "a"), link_at("c/404.html", "x")}));
  EXPECT_EQ(error_page_of(tree, ""), address_of("404.html"));
  EXPECT_EQ(error_page_of(tree, "nothing"), address_of("404.html"));
  EXPECT_EQ(error_page_of(tree, "no/such/place"), address_of("404.html"));
  EXPECT_EQ(error_page_of(tree, "a/nothing"), address_of("a/404.html"));
  EXPECT_EQ(error_page_of(tree, "a/b/nothing"), address_of("a/404.html"));
  EXPECT_EQ(error_page_of(tree, "a/b/"), address_of("a/404.html"));
  EXPECT_EQ(error_page_of(tree, "d/nothing"), address_of("a/404.html"));
  EXPECT_EQ(error_page_of(tree, "c/nothing"), address_of("c/x"));
}

TEST(SiteTree, KnowsTheCodingsThatStandBesideAFile) {
  const SiteTree tree(manifest_of({page("app.js"), page("app.js.br"), page("app.js.gz"),
                                   link_at("app.js.zst", "packed/app"), page("packed/app"),
                                   page("lone.css"), page("only.txt.gz")}));
  const SiteTree::File& file = tree.file(tree.find("app.js").file);
  ASSERT_TRUE(tree.has_siblings(file));
  const std::array expected = {"app.js.br", "packed/app", "app.js.gz"};
  for (std::size_t i = 0; i < kSiblingKinds.size(); ++i) {
    EXPECT_EQ(tree.file(file.siblings[i]).address.text(), address_of(expected[i]));
  }
  EXPECT_FALSE(tree.has_siblings(tree.file(tree.find("lone.css").file)));
  EXPECT_EQ(at(tree, "only.txt"), "missing");
}

TEST(SiteTree, SaysWhatAFileIs) {
  const auto typed = [](std::string_view path, std::string_view type) {
    ManifestEntry entry = page(path);
    std::get<catalog::TreeFile>(entry.what).type = type;
    return entry;
  };
  const SiteTree tree(manifest_of(
      {typed("a.html", "text/html"), typed("b", "Text/Plain; a=b"),
       typed("c", "text/plain; Charset=latin1"), typed("d.css", "application/octet-stream"),
       typed("e", "application/octet-stream"), typed("f.json", "application/json")}));
  const auto type_at = [&](std::string_view path) {
    return tree.type_of(tree.file(tree.find(path).file));
  };
  EXPECT_EQ(type_at("a.html"), "text/html; charset=utf-8");
  EXPECT_EQ(type_at("b"), "Text/Plain; a=b; charset=utf-8");
  EXPECT_EQ(type_at("c"), "text/plain; Charset=latin1");
  EXPECT_EQ(type_at("d.css"), "text/css; charset=utf-8");
  EXPECT_EQ(type_at("e"), "application/octet-stream");
  EXPECT_EQ(type_at("f.json"), "application/json");
}

TEST(SiteTree, RefusesWhatIsNoManifest) {
  EXPECT_EQ(SiteTree::read("<html>").error().code, base::Code::Malformed);
  EXPECT_EQ(SiteTree::read(std::string(SiteTree::kMostManifestBytes + 1, ' ')).error().code,
            base::Code::BodyCap);
  const auto tree = SiteTree::read(catalog::print(manifest_of({page("x")})));
  ASSERT_TRUE(tree);
  EXPECT_EQ(at(**tree, "x"), address_of("x"));
}

// What a file system would say, by walking with as many hops as it takes; nothing where links run
// in circles. Written as plainly as can be.
class Model {
 public:
  explicit Model(const Manifest& manifest) {
    for (const ManifestEntry& entry : manifest.entries) {
      entries_.emplace(entry.path, &entry);
      for (std::size_t slash = entry.path.find('/'); slash != std::string::npos;
           slash = entry.path.find('/', slash + 1)) {
        directories_.insert(entry.path.substr(0, slash));
      }
      if (!entry.file() && !entry.link()) directories_.insert(entry.path);
    }
    directories_.insert("");
  }

  // The path of a file or a directory, without links.
  std::optional<std::string> resolve(const std::string& path, std::size_t hops = 0) const {
    if (hops > 64) return std::nullopt;
    std::vector<std::string> segments = split(path);
    std::string here;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (segments[i] == "." || segments[i].empty()) continue;
      if (segments[i] == "..") {
        if (here.empty()) throw std::runtime_error("a link leads out of the tree");
        here = parent(here);
        continue;
      }
      if (!directories_.contains(here)) return std::nullopt;
      const std::string next = here.empty() ? segments[i] : here + "/" + segments[i];
      const auto entry = entries_.find(next);
      if (entry != entries_.end() && entry->second->link() != nullptr) {
        std::string joined = parent(next) + "/" + entry->second->link()->target;
        for (std::size_t j = i + 1; j < segments.size(); ++j) joined += "/" + segments[j];
        return resolve(joined, hops + 1);
      }
      if (entry == entries_.end() && !directories_.contains(next)) return std::nullopt;
      here = next;
    }
    return here;
  }
  const ManifestEntry* file(const std::string& path) const {
    const auto found = entries_.find(path);
    return found != entries_.end() && found->second->file() ? found->second : nullptr;
  }

 private:
  static std::vector<std::string> split(const std::string& path) {
    std::vector<std::string> segments(1);
    for (const char c : path) {
      if (c == '/') {
        segments.emplace_back();
      } else {
        segments.back() += c;
      }
    }
    return segments;
  }
  static std::string parent(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
  }

  std::map<std::string, const ManifestEntry*> entries_;
  std::set<std::string> directories_;
};

// Trees full of links, hostile ones among them, asked for all kinds of paths: only what stands in
// the manifest is ever found, and where a file system would find it.
TEST(SiteTree, NothingOutsideOfTheTreeCanBeReached) {
  constexpr int kSegments = 6;
  const auto path = rc::gen::map(
      rc::gen::resize(kSegments, rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(
                                     rc::gen::elementOf(std::vector<std::string>{
                                         "a", "b", "c", "index.html", "404.html"})))),
      [](const std::vector<std::string>& segments) {
        std::string joined;
        for (const std::string& one : segments) joined += (joined.empty() ? "" : "/") + one;
        return joined.substr(0, 64);
      });
  const auto target = rc::gen::map(
      rc::gen::resize(kSegments, rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(
                                     rc::gen::elementOf(std::vector<std::string>{
                                         "..", "..", ".", "a", "b", "c", "index.html", ""})))),
      [](const std::vector<std::string>& segments) {
        std::string joined;
        for (const std::string& one : segments) joined += one + "/";
        return joined;
      });
  constexpr std::size_t kAsked = 6;
  EXPECT_TRUE(rc::check([&] {
    std::map<std::string, ManifestEntry> made;
    // With more links than are followed some would be missing.
    const auto count = *rc::gen::inRange(1, static_cast<int>(SiteTree::kMostHops) + 1);
    for (int i = 0; i < count; ++i) {
      const std::string where = *path;
      if (where.ends_with('/')) continue;
      const int kind = *rc::gen::inRange(0, 5);
      if (kind == 0) made.emplace(where, directory_at(where));
      if (kind == 1 || kind == 2) made.emplace(where, page(where));
      if (kind >= 3) made.emplace(where, link_at(where, *target));
    }
    Manifest manifest;
    catalog::ManifestRules rules;
    for (auto& [where, entry] : made) {
      catalog::ManifestRules longer = rules;
      if (!longer.take(entry)) continue;
      rules = std::move(longer);
      manifest.entries.push_back(std::move(entry));
    }
    const SiteTree tree(manifest);
    const Model model(manifest);
    std::vector<std::string> asked = *rc::gen::container<std::vector<std::string>>(kAsked, path);
    for (const ManifestEntry& entry : manifest.entries) {
      asked.push_back(entry.path);
      asked.push_back(entry.path + "/" + *path);
    }
    for (const std::string& one : asked) {
      if (one.ends_with('/')) continue;
      const std::optional<std::string> real = model.resolve(one);
      const ManifestEntry* const file = real ? model.file(*real) : nullptr;
      const std::string found = at(tree, one);
      RC_ASSERT(found == (!real             ? "missing"
                          : file == nullptr ? "redirect"
                                            : file->file()->address.text()));
    }
  }));
}

}  // namespace
}  // namespace ron::edge
