#include "config/toml.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::config {
namespace {

std::string dotted(std::size_t parts) {
  std::string key = "a";
  for (std::size_t i = 1; i < parts; ++i) key += ".a";
  return key;
}

TEST(ParseToml, KeepsShapesAndLines) {
  const auto root =
      parse_toml("[s]\nb = true\ni = 7\nf = 0.5\nt = \"x\"\nl = [1,\n2]\nd = 1979-05-27\n");
  ASSERT_TRUE(root);
  const Raw& table = root->items.at(0);
  EXPECT_EQ(table.name, "s");
  EXPECT_EQ(table.line, 1U);
  ASSERT_EQ(table.items.size(), 6U);
  using Shape = Raw::Shape;
  const Shape shapes[] = {Shape::Boolean, Shape::Integer, Shape::Float,
                          Shape::String,  Shape::List,    Shape::Date};
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(table.items[i].shape, shapes[i]) << i;
  EXPECT_EQ(table.items[3].line, 5U);
  EXPECT_EQ(table.items[5].line, 8U);
  EXPECT_EQ(table.items[4].items.at(1).line, 7U);
}

TEST(ParseToml, SaysWhereTheSyntaxBreaks) {
  const auto root = parse_toml("[s]\na = 1\nb == 2\n");
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().line, 3U);
  EXPECT_GT(root.error().column, 0U);
  EXPECT_NE(root.error().what.find("not valid TOML"), std::string::npos);
}

TEST(ParseToml, AMissingPairOfQuotesIsExplained) {
  for (const char* text : {"a = 5s", "a = 64KiB", "a = debug"}) {
    const auto root = parse_toml(text);
    ASSERT_FALSE(root);
    EXPECT_NE(root.error().what.find("need quotes, for example \"5s\""), std::string::npos) << text;
  }
}

TEST(ParseToml, SyntaxErrorsDoNotRepeatValues) {
  for (const char* text : {"a = 31337313373133731337", "a = -31337313373133731337", "a = hunter2",
                           "a = 1e31337", "a = \"31337", "a = 'hunter2\n", "a = [hunter2]"}) {
    const auto root = parse_toml(text);
    ASSERT_FALSE(root);
    EXPECT_EQ(root.error().what.find("31337"), std::string::npos) << root.error().what;
    EXPECT_EQ(root.error().what.find("hunter2"), std::string::npos) << root.error().what;
  }
}

TEST(ParseToml, RefusesHeadersThatDoNotStartWithAKey) {
  for (const char* text :
       {"[@", "[@]", "[ =]", "[[#]]", "[\n]", "[.a]", "[a.]", "[a.@]", "[", "[["}) {
    EXPECT_FALSE(parse_toml(text)) << text;
  }
}

TEST(ParseToml, LettersOutsideAsciiAreTextAndNothingElse) {
  EXPECT_TRUE(
      parse_toml("# é\u3042\na = \"é\u3042\u031E\"\nb = \"\"\"\\\n  é\"\"\"\n\"ж\" = 'ñ'\n"));
  for (const char* text : {"é = 1", "a\u031E = 1", "a = é", "[\u3042]", "a = 1 é"}) {
    EXPECT_FALSE(parse_toml(text)) << text;
  }
}

TEST(ParseToml, RefusesDuplicateKeys) {
  const auto root = parse_toml("[s]\na = 1\na = 2\n");
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().line, 3U);
}

TEST(ParseToml, RefusesFilesThatAreTooLarge) {
  EXPECT_TRUE(parse_toml("#" + std::string(kMaxTomlBytes - 1, 'x')));
  EXPECT_FALSE(parse_toml("#" + std::string(kMaxTomlBytes, 'x')));
}

TEST(ParseToml, RefusesKeysThatAreTooDeep) {
  EXPECT_TRUE(parse_toml(dotted(kMaxKeyParts) + " = 1"));
  for (const std::string& text :
       {dotted(kMaxKeyParts + 1) + " = 1", "[" + dotted(300000) + "]", dotted(300000) + " = 1",
        "x = { " + dotted(300000) + " = 1 }", "x = [ \"\"\"\n# \"\"\", {" + dotted(300000) + "=1}]",
        "x = '\\'\n" + dotted(300000) + " = 1", "x = \"\\\"#\"\n" + dotted(300000) + " = 1"}) {
    const auto root = parse_toml("\n" + text);
    ASSERT_FALSE(root);
    EXPECT_EQ(root.error().what, "a key has too many parts");
  }
}

TEST(ParseToml, DoesNotCountDotsInsideTextAndComments) {
  const std::string dots(1000, '.');
  EXPECT_TRUE(parse_toml("# " + dots + "\na = \"\\\"" + dots + "\"\nb = '" + dots + "' # " + dots +
                         "\nc = \"\"\"\n\"\" " + dots + "\\\n\"\"\"\"\"\nd = '''" + dots +
                         "''''\ne = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 1.5, 2.5, 3.5,"
                         "4.5, 5.5, 6.5, 7.5, 8.5, 9.5]\n"));
}

TEST(ParseToml, RefusesValuesNestedTooDeep) {
  const std::string open(5000, '[');
  EXPECT_FALSE(parse_toml("a = " + open + std::string(5000, ']')));
}

TEST(ParseTomlValue, TakesExactlyOneValue) {
  const auto list = parse_toml_value("[\"a\", \"b\"]");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->items.size(), 2U);
  EXPECT_FALSE(parse_toml_value("1\nother = 2"));
  EXPECT_FALSE(parse_toml_value(""));
}

TEST(ParseToml, QuotedTextReadsBackExactly) {
  EXPECT_TRUE(rc::check("toml_string() is a TOML string", [] {
    const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
    const auto value = parse_toml_value(toml_string(text));
    RC_ASSERT(value.has_value());
    RC_ASSERT(value->text == text);
  }));
}

}  // namespace
}  // namespace ron::config
