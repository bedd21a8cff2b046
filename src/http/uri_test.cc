#include "http/uri.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::http {
namespace {

std::string path_of(std::string_view raw, EncodedSlash slash = EncodedSlash::Refuse) {
  UriScratch scratch;
  const auto decoded = decode_path(raw, scratch, slash);
  return decoded ? std::string(*decoded)
                 : "refused " + std::to_string(decoded.error().error().status());
}

TEST(SplitTarget, CutsAtTheFirstQuestionMark) {
  EXPECT_EQ(split_target("/a/b").path, "/a/b");
  EXPECT_EQ(split_target("/a/b").query, "");
  EXPECT_EQ(split_target("/a?b=c?d").path, "/a");
  EXPECT_EQ(split_target("/a?b=c?d").query, "b=c?d");
  EXPECT_EQ(split_target("?").path, "");
}

TEST(DecodePath, KeepsNormalPaths) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"/", "/"},
      {"/o/b3:ab", "/o/b3:ab"},
      {"/a/", "/a/"},
      {"/a%20b", "/a b"},
      {"/%C3%a9", "/\xc3\xa9"},
      {"/...", "/..."},
      {"/.a/..b", "/.a/..b"},
      {"/%252e%252e/", "/%2e%2e/"},
      {"/a+b", "/a+b"},
      {"/a%3Fb", "/a?b"},
  };
  for (const auto& [raw, decoded] : cases) EXPECT_EQ(path_of(raw), decoded) << raw;
}

TEST(DecodePath, RefusesEverythingThatHasTwoReadings) {
  for (const std::string& raw : std::vector<std::string>{
           "",        "a",         "*",       "//",     "/a//b",
           "/a//",    "/.",        "/..",     "/a/.",   "/a/..",
           "/./a",    "/../a",     "/a/../b", "/%2e",   "/%2E%2e",
           "/.%2e/a", "/a/%2e%2E", "/%",      "/%a",    "/%zz",
           "/%0",     "/%%20",     "/a%2fb",  "/a%2Fb", "/a%5cb",
           "/a\\b",   "/%00",      "/a%00b",  "/%0a",   "/%0d%0a",
           "/%1f",    "/%7f",      "/a%-1b",  "/a%+1b", std::string("/\0", 2)}) {
    EXPECT_EQ(path_of(raw), "refused 400") << raw;
  }
}

TEST(DecodePath, AllowsEncodedSlashesOnlyWithoutTricks) {
  EXPECT_EQ(path_of("/names/a%2Fb", EncodedSlash::Allow), "/names/a/b");
  EXPECT_EQ(path_of("/a%2f%2fb", EncodedSlash::Allow), "refused 400");
  EXPECT_EQ(path_of("/a%2f..%2fb", EncodedSlash::Allow), "refused 400");
  EXPECT_EQ(path_of("/a%5cb", EncodedSlash::Allow), "refused 400");
}

TEST(DecodePath, DoesNotCopyPlainPaths) {
  UriScratch scratch;
  const std::string_view raw = "/plain/path";
  EXPECT_EQ(decode_path(raw, scratch)->data(), raw.data());
  EXPECT_TRUE(decode_path(raw, {}).has_value());
}

TEST(DecodePath, RefusesWhatDoesNotFitTheScratch) {
  char small[3];
  const auto decoded = decode_path("/%41%42", small);
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code, base::Code::UriTooLong);
}

TEST(DecodeSegment, DecodesOneSegment) {
  UriScratch scratch;
  EXPECT_EQ(decode_segment("a%20b", scratch), "a b");
  EXPECT_EQ(decode_segment("a%2fb", scratch, EncodedSlash::Allow), "a/b");
  EXPECT_FALSE(decode_segment("a%2fb", scratch).has_value());
  EXPECT_FALSE(decode_segment("%2e.", scratch).has_value());
}

TEST(QueryReader, WalksDecodedParameters) {
  UriScratch scratch;
  QueryReader reader("a=1&&b=%26+x%2B&c&=d&e=f=g", scratch);
  std::vector<QueryParam> params;
  for (auto param = reader.next(); param && *param; param = reader.next())
    params.push_back(**param);
  std::string all;
  for (const QueryParam& each : params) {
    all.append("[").append(each.name).append("|").append(each.value).append("]");
  }
  EXPECT_EQ(all, "[a|1][b|& x+][c|][|d][e|f=g]");
}

TEST(QueryReader, RefusesBadEscapesAndFloods) {
  UriScratch scratch;
  for (const std::string_view bad : {"a=%", "a=%0", "%zz=1", "a=%00", "a=%0A"}) {
    QueryReader reader(bad, scratch);
    EXPECT_FALSE(reader.next().has_value()) << bad;
  }
  const std::string flood(QueryReader::kQueryParams + 1, '&');
  EXPECT_FALSE(find_param(flood, "a", scratch).has_value());
}

TEST(FindParam, FindsOneAndRefusesTwo) {
  UriScratch scratch;
  EXPECT_EQ(find_param("limit=10&after=b3%3A00", "after", scratch).value(), "b3:00");
  EXPECT_EQ(find_param("limit=10", "after", scratch).value(), std::nullopt);
  EXPECT_EQ(find_param("after", "after", scratch).value(), "");
  EXPECT_FALSE(find_param("a=1&b=2&%61=3", "a", scratch).has_value());
}

TEST(FindParam, DecodesWhatAnEncoderWrites) {
  EXPECT_TRUE(rc::check("decode(encode(x)) == x", [](const std::vector<std::uint8_t>& bytes) {
    std::string plain;
    std::string encoded = "k=";
    for (const std::uint8_t byte : bytes) {
      if (byte < 0x20 || byte == 0x7f) continue;
      constexpr std::string_view kHex = "0123456789aBcDeF";
      plain += static_cast<char>(byte);
      encoded.append("%").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    }
    UriScratch scratch;
    const auto found = find_param(encoded, "k", scratch);
    RC_ASSERT(found.has_value());
    RC_ASSERT(found->value() == plain);
  }));
}

}  // namespace
}  // namespace ron::http
