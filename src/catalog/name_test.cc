#include "catalog/name.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::catalog {
namespace {

using base::Code;

std::string refusal(std::string_view text) {
  const auto name = parse_name(text);
  return name ? "accepted" : name.error().message;
}

TEST(Name, AcceptsANamespaceAndSegments) {
  for (const std::string_view good :
       {"docs", "docs/v2", "a", "0", "a.b_c-d/x", "docs/Grüße/日本語 🎉", "docs/a@b",
        "docs/v@3/index", "docs/@", "docs/...", "docs/.hidden", "docs/a b", "docs/100%", "docs/v2@",
        "docs/v2@3x"}) {
    const auto name = parse_name(good);
    ASSERT_TRUE(name) << good << ": " << name.error().message;
    EXPECT_EQ(name->text(), good);
  }
  EXPECT_EQ(parse_name("docs/v2/x")->name_space(), "docs");
  EXPECT_EQ(parse_name("docs")->name_space(), "docs");
}

TEST(Name, RefusesABadNamespace) {
  for (const std::string_view bad : {"", "/", "/docs", "Docs", ".docs", "-docs", "_docs", "do cs",
                                     "docs@3", "b3:", "dócs", "a:b", "d\\x", ".", ".."}) {
    const auto name = parse_name(bad);
    ASSERT_FALSE(name) << bad;
    EXPECT_EQ(name.error().code, Code::Malformed);
    EXPECT_TRUE(name.error().message.contains("namespace")) << bad;
  }
  EXPECT_TRUE(parse_name(std::string(63, 'a')));
  EXPECT_FALSE(parse_name(std::string(64, 'a')));
}

TEST(Name, SaysWhichRuleASegmentBreaks) {
  EXPECT_EQ(refusal("docs/"), "the name has an empty segment");
  EXPECT_EQ(refusal("docs//v2"), "the name has an empty segment");
  EXPECT_EQ(refusal("docs/./v2"), "the name has the segment '.'");
  EXPECT_EQ(refusal("docs/.."), "the name has the segment '..'");
  EXPECT_EQ(refusal("docs/a\nb"), "the name has a control character");
  EXPECT_EQ(refusal("docs/a\x7f"), "the name has a control character");
  EXPECT_EQ(refusal("docs/a\xc2\x85z"), "the name has a control character");
  EXPECT_EQ(refusal(std::string_view("docs/a\0b", 8)), "the name has a control character");
  EXPECT_EQ(refusal("docs/\xff"), "the name is not UTF-8");
  EXPECT_EQ(refusal("docs/\xc0\xae"), "the name is not UTF-8");
  EXPECT_EQ(refusal("docs/\xed\xa0\x80"), "the name is not UTF-8");
  EXPECT_EQ(refusal("docs/a\\b"), "the name has a backslash");
  EXPECT_EQ(refusal("docs/v2@3"), "the name ends in '@' and digits, which stand for a version");
  EXPECT_EQ(refusal("docs/" + std::string(kMaxNameBytes - 5, 'x')), "accepted");
  EXPECT_EQ(refusal("docs/" + std::string(kMaxNameBytes - 4, 'x')),
            "the name is longer than 1024 bytes");
}

TEST(NameRef, ReadsAVersion) {
  const auto current = parse_name_ref("docs/v2").value();
  EXPECT_EQ(current.name.text(), "docs/v2");
  EXPECT_EQ(current.version, std::nullopt);
  const auto third = parse_name_ref("docs/v2@3").value();
  EXPECT_EQ(third.name.text(), "docs/v2");
  EXPECT_EQ(third.version, 3U);
  EXPECT_EQ(third.text(), "docs/v2@3");
  EXPECT_EQ(parse_name_ref("docs@18446744073709551615")->version, 18446744073709551615U);
  EXPECT_EQ(parse_name_ref("docs/a@b@7")->name.text(), "docs/a@b");
}

TEST(NameRef, HasOneTextForEachVersion) {
  for (const std::string_view bad : {"docs@0", "docs@01", "docs@18446744073709551616", "docs@",
                                     "docs@3@4", "docs@+1", "@3", "docs/@3/"}) {
    EXPECT_FALSE(parse_name_ref(bad)) << bad;
  }
}

TEST(Key, IsAnAddressOrAReference) {
  const std::string digits(64, 'a');
  const auto address = parse_key("b3:" + digits).value();
  ASSERT_TRUE(std::holds_alternative<base::ObjectId>(address));
  EXPECT_EQ(print(address), "b3:" + digits);
  EXPECT_EQ(parse_key("b3:" + std::string(64, 'A')), address);
  const auto ref = parse_key("docs@2").value();
  ASSERT_TRUE(std::holds_alternative<NameRef>(ref));
  EXPECT_EQ(print(ref), "docs@2");
  EXPECT_EQ(parse_key("b3:" + digits.substr(1)).error().code, Code::BadAddress);
  EXPECT_EQ(parse_key("b3:" + digits + "0").error().code, Code::BadAddress);
  EXPECT_EQ(parse_key("B3:" + digits).error().code, Code::Malformed);
  EXPECT_TRUE(std::holds_alternative<NameRef>(parse_key("b3").value()));
}

TEST(IsBelow, EndsOnASegment) {
  const Name name = parse_name("docs/v2/x").value();
  EXPECT_TRUE(is_below(name, ""));
  EXPECT_TRUE(is_below(name, "docs"));
  EXPECT_TRUE(is_below(name, "docs/v2"));
  EXPECT_TRUE(is_below(name, "docs/v2/x"));
  EXPECT_FALSE(is_below(name, "doc"));
  EXPECT_FALSE(is_below(name, "docs/v"));
  EXPECT_FALSE(is_below(name, "docs/v2/x/y"));
}

TEST(EncodeInPath, KeepsSlashesAndUnreservedCharactersOnly) {
  EXPECT_EQ(encode_in_path("docs/v2"), "docs/v2");
  EXPECT_EQ(encode_in_path("a-b.c_d~e/é @100%?#&+"), "a-b.c_d~e/%C3%A9%20%40100%25%3F%23%26%2B");
}

TEST(Name, ComesBackFromAReference) {
  EXPECT_TRUE(rc::check("parse(print(ref))", [] {
    std::string text = "ns";
    const auto pieces = rc::gen::elementOf(std::vector<std::string>{
        "a", "Z", "0", "@", ".", "~", "%", " ", ":", "é", "日", "🎉", "/x", "/@"});
    for (const std::string& piece : *rc::gen::container<std::vector<std::string>>(pieces)) {
      text += piece.starts_with('/') || text.contains('/') ? piece : "/" + piece;
    }
    const auto name = parse_name(text);
    if (!name) RC_DISCARD("not a name");
    const std::uint64_t number = *rc::gen::arbitrary<std::uint64_t>();
    const auto version = number > 0 ? std::optional(number) : std::nullopt;
    const NameRef ref{*name, version};
    RC_ASSERT(parse_name_ref(ref.text()).value() == ref);
    RC_ASSERT(parse_key(ref.text()).value() == Key(ref));
    RC_ASSERT(!version || !parse_name(ref.text()));
  }));
}

TEST(SiteName, IsForOneSegmentOfAUrl) {
  EXPECT_TRUE(is_site_name("docs"));
  EXPECT_TRUE(is_site_name("2.Docs_a-b"));
  EXPECT_TRUE(is_site_name(std::string(64, 'a')));
  for (const std::string_view bad : {"", ".hidden", "-x", "my site", "a/b", "caf\u00e9"}) {
    EXPECT_FALSE(is_site_name(bad)) << bad;
  }
  EXPECT_FALSE(is_site_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace ron::catalog
