#include "base/value.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/encoding.h"
#include "base/utf8.h"

namespace ron::base {
namespace {

using Array = Value::Array;
using Map = Value::Map;

std::vector<std::byte> from(std::string_view hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  EXPECT_TRUE(from_hex(hex, bytes)) << hex;
  return bytes;
}

std::string encoded(const Value& value) { return to_hex(as_bytes(encode_cbor(value))); }

Result<Value> decoded(std::string_view hex) { return decode_cbor(from(hex)); }

std::string refusal(std::string_view hex) {
  const auto value = decoded(hex);
  if (value) return "accepted";
  EXPECT_EQ(value.error().code, Code::Malformed);
  return value.error().message;
}

enum class WithBytes : bool { No, Yes };

rc::Gen<std::string> any_text() {
  return rc::gen::map(
      rc::gen::container<std::vector<char32_t>>(
          rc::gen::oneOf(rc::gen::inRange<char32_t>(0, 0x80), rc::gen::inRange<char32_t>(0, 0xD800),
                         rc::gen::inRange<char32_t>(0xE000, 0x110000))),
      [](const std::vector<char32_t>& code_points) {
        std::string text;
        for (const char32_t code_point : code_points) append_utf8(text, code_point);
        return text;
      });
}

Value any_value(int depth, WithBytes with_bytes) {
  switch (*rc::gen::inRange(0, depth > 0 ? 8 : 6)) {
    case 0:
      return {};
    case 1:
      return *rc::gen::arbitrary<bool>();
    case 2:
      return *rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(0, 64);
    case 3:
      return -1 - static_cast<std::int64_t>(*rc::gen::arbitrary<std::uint64_t>() >>
                                            *rc::gen::inRange(1, 64));
    case 4:
      if (with_bytes == WithBytes::Yes) {
        const auto raw = *rc::gen::arbitrary<std::vector<std::uint8_t>>();
        return std::as_bytes(std::span(raw));
      }
      [[fallthrough]];
    case 5:
      return *any_text();
    case 6: {
      Array items;
      for (int left = *rc::gen::inRange(0, 5); left > 0; --left) {
        items.push_back(any_value(depth - 1, with_bytes));
      }
      return items;
    }
    default: {
      Map pairs;
      for (int left = *rc::gen::inRange(0, 5); left > 0; --left) {
        pairs.insert_or_assign(*any_text(), any_value(depth - 1, with_bytes));
      }
      return pairs;
    }
  }
}

TEST(Value, IsWhatItWasMadeFrom) {
  EXPECT_TRUE(Value().is_null());
  EXPECT_TRUE(Value(nullptr).is_null());
  EXPECT_EQ(Value(true).boolean(), true);
  EXPECT_EQ(Value(7).unsigned_number(), 7U);
  EXPECT_EQ(Value(std::numeric_limits<std::uint64_t>::max()).unsigned_number(),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(Value(-7).negative_number(), -7);
  EXPECT_EQ(*Value("a").text(), "a");
  EXPECT_EQ(*Value(std::string_view("a")).text(), "a");
  EXPECT_EQ(*Value(as_bytes("ab")).bytes(), from("6162"));
  EXPECT_EQ(Value(Array{1, "b", nullptr}).array()->size(), 3U);
  EXPECT_EQ(Value(Map{{"a", Array{true}}}).map()->size(), 1U);
}

TEST(Value, AnswersNothingForOtherKinds) {
  const std::vector<Value> one_of_each = {Value(),  true,           1,    -1, Value("text"),
                                          from(""), Array{Value()}, Map{}};
  for (std::size_t i = 0; i < one_of_each.size(); ++i) {
    const Value& value = one_of_each[i];
    EXPECT_EQ(static_cast<std::size_t>(value.kind()), i);
    EXPECT_EQ(value.is_null(), i == 0);
    EXPECT_EQ(value.boolean().has_value(), i == 1);
    EXPECT_EQ(value.unsigned_number().has_value(), i == 2);
    EXPECT_EQ(value.negative_number().has_value(), i == 3);
    EXPECT_EQ(value.text() != nullptr, i == 4);
    EXPECT_EQ(value.bytes() != nullptr, i == 5);
    EXPECT_EQ(value.array() != nullptr, i == 6);
    EXPECT_EQ(value.map() != nullptr, i == 7);
    EXPECT_EQ(value.find("a"), nullptr);
    for (std::size_t j = 0; j < one_of_each.size(); ++j) {
      EXPECT_EQ(value == one_of_each[j], i == j);
    }
  }
}

TEST(Value, FindsWhatAMapHolds) {
  const Value value(Map{{"a", 1}, {"b", Map{{"c", "d"}}}});
  ASSERT_NE(value.find("b"), nullptr);
  EXPECT_EQ(*value.find("b")->find("c"), Value("d"));
  EXPECT_EQ(value.find("c"), nullptr);
}

// RFC 8949 appendix A, as far as it lies in the subset.
TEST(ValueCbor, AgreesWithTheRfcsExamples) {
  Array to_25;
  for (int i = 1; i <= 25; ++i) to_25.emplace_back(i);
  const std::vector<std::pair<Value, std::string>> examples = {
      {0, "00"},
      {1, "01"},
      {10, "0a"},
      {23, "17"},
      {24, "1818"},
      {25, "1819"},
      {100, "1864"},
      {1000, "1903e8"},
      {1000000, "1a000f4240"},
      {1000000000000, "1b000000e8d4a51000"},
      {18446744073709551615U, "1bffffffffffffffff"},
      {-1, "20"},
      {-10, "29"},
      {-100, "3863"},
      {-1000, "3903e7"},
      {false, "f4"},
      {true, "f5"},
      {nullptr, "f6"},
      {from(""), "40"},
      {from("01020304"), "4401020304"},
      {"", "60"},
      {"a", "6161"},
      {"IETF", "6449455446"},
      {"\"\\", "62225c"},
      {"\u00fc", "62c3bc"},
      {"\u6c34", "63e6b0b4"},
      {"\U00010151", "64f0908591"},
      {Array{}, "80"},
      {Array{1, 2, 3}, "83010203"},
      {Array{1, Array{2, 3}, Array{4, 5}}, "8301820203820405"},
      {to_25, "98190102030405060708090a0b0c0d0e0f101112131415161718181819"},
      {Map{}, "a0"},
      {Map{{"a", 1}, {"b", Array{2, 3}}}, "a26161016162820203"},
      {Array{"a", Map{{"b", "c"}}}, "826161a161626163"},
      {Map{{"a", "A"}, {"b", "B"}, {"c", "C"}, {"d", "D"}, {"e", "E"}},
       "a56161614161626142616361436164614461656145"},
  };
  for (const auto& [value, hex] : examples) {
    EXPECT_EQ(encoded(value), hex);
    const auto back = decoded(hex);
    ASSERT_TRUE(back) << hex << ' ' << back.error().message;
    EXPECT_EQ(*back, value) << hex;
  }
}

// The other examples of appendix A.
TEST(ValueCbor, RefusesTheRfcsExamplesOutsideOfTheSubset) {
  const auto expect_all = [](std::string_view why, const std::vector<std::string>& examples) {
    for (const std::string& hex : examples) {
      EXPECT_NE(refusal(hex).find(why), std::string::npos) << hex << ' ' << refusal(hex);
    }
  };
  expect_all("floats", {"f90000",
                        "f98000",
                        "f93c00",
                        "fb3ff199999999999a",
                        "f93e00",
                        "f97bff",
                        "fa47c35000",
                        "fa7f7fffff",
                        "fb7e37e43c8800759c",
                        "f90001",
                        "f90400",
                        "f9c400",
                        "fbc010666666666666",
                        "f97c00",
                        "f97e00",
                        "f9fc00",
                        "fa7f800000",
                        "fa7fc00000",
                        "faff800000",
                        "fb7ff0000000000000",
                        "fb7ff8000000000000",
                        "fbfff0000000000000"});
  expect_all("tags", {"c249010000000000000000", "c349010000000000000000",
                      "c074323031332d30332d32315432303a30343a30305a", "c11a514b67b0",
                      "c1fb41d452d9ec200000", "d74401020304", "d818456449455446",
                      "d82076687474703a2f2f7777772e6578616d706c652e636f6d"});
  expect_all("indefinite",
             {"5f42010243030405ff", "7f657374726561646d696e67ff", "9fff", "9f018202039f0405ffff",
              "9f01820203820405ff", "83018202039f0405ff", "83019f0203ff820405",
              "9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff",
              "bf61610161629f0203ffff", "826161bf61626163ff", "bf6346756ef563416d7421ff"});
  expect_all("undefined", {"f7"});
  expect_all("simple values", {"f0", "f8ff"});
  expect_all("does not fit 64 bits", {"3bffffffffffffffff"});
  expect_all("key is not text", {"a201020304"});
}

TEST(ValueCbor, RefusesASecondEncodingOfAValue) {
  for (const char* hex : {"1800",
                          "1817",
                          "190018",
                          "1900ff",
                          "1a00000001",
                          "1a0000ffff",
                          "1b0000000000000001",
                          "1b00000000ffffffff",
                          "3800",
                          "3817",
                          "3900ff",
                          "3a0000ffff",
                          "3b00000000ffffffff",
                          "5800",
                          "580101",
                          "590001aa",
                          "7800",
                          "780161",
                          "79000161",
                          "7a0000000161",
                          "9800",
                          "980101",
                          "99000101",
                          "b800",
                          "b801616101",
                          "a178016101"}) {
    EXPECT_NE(refusal(hex).find("shortest form"), std::string::npos) << hex << ' ' << refusal(hex);
  }
  EXPECT_EQ(refusal("82011800"),
            "the CBOR is refused at byte 2: a number or length is not written in its shortest "
            "form");
  EXPECT_NE(refusal("f814"), "accepted");
}

TEST(ValueCbor, SortsKeysByTheirEncoding) {
  const Value value(Map{{"aa", 1}, {"b", 2}, {"", 3}, {"a", 4}, {"\u00fc", 5}, {"z", 6}});
  const std::string hex = "a66003616104616202617a066261610162c3bc05";
  EXPECT_EQ(encoded(value), hex);
  EXPECT_EQ(decoded(hex).value(), value);
}

TEST(ValueCbor, RefusesKeysThatAreUnsortedOrRepeated) {
  EXPECT_EQ(refusal("a2616201616101"),
            "the CBOR is refused at byte 4: a map's keys are not sorted");
  EXPECT_EQ(refusal("a262616101616201"),
            "the CBOR is refused at byte 5: a map's keys are not sorted");
  EXPECT_EQ(refusal("a2616101616102"),
            "the CBOR is refused at byte 4: a map has the same key twice");
  EXPECT_EQ(refusal("a260016002"), "the CBOR is refused at byte 3: a map has the same key twice");
  // The order is that of each map on its own.
  EXPECT_EQ(refusal("a26162a16161016163a1616101"), "accepted");
}

TEST(ValueCbor, RefusesTextThatIsNotUtf8) {
  for (const char* hex : {"61ff", "6180", "62c080", "63eda080", "64f4908080", "62e282", "a161ff01",
                          "6a6161616161616161c328"}) {
    EXPECT_NE(refusal(hex).find("not UTF-8"), std::string::npos) << hex << ' ' << refusal(hex);
  }
}

TEST(ValueCbor, RefusesWhatIsNotWellFormed) {
  for (const char* hex : {"",
                          "18",
                          "19",
                          "1901",
                          "1a010203",
                          "1b01020304050607",
                          "38",
                          "41",
                          "58",
                          "61",
                          "78",
                          "81",
                          "98",
                          "a1",
                          "a16161",
                          "b8",
                          "1c",
                          "1d",
                          "1e",
                          "1f",
                          "3c",
                          "3f",
                          "5c",
                          "7d",
                          "9e",
                          "bc",
                          "df",
                          "ff",
                          "fc",
                          "fd",
                          "fe",
                          "81ff",
                          "9b7fffffffffffffff",
                          "bb7fffffffffffffff",
                          "5b7fffffffffffffff",
                          "7bffffffffffffffff",
                          "0000",
                          "8000",
                          "a000"}) {
    EXPECT_NE(refusal(hex), "accepted") << hex;
  }
  EXPECT_EQ(refusal(""), "the CBOR is refused at byte 0: the document ends too early");
  EXPECT_EQ(refusal("8000"), "the CBOR is refused at byte 1: something follows the document");
}

TEST(ValueCbor, KeepsItsLimits) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '\x81') + '\x00'; };
  const auto decode = [](const std::string& bytes, ValueLimits limits) {
    return decode_cbor(as_bytes(bytes), limits);
  };
  EXPECT_TRUE(decode(nested(16), {}));
  EXPECT_EQ(decode(nested(17), {}).error().message,
            "the CBOR is refused at byte 16: arrays and maps are nested too deeply");
  EXPECT_TRUE(decode(nested(0), {.depth = 0}));
  EXPECT_FALSE(decode(nested(1), {.depth = 0}));
  EXPECT_FALSE(decode("\xA0", {.depth = 0}));
  EXPECT_TRUE(decode(nested(Value::kMaxDepth), {.depth = 1000}));
  EXPECT_FALSE(decode(nested(Value::kMaxDepth + 1), {.depth = 1000}));
  EXPECT_TRUE(decode("\x83\x01\x02\x03", {.items = 4}));
  EXPECT_EQ(decode("\x83\x01\x02\x03", {.items = 3}).error().message,
            "the CBOR is refused at byte 3: the document has too many items");
  EXPECT_FALSE(decode("\x01", {.items = 0}));
}

TEST(ValueCbor, ReadsBackWhatItWrites) {
  EXPECT_TRUE(rc::check("decode(encode(v)) == v, and no part of it decodes", [] {
    const Value value = any_value(4, WithBytes::Yes);
    const std::string bytes = encode_cbor(value);
    const auto back = decode_cbor(as_bytes(bytes));
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == value);
    RC_ASSERT(encode_cbor(*back) == bytes);
    const auto cut = *rc::gen::inRange<std::size_t>(0, bytes.size());
    RC_ASSERT(!decode_cbor(as_bytes(bytes).first(cut)));
  }));
}

TEST(ValueCbor, HasNoTwoEncodingsOfOneValue) {
  EXPECT_TRUE(rc::check("encode(decode(b)) == b for every b that decodes", [] {
    std::string bytes = encode_cbor(any_value(3, WithBytes::Yes));
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    bytes[at] = *rc::gen::arbitrary<char>();
    const auto value = decode_cbor(as_bytes(bytes));
    RC_CLASSIFY(value.has_value());
    if (value) RC_ASSERT(encode_cbor(*value) == bytes);
  }));
}

TEST(ValueJson, ReadsBackWhatItPrints) {
  EXPECT_TRUE(rc::check("parse(print(v)) == v without bytes", [] {
    const Value value = any_value(4, WithBytes::No);
    const std::string text = print_json(value);
    const auto back = parse_json(text);
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == value);
    RC_ASSERT(print_json(*back) == text);
  }));
}

}  // namespace
}  // namespace ron::base
