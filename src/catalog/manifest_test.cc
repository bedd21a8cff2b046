#include "catalog/manifest.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "b3/hash.h"
#include "base/rfc3339.h"
#include "base/value.h"
#include "catalog/test_tree.h"

namespace ron::catalog {
namespace {

using base::Code;
using testing::directory_at;
using testing::file_at;
using testing::link_at;

std::string refusal(const Manifest& manifest) {
  const auto checked = check(manifest);
  return checked ? "accepted" : checked.error().message;
}
// Of entries as text.
std::string with(std::string_view entries) {
  return "{\"entries\":[" + std::string(entries) + "],\"ron\":\"manifest/1\"}";
}
std::string a_file(std::string_view path) {
  return "{\"address\":\"" + b3::hash(base::as_bytes("x")).text() + "\",\"length\":1,\"path\":\"" +
         std::string(path) + "\",\"type\":\"text/plain\"}";
}

TEST(Manifest, IsTheDocumentOfTheContract) {
  Manifest manifest{{file_at("bin/run", "hi"), directory_at("empty"), link_at("run", "bin/run")}};
  std::get<TreeFile>(manifest.entries[0].what).exec = true;
  manifest.entries[0].mtime_s = 1;
  const std::string address = b3::hash(base::as_bytes("hi")).text();
  const std::string text = print(manifest);
  EXPECT_EQ(text, "{\"entries\":[{\"address\":\"" + address +
                      "\",\"exec\":true,\"length\":2,\"mtime\":\"1970-01-01T00:00:01Z\","
                      "\"path\":\"bin/run\",\"type\":\"text/plain\"},"
                      "{\"dir\":true,\"path\":\"empty\"},"
                      "{\"link\":\"bin/run\",\"path\":\"run\"}],\"ron\":\"manifest/1\"}");
  EXPECT_EQ(parse_manifest(text).value(), manifest);
  EXPECT_EQ(summarize_manifest(text).value(), (ManifestSummary{3, 2}));
}

TEST(Manifest, MayBeEmpty) {
  EXPECT_EQ(print({}), "{\"entries\":[],\"ron\":\"manifest/1\"}");
  EXPECT_EQ(parse_manifest(print({})).value(), Manifest{});
}

TEST(Manifest, ComesBackFromItsText) {
  EXPECT_TRUE(rc::check("parse(print(manifest))", [] {
    const Manifest manifest = testing::any_manifest();
    const std::string text = print(manifest);
    RC_ASSERT(parse_manifest(text).value() == manifest);
    RC_ASSERT(summarize_manifest(text).value() == check(manifest).value());
    // What an independent writer of sorted, compact JSON makes of it is the same text.
    RC_ASSERT(base::print_json(base::parse_json(text).value()) == text);
  }));
}

// Whatever a single change makes of the text, it is refused or is another tree's one text.
TEST(Manifest, HasOneTextOnly) {
  EXPECT_TRUE(rc::check("a changed text", [] {
    std::string text = print(testing::any_manifest());
    const std::size_t at = *rc::gen::inRange(std::size_t{0}, text.size());
    const char with = *rc::gen::elementOf(std::string("\"\\{}[],: 0a./\n\x7f"));
    if (*rc::gen::arbitrary<bool>()) {
      text.insert(text.begin() + static_cast<std::ptrdiff_t>(at), with);
    } else {
      text[at] = with;
    }
    const auto manifest = parse_manifest(text);
    if (manifest) RC_ASSERT(print(*manifest) == text);
  }));
}

TEST(Manifest, RefusesEveryBeginningOfItself) {
  const std::string text = with(a_file("a") + "," + a_file("b"));
  ASSERT_TRUE(parse_manifest(text));
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(parse_manifest(std::string_view(text).substr(0, length))) << length;
  }
  EXPECT_FALSE(parse_manifest(text + "\n"));
}

TEST(Manifest, RefusesWhatRfc8785WritesInAnotherWay) {
  const std::string address = b3::hash(base::as_bytes("x")).text();
  const std::string upper = "b3:" + std::string(64, 'A');
  for (const std::string& bad : {
           with(" " + a_file("a")),
           with(a_file("a") + ","),
           with("," + a_file("a")),
           with(a_file("a") + a_file("b")),
           with(a_file("\\u0061")),
           with(a_file("a\\/b")),
           with("{\"length\":1,\"address\":\"" + address + "\",\"path\":\"a\",\"type\":\"a/b\"}"),
           with("{\"address\":\"" + upper + "\",\"length\":1,\"path\":\"a\",\"type\":\"a/b\"}"),
           with("{\"address\":\"" + address + "\",\"length\":01,\"path\":\"a\",\"type\":\"a/b\"}"),
           with("{\"address\":\"" + address + "\",\"length\":1.0,\"path\":\"a\",\"type\":\"a/b\"}"),
           with("{\"address\":\"" + address + "\",\"length\":-1,\"path\":\"a\",\"type\":\"a/b\"}"),
           with("{\"address\":\"" + address + "\",\"length\":,\"path\":\"a\",\"type\":\"a/b\"}"),
           with("{\"address\":\"" + address +
                "\",\"exec\":false,\"length\":1,\"path\":\"a\",\"type\":\"a/b\"}"),
           with("{\"address\":\"" + address + "\",\"length\":1,\"path\":\"a\"}"),
           with("{\"address\":\"" + address +
                "\",\"length\":1,\"mode\":511,\"path\":\"a\",\"type\":\"a/b\"}"),
           with("{\"address\":\"" + address +
                "\",\"length\":1,\"mtime\":\"1970-01-01T00:00:00.0Z\",\"path\":\"a\",\"type\":\"a/"
                "b\"}"),
           with("{\"dir\":false,\"path\":\"a\"}"),
           with("{\"dir\":true,\"link\":\"b\",\"path\":\"a\"}"),
           with("{\"dir\":true,\"path\":\"a\",\"path\":\"b\"}"),
           with("{\"path\":\"a\"}"),
           with("{}"),
           std::string("{\"entries\":[],\"ron\":\"manifest/2\"}"),
           std::string("{\"entries\":[],\"extra\":1,\"ron\":\"manifest/1\"}"),
           std::string("{\"ron\":\"manifest/1\",\"entries\":[]}"),
           std::string("[]"),
           std::string(""),
       }) {
    const auto manifest = parse_manifest(bad);
    ASSERT_FALSE(manifest) << bad;
    EXPECT_EQ(manifest.error().code, Code::Malformed);
    EXPECT_TRUE(manifest.error().message.contains(" at byte ")) << manifest.error().message;
  }
}

TEST(Manifest, RefusesPathsThatLeadOut) {
  EXPECT_EQ(refusal({{file_at("../x")}}), "entry 1: the path has the segment '..'");
  EXPECT_EQ(refusal({{file_at("a/../../x")}}), "entry 1: the path has the segment '..'");
  EXPECT_EQ(refusal({{file_at("./x")}}), "entry 1: the path has the segment '.'");
  EXPECT_EQ(refusal({{file_at("/etc/passwd")}}), "entry 1: the path is absolute");
  EXPECT_EQ(refusal({{file_at("a//b")}}), "entry 1: the path has an empty segment");
  EXPECT_EQ(refusal({{file_at("a/")}}), "entry 1: the path has an empty segment");
  EXPECT_EQ(refusal({{file_at("")}}), "entry 1: the path has an empty segment");
  EXPECT_EQ(refusal({{file_at("a\nb")}}), "entry 1: the path has a control character");
  EXPECT_EQ(refusal({{file_at(std::string("a\0b", 3))}}),
            "entry 1: the path has a control character");
  EXPECT_EQ(refusal({{file_at("a\xff")}}), "entry 1: the path is not UTF-8");
}

TEST(Manifest, BoundsPaths) {
  EXPECT_EQ(refusal({{file_at(std::string(255, 'a'))}}), "accepted");
  EXPECT_EQ(refusal({{file_at(std::string(256, 'a'))}}),
            "entry 1: the path has a segment of more than 255 bytes");
  std::string deep = "a";
  for (int i = 1; i < 255; ++i) deep += "/a";
  EXPECT_EQ(refusal({{file_at(deep)}}), "accepted");
  EXPECT_EQ(refusal({{file_at(deep + "/a")}}), "entry 1: the path has more than 255 segments");
  std::string longest(255, 'a');
  for (int i = 1; i < 16; ++i) longest += "/" + std::string(255, 'a');
  EXPECT_EQ(longest.size(), 4095U);
  EXPECT_EQ(refusal({{file_at(longest)}}), "accepted");
  EXPECT_EQ(refusal({{file_at(longest + "/a")}}), "entry 1: the path is longer than 4096 bytes");
}

TEST(Manifest, RefusesTwoEntriesInOnePlace) {
  EXPECT_EQ(refusal({{file_at("a"), file_at("a")}}), "entry 2: the path 'a' is there twice");
  EXPECT_EQ(refusal({{link_at("a", "b"), file_at("a")}}), "entry 2: the path 'a' is there twice");
  EXPECT_EQ(refusal({{file_at("b"), file_at("a")}}),
            "entry 2: the path 'a' has to stand before 'b': paths are in bytewise order");
  EXPECT_EQ(refusal({{file_at("A"), file_at("a")}}), "accepted");
}

TEST(Manifest, RefusesAPathBelowAnEntry) {
  EXPECT_EQ(refusal({{file_at("a"), file_at("a/b")}}),
            "entry 2: the path 'a/b' stands below 'a', which is an entry itself");
  EXPECT_EQ(refusal({{link_at("a", "b"), file_at("a/b")}}),
            "entry 2: the path 'a/b' stands below 'a', which is an entry itself");
  EXPECT_EQ(refusal({{directory_at("a"), file_at("a/b")}}),
            "entry 2: the path 'a/b' stands below 'a', which is an entry itself");
  // Others stand between the two in bytewise order.
  EXPECT_EQ(refusal({{link_at("a", "b"), file_at("a-"), file_at("a-b/c"), file_at("a.d"),
                      file_at("a/b/c")}}),
            "entry 5: the path 'a/b/c' stands below 'a', which is an entry itself");
  EXPECT_EQ(refusal({{file_at("a"), file_at("a-"), file_at("a0/b"), file_at("ab")}}), "accepted");
}

TEST(Manifest, RefusesLinksThatLeadOut) {
  const auto leads = [](std::string_view path, std::string_view target) {
    return refusal({{link_at(path, target)}});
  };
  EXPECT_EQ(leads("l", "x"), "accepted");
  EXPECT_EQ(leads("l", "."), "accepted");
  EXPECT_EQ(leads("l", "./a//b/"), "accepted");
  EXPECT_EQ(leads("a/b/l", "../../x"), "accepted");
  EXPECT_EQ(leads("a/l", ".."), "accepted");
  EXPECT_EQ(leads("l", ".."), "entry 1: the link leads out of the tree");
  EXPECT_EQ(leads("a/b/l", "../../../x"), "entry 1: the link leads out of the tree");
  EXPECT_EQ(leads("a/b/l", "../.././../x"), "entry 1: the link leads out of the tree");
  EXPECT_EQ(leads("l", "/etc"), "entry 1: the link leads to an absolute path");
  // Through another link this could lead out, although it does not look like it.
  EXPECT_EQ(leads("l", "d/.."), "entry 1: the link's target has '..' behind a name");
  EXPECT_EQ(leads("l", "d/link/../../.."), "entry 1: the link's target has '..' behind a name");
  EXPECT_EQ(leads("l", ""), "entry 1: the link's target does not have 1 to 4095 bytes");
  EXPECT_EQ(leads("l", std::string(4096, 'a')),
            "entry 1: the link's target does not have 1 to 4095 bytes");
  EXPECT_EQ(leads("l", "a\nb"), "entry 1: the link's target has a control character");
  EXPECT_EQ(leads("l", "\xc0\xaf"), "entry 1: the link's target is not UTF-8");
}

TEST(Manifest, RefusesFilesThatCannotBe) {
  Manifest manifest{{file_at("a"), file_at("b")}};
  auto& first = std::get<TreeFile>(manifest.entries[0].what);
  first.length = kMaxTreeBytes + 1;
  EXPECT_EQ(refusal(manifest), "entry 1: the length is not below 2^53");
  first.length = kMaxTreeBytes;
  EXPECT_EQ(refusal(manifest), "entry 2: all files together do not have less than 2^53 bytes");
  first.length = 1;
  first.type = "plain";
  EXPECT_EQ(refusal(manifest), "entry 1: the type is not a media type");
  first.type = "text/plain\r\nSet-Cookie: x";
  EXPECT_EQ(refusal(manifest), "entry 1: the type is not a media type");
  first.type = "text/plain";
  manifest.entries[0].mtime_s = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(refusal(manifest), "entry 1: the time lies outside the years 0000 to 9999");
  manifest.entries[0].mtime_s = base::kMaxUnixS;
  EXPECT_EQ(refusal(manifest), "accepted");
}

}  // namespace
}  // namespace ron::catalog
