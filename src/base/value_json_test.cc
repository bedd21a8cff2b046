#include <string>

#include <gtest/gtest.h>

#include "base/value.h"

namespace ron::base {
namespace {

using namespace std::string_view_literals;
using Array = Value::Array;
using Map = Value::Map;

std::string refusal(std::string_view text, ValueLimits limits = {}) {
  const auto value = parse_json(text, limits);
  if (value) return "accepted";
  EXPECT_EQ(value.error().code, Code::Malformed);
  return value.error().message;
}

TEST(ValueJson, ReadsEveryKind) {
  const auto value = parse_json(
      " {\"null\" : null,\t\"yes\":true, \"no\":false,\r\n \"list\": [ 1 , -2,[],{} ],"
      "\"text\":\"a\"} ");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(*value, Value(Map{{"null", nullptr},
                              {"yes", true},
                              {"no", false},
                              {"list", Array{1, -2, Array{}, Map{}}},
                              {"text", "a"}}));
}

TEST(ValueJson, AcceptsWhatTheRfcAllows) {
  for (const char* text : {R"([])",
                           R"({})",
                           R"([[]])",
                           R"([ ])",
                           R"( [] )",
                           R"(null)",
                           R"(true)",
                           R"(false)",
                           R"(0)",
                           R"(-0)",
                           R"(-1)",
                           R"("")",
                           R"([""])",
                           R"([null])",
                           R"([1,null,2])",
                           R"({"":0})",
                           R"({"a":{}})",
                           R"([-123])",
                           R"({"a":1,"b":1})",
                           R"({"a\u0000b":1})",
                           R"(["/"])",
                           R"(["\/"])",
                           R"(["\u002c"])"}) {
    EXPECT_EQ(refusal(text), "accepted") << text;
  }
  for (const std::string_view text :
       {"\t[1]\n"sv, "\r\n[1]"sv, "[\"\x7F\"]"sv, "[\"\xEF\xBF\xBF\"]"sv,
        "[\"\xF4\x8F\xBF\xBF\"]"sv, "[\"\xE2\x80\xA8\"]"sv}) {
    EXPECT_EQ(refusal(text), "accepted") << text;
  }
}

TEST(ValueJson, ReadsEveryEscape) {
  const auto text_of = [](std::string_view json) {
    const auto value = parse_json(json);
    return value && value->text() != nullptr ? *value->text() : "refused";
  };
  EXPECT_EQ(text_of(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(text_of(R"("\u0041\u00e9\u20AC\uFFFF")"), "A\u00e9\u20ac\uffff");
  EXPECT_EQ(text_of(R"("\u0000")"), std::string(1, '\0'));
  EXPECT_EQ(text_of(R"("\uD834\udd1e")"), "\U0001d11e");
  EXPECT_EQ(text_of(R"("\uDBFF\uDFFF")"), "\U0010ffff");
  EXPECT_EQ(text_of("\"\u00e9\U0001f600\""), "\u00e9\U0001f600");
}

TEST(ValueJson, RefusesBrokenArrays) {
  for (const char* text : {"[", "]", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1,,2]", "[1 2]", "[1}",
                           "[\"a\"", "[\"a\":1]", "[][]", "[1]x", "[*]", "[1/**/]"}) {
    EXPECT_NE(refusal(text), "accepted") << text;
  }
}

TEST(ValueJson, RefusesBrokenObjects) {
  for (const char* text : {R"({)",        R"(})",        R"({1})",           R"({])",
                           R"({"a")",     R"({"a":)",    R"({"a":1)",        R"({"a":1,)",
                           R"({"a":1,})", R"({,"a":1})", R"({"a" 1})",       R"({"a",1})",
                           R"({"a"::1})", R"({:1})",     R"({a:1})",         R"({'a':1})",
                           R"({1:1})",    R"({null:1})", R"({"a":1 "b":2})", R"({"a":1])",
                           R"({}{})",     R"({"a"})",    R"({"a":})",        R"({"a":1,"b"})"}) {
    EXPECT_NE(refusal(text), "accepted") << text;
  }
}

TEST(ValueJson, RefusesWhatIsNoDocument) {
  for (const char* text : {"",     " ",     "1 2",    "null null", "nul", "nulll",    "True",
                           "NULL", "truth", "fals",   "undefined", "NaN", "Infinity", "-Infinity",
                           "'a'",  "a",     "/**/[]", "[]//",      "#[]", "*",        "<null>"}) {
    EXPECT_NE(refusal(text), "accepted") << text;
  }
  // Spaces of other alphabets, byte order marks and zero bytes are no white space.
  for (const std::string_view text :
       {"\v[]"sv, "\f[]"sv, "[\xC2\xA0]"sv, "\xEF\xBB\xBF[]"sv, "\xEF\xBB\xBF"sv,
        "\xFF\xFE[\0]\0"sv, "\0"sv, "[]\0"sv, "[\0]"sv, "1\0"sv}) {
    EXPECT_NE(refusal(text), "accepted") << text;
  }
}

TEST(ValueJson, RefusesBrokenText) {
  for (const char* text : {R"(")", R"("a)", R"("\)", R"("\")", R"("\x41")", R"("\a")", R"("\'")",
                           R"("\0")", R"("\U0041")", R"("\u")", R"("\u004")", R"("\u00g0")",
                           R"("\u00\u41")", R"("\u 041")", R"("\u+041")", R"("\é")"}) {
    EXPECT_NE(refusal(text), "accepted") << text;
  }
  for (const std::string_view text :
       {"\"\\\n\""sv, "\"\n\""sv, "\"\t\""sv, "\"\x1F\""sv, "\"\0\""sv, "\"\\\0\""sv, "\"\xFF\""sv,
        "\"\x80\""sv, "\"\xC0\xAF\""sv, "\"\xED\xA0\x80\""sv, "\"\xF4\x90\x80\x80\""sv,
        "\"\xE2\x82\""sv, "{\"\xFF\":1}"sv}) {
    EXPECT_NE(refusal(text), "accepted") << text;
  }
}

TEST(ValueJson, RefusesSurrogatesThatStandAlone) {
  for (const char* text :
       {R"("\uD800")", R"("\uDBFF")", R"("\uDC00")", R"("\uDFFF")", R"("\uD800x")", R"("\uD800\n")",
        R"("\uD800\u0041")", R"("\uD800\uD800")", R"("\uDC00\uD800")", R"("\uD800\uD800\uDC00")"}) {
    EXPECT_EQ(refusal(text), "the JSON is refused at byte 1: a surrogate stands alone") << text;
  }
}

TEST(ValueJson, ReadsIntegersOf64BitsOnly) {
  EXPECT_EQ(parse_json("18446744073709551615")->unsigned_number(), 18446744073709551615U);
  EXPECT_EQ(parse_json("-9223372036854775808")->negative_number(), INT64_MIN);
  EXPECT_EQ(parse_json("-0")->unsigned_number(), 0U);
  for (const char* text : {"18446744073709551616", "-9223372036854775809",
                           "100000000000000000000000000000", "-100000000000000000000"}) {
    EXPECT_EQ(refusal(text), "the JSON is refused at byte 0: a number does not fit 64 bits");
  }
  for (const char* text :
       {"1.0", "0.5", "-1.5", "1e3", "1E3", "1e+3", "1e-3", "0e0", "-0.0", "1.", "1e", "2.e3"}) {
    EXPECT_EQ(refusal(text),
              "the JSON is refused at byte 0: a number with a fraction or an exponent is not "
              "accepted");
  }
  for (const char* text : {"00", "01", "-01", "-00", "012"}) {
    EXPECT_EQ(refusal(text), "the JSON is refused at byte 0: a number has a leading zero") << text;
  }
  for (const char* text :
       {"-", "+1", "--1", ".5", "-.5", "0x10", "1_000", "1a", "- 1", "-a", "\xEF\xBC\x91"}) {
    EXPECT_NE(refusal(text), "accepted") << text;
  }
}

TEST(ValueJson, RefusesAKeyThatAppearsTwice) {
  EXPECT_EQ(refusal(R"({"a":1,"a":2})"),
            "the JSON is refused at byte 7: an object has the same key twice");
  EXPECT_EQ(refusal(R"({"a":1,"\u0061":1})"),
            "the JSON is refused at byte 7: an object has the same key twice");
  EXPECT_EQ(refusal(R"({"a":{"a":1},"b":{"a":1}})"), "accepted");
}

TEST(ValueJson, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(refusal(""), "the JSON is refused at byte 0: the document ends too early");
  EXPECT_EQ(refusal("[1, 2"), "the JSON is refused at byte 5: the document ends too early");
  EXPECT_EQ(refusal("\"ab"), "the JSON is refused at byte 3: the document ends too early");
  EXPECT_EQ(refusal("[1 2]"),
            "the JSON is refused at byte 3: a comma or a closing bracket was expected");
  EXPECT_EQ(refusal("{\"a\":1;"),
            "the JSON is refused at byte 6: a comma or a closing brace was expected");
  EXPECT_EQ(refusal("{\"a\" 1}"), "the JSON is refused at byte 5: a colon was expected");
  EXPECT_EQ(refusal("{a:1}"), "the JSON is refused at byte 1: a key in quotes was expected");
  EXPECT_EQ(refusal("[1,x]"), "the JSON is refused at byte 3: a value was expected");
  EXPECT_EQ(refusal("[1] 2"), "the JSON is refused at byte 4: something follows the document");
  EXPECT_EQ(refusal("\"\\x\""), "the JSON is refused at byte 2: this escape does not exist");
  EXPECT_EQ(refusal("\"a\nb\""),
            "the JSON is refused at byte 2: a control character in a text has to be escaped");
  EXPECT_EQ(refusal("\"a\xFF\""), "the JSON is refused at byte 2: a text is not UTF-8");
}

TEST(ValueJson, KeepsItsLimits) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(refusal(nested(16)), "accepted");
  EXPECT_EQ(refusal(nested(17)),
            "the JSON is refused at byte 16: arrays and objects are nested too deeply");
  EXPECT_NE(refusal(std::string(100'000, '[')), "accepted");
  EXPECT_NE(refusal("{}", {.depth = 0}), "accepted");
  EXPECT_EQ(refusal("1", {.depth = 0}), "accepted");
  EXPECT_EQ(refusal(nested(Value::kMaxDepth), {.depth = 1000}), "accepted");
  EXPECT_NE(refusal(nested(Value::kMaxDepth + 1), {.depth = 1000}), "accepted");
  EXPECT_EQ(refusal("{\"a\":[1,2]}", {.items = 4}), "accepted");
  EXPECT_EQ(refusal("{\"a\":[1,2]}", {.items = 3}),
            "the JSON is refused at byte 8: the document has too many items");
}

TEST(ValueJson, PrintsKeysInOrderAndBytesAsBase64) {
  const Value value(Map{{"b", Array{nullptr, true, 18446744073709551615U, INT64_MIN}},
                        {"a", as_bytes("\xFB\xFF\xFE\x01")},
                        {"c", Map{{"\n", "\""}}}});
  EXPECT_EQ(print_json(value),
            R"({"a":"+//+AQ==","b":[null,true,18446744073709551615,-9223372036854775808],)"
            R"("c":{"\n":"\""}})");
}

TEST(ValueJson, PrintsTheDeepestDocumentItReads) {
  Value value;
  for (std::size_t i = 0; i < Value::kMaxDepth; ++i) value = Array{std::move(value)};
  EXPECT_EQ(parse_json(print_json(value), {.depth = Value::kMaxDepth}).value(), value);
  EXPECT_EQ(decode_cbor(as_bytes(encode_cbor(value)), {.depth = Value::kMaxDepth}).value(), value);
}

}  // namespace
}  // namespace ron::base
