#include "cli/index_read.h"

#include <gtest/gtest.h>

#include "base/value.h"

namespace ron::cli {
namespace {

using base::Code;

const std::string kAddress = "b3:" + std::string(64, 'a');

base::Result<NameVersion> parsed(std::string_view json) {
  return parse_name_version(base::parse_json(json).value());
}

TEST(NameVersion, IsReadFromTheServersDocument) {
  const auto version =
      parsed(R"({"name":"docs/Grüße","version":3,"target":")" + kAddress +
             R"(","type":"application/vnd.ron.manifest+json","at":"2027-01-15T08:00:00Z",)"
             R"("meta":{"by":"me"}})");
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_EQ(version->ref(), "docs/Grüße@3");
  EXPECT_TRUE(version->is_tree());
  EXPECT_EQ(version->meta.at("by"), "me");
  EXPECT_EQ(version_line(*version), "docs/Grüße@3  " + kAddress +
                                        "  application/vnd.ron.manifest+json  "
                                        "2027-01-15T08:00:00Z\n");
}

TEST(NameVersion, MayBeARemoval) {
  const auto version = parsed(R"({"name":"docs","version":4,"target":null,"deleted":true})");
  ASSERT_TRUE(version);
  EXPECT_FALSE(version->is_tree());
  EXPECT_EQ(version_line(*version), "docs@4  removed\n");
}

TEST(NameVersion, RefusesWhatTheServerMustNotSay) {
  for (const char* bad :
       {"[]", "{}", R"({"name":"docs"})", R"({"name":"../x","version":1})",
        R"({"name":"docs\u001b[31m","version":1})", R"({"name":"docs","version":-1})",
        R"({"name":"docs","version":1,"target":"b3:00"})"}) {
    const auto version = parsed(bad);
    ASSERT_FALSE(version) << bad;
    EXPECT_EQ(version.error().code, Code::UpstreamFail);
  }
}

TEST(NameVersion, ShowsNoControlCharactersOfTheServer) {
  const auto version = parsed(R"({"name":"docs","version":1,"type":"a/b\u001b[31m"})");
  ASSERT_TRUE(version);
  EXPECT_FALSE(version->type.contains('\x1b'));
}

TEST(ResolutionText, SaysWhereAndFromWhom) {
  const auto text = resolution_text(
      R"({"key":"docs","address":")" + kAddress +
      R"(","version":3,"manifest":{"entries":12,"length":3456},"providers":[{"url":"https://a",)"
      R"("node":"x","region":"eu","score":0.913,"seen_at":"t","expires_at":"u","source":"dht"}],)"
      R"("source":"dht","hedged":true,"winner":"lane 1"})");
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, kAddress +
                       "\nversion    3\ntree       12 entries, 3456 bytes\n"
                       "source     dht, lane 1 answered first, hedged\n"
                       "provider   https://a  eu  0.913  dht  until u\n");
}

TEST(ResolutionText, RefusesWhatIsNone) {
  for (const char* bad : {"", "[]", "{}", R"({"address":"x","providers":1})",
                          R"({"address":"x","providers":[1]})", "nonsense"}) {
    EXPECT_FALSE(resolution_text(bad)) << bad;
  }
}

TEST(ProvidersText, HasALineForEach) {
  EXPECT_EQ(providers_text("[]").value(), "");
  EXPECT_EQ(providers_text(R"([{"url":"http://a","score":1,"expires_at":"t"}])").value(),
            "http://a  -  1  -  until t\n");
  EXPECT_FALSE(providers_text("[1]"));
  EXPECT_FALSE(providers_text("{}"));
}

}  // namespace
}  // namespace ron::cli
