#include "http/field_list.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::http {
namespace {

TEST(CharClass, MatchesTheGrammarForEveryByte) {
  for (int c = 0; c < 256; ++c) {
    const char byte = static_cast<char>(c);
    const bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    const bool visible = c >= 0x21 && c <= 0x7e;
    const bool delimiter = std::string_view("\"(),/:;<=>?@[\\]{}").contains(byte);
    EXPECT_EQ(is(byte, kTchar), visible && !delimiter) << c;
    EXPECT_EQ(is(byte, kValueChar), c == '\t' || c == ' ' || visible || c >= 0x80) << c;
    EXPECT_EQ(is(byte, kTargetChar), visible && c != '#') << c;
    EXPECT_EQ(is(byte, kHostChar), alnum || c == '.' || c == '-' || c == '_' || c == '~') << c;
    EXPECT_EQ(is(byte, kEtagChar), (visible && c != '"') || c >= 0x80) << c;
  }
}

TEST(CharClass, WideChecksAgreeWithTheTable) {
  EXPECT_TRUE(rc::check("wide equals byte by byte", [](const std::string& text) {
    RC_ASSERT(is_field_value(text) == all_are(text, kValueChar));
    RC_ASSERT(is_target(text) == (!text.empty() && all_are(text, kTargetChar)));
  }));
}

TEST(Iequals, FoldsLettersOnly) {
  EXPECT_TRUE(iequals("Content-LENGTH", "content-length"));
  EXPECT_FALSE(iequals("a", "ab"));
  EXPECT_FALSE(iequals("@", "`"));
  EXPECT_FALSE(iequals("[", "{"));
}

TEST(TrimOws, TakesSpacesAndTabsOffBothEnds) {
  EXPECT_EQ(trim_ows(" \t a b\t "), "a b");
  EXPECT_EQ(trim_ows(" \t "), "");
  EXPECT_EQ(trim_ows(""), "");
}

TEST(ParseDecimal, TakesDigitsOnly) {
  EXPECT_EQ(parse_decimal("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_decimal("007"), 7u);
  for (const std::string_view bad : {"", "+1", "-1", " 1", "1 ", "1a", "18446744073709551616"}) {
    EXPECT_EQ(parse_decimal(bad), std::nullopt) << bad;
  }
}

TEST(ListReader, HandsOutTrimmedElementsAndEmptyOnes) {
  std::vector<std::string> elements;
  ListReader reader(" a ,b,, c d\t,");
  while (const auto element = reader.next()) elements.emplace_back(*element);
  EXPECT_EQ(elements, (std::vector<std::string>{"a", "b", "", "c d", ""}));
}

}  // namespace
}  // namespace ron::http
