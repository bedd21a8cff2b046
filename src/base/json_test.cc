#include "base/json.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::base {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(JsonString, EscapesQuotesBackslashesAndControls) {
  EXPECT_EQ(escaped("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(escaped("\n\r\t"), R"("\n\r\t")");
  EXPECT_EQ(escaped(std::string_view("\0\x1f\x7f", 3)), R"("\u0000\u001f\u007f")");
}

TEST(JsonString, KeepsWellFormedUtf8) { EXPECT_EQ(escaped("é€😀"), "\"é€😀\""); }

TEST(JsonString, ReplacesWhatIsNotUtf8) {
  for (const char* bad : {"\xFF", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
    const std::string out = escaped(bad);
    EXPECT_NE(out.find("\xEF\xBF\xBD"), std::string::npos) << out;
    EXPECT_EQ(escaped(out.substr(1, out.size() - 2)), out) << "the result must be clean itself";
  }
}

TEST(JsonString, NeverEmitsRawControlsOrLooseQuotes) {
  EXPECT_TRUE(rc::check("escaped strings are inert", [](const std::string& text) {
    const std::string out = escaped(text);
    for (std::size_t i = 1; i + 1 < out.size(); ++i) {
      RC_ASSERT(static_cast<unsigned char>(out[i]) >= 0x20);
      RC_ASSERT(out[i] != '"');
      if (out[i] == '\\') ++i;
    }
  }));
}

TEST(JsonWriter, PlacesCommasAndColons) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("a").value(1).key("b").begin_array();
  json.value("x").value(true).null().begin_object().end_object().end_array();
  json.key("c").begin_object().key("d").value(false).end_object().end_object();
  EXPECT_TRUE(json.complete());
  EXPECT_EQ(out, R"({"a":1,"b":["x",true,null,{}],"c":{"d":false}})");
}

TEST(JsonWriter, WritesNumbersExactly) {
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  json.value(std::numeric_limits<std::uint64_t>::max());
  json.value(std::numeric_limits<std::int64_t>::min()).value(0.2);
  json.value(std::numeric_limits<double>::infinity()).end_array();
  EXPECT_EQ(out, "[18446744073709551615,-9223372036854775808,0.2,null]");
}

TEST(JsonWriter, KnowsWhenADocumentIsUnfinished) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  EXPECT_FALSE(json.complete());
  json.key("a");
  EXPECT_FALSE(json.complete());
  json.value(1).end_object();
  EXPECT_TRUE(json.complete());
}

}  // namespace
}  // namespace ron::base
