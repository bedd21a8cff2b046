#include "base/cbor.h"

#include <array>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace ron::base {
namespace {

std::string from(std::string_view hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  EXPECT_TRUE(from_hex(hex, bytes)) << hex;
  return std::string(as_text(bytes));
}

template <class Write>
std::string hex_of(Write&& write) {
  std::string out;
  CborWriter cbor(out);
  write(cbor);
  EXPECT_TRUE(cbor.complete());
  return to_hex(as_bytes(out));
}

TEST(CborWriter, WritesTheShortestHead) {
  const std::vector<std::pair<std::uint64_t, std::string>> numbers = {
      {0, "00"},
      {23, "17"},
      {24, "1818"},
      {255, "18ff"},
      {256, "190100"},
      {65535, "19ffff"},
      {65536, "1a00010000"},
      {4294967295, "1affffffff"},
      {4294967296, "1b0000000100000000"},
      {std::numeric_limits<std::uint64_t>::max(), "1bffffffffffffffff"}};
  for (const auto& [number, hex] : numbers) {
    EXPECT_EQ(hex_of([&](CborWriter& cbor) { cbor.unsigned_number(number); }), hex);
  }
  EXPECT_EQ(hex_of([](CborWriter& cbor) { cbor.negative_number(-24); }), "37");
  EXPECT_EQ(hex_of([](CborWriter& cbor) { cbor.negative_number(-25); }), "3818");
  EXPECT_EQ(hex_of([](CborWriter& cbor) {
              cbor.negative_number(std::numeric_limits<std::int64_t>::min());
            }),
            "3b7fffffffffffffff");
}

TEST(CborWriter, AppendsToWhatIsThere) {
  std::string out = "before";
  CborWriter cbor(out);
  cbor.map(2).key("a").array(0).key("b").array(2).boolean(true).null();
  EXPECT_TRUE(cbor.complete());
  EXPECT_EQ(out, "before" + from("a2616180616282f5f6"));
}

TEST(CborWriter, KnowsWhenADocumentIsUnfinished) {
  std::string out;
  CborWriter cbor(out);
  EXPECT_FALSE(cbor.complete());
  cbor.array(2).map(1).key("a");
  EXPECT_FALSE(cbor.complete());
  cbor.map(0);
  EXPECT_FALSE(cbor.complete());
  cbor.text("b");
  EXPECT_TRUE(cbor.complete());
}

TEST(CborWriter, InsistsOnTheOrderOfKeysAndOnItsCounts) {
  std::string out;
  const auto two_keys = [&](std::string_view first, std::string_view second) {
    CborWriter(out).map(2).key(first).null().key(second).null();
  };
  two_keys("b", "aa");
  EXPECT_DEATH(two_keys("aa", "b"), "cbor_key_less");
  EXPECT_DEATH(two_keys("a", "a"), "cbor_key_less");
  EXPECT_DEATH(CborWriter(out).null().null(), "value_is_due");
  EXPECT_DEATH(CborWriter(out).map(1).null(), "value_is_due");
  EXPECT_DEATH(CborWriter(out).array(1).key("a"), "key_is_due");
  EXPECT_DEATH(CborWriter(out).text("\xFF"), "is_utf8");
  EXPECT_DEATH(CborWriter(out).negative_number(0), "number < 0");
}

TEST(CborReader, ReadsWhatTheWriterWrote) {
  const std::array<std::byte, 3> hash = {std::byte{1}, std::byte{2}, std::byte{3}};
  std::string out;
  CborWriter(out)
      .map(4)
      .key("at")
      .unsigned_number(1'800'000'000'000)
      .key("prev")
      .bytes(hash)
      .key("delta")
      .negative_number(-5)
      .key("names")
      .array(3)
      .text("é")
      .boolean(false)
      .null();

  CborReader cbor(out);
  EXPECT_EQ(cbor.map(), 4U);
  cbor.key("at");
  EXPECT_EQ(cbor.unsigned_number(), 1'800'000'000'000U);
  cbor.key("prev");
  std::array<std::byte, 3> prev{};
  cbor.bytes(prev);
  EXPECT_EQ(prev, hash);
  EXPECT_EQ(cbor.key(), "delta");
  EXPECT_EQ(cbor.negative_number(), -5);
  EXPECT_EQ(cbor.key(), "names");
  EXPECT_EQ(cbor.next_kind(), CborKind::Array);
  EXPECT_EQ(cbor.array(), 3U);
  EXPECT_EQ(cbor.text(), "é");
  EXPECT_EQ(cbor.next_kind(), CborKind::Bool);
  EXPECT_FALSE(cbor.boolean());
  EXPECT_FALSE(cbor.complete());
  EXPECT_EQ(cbor.next_kind(), CborKind::Null);
  cbor.null();
  EXPECT_TRUE(cbor.complete()) << cbor.error().message;
  EXPECT_EQ(cbor.position(), out.size());
}

TEST(CborReader, FailsForGoodAtTheFirstMistake) {
  const std::string document = from("83010203");
  CborReader cbor(document);
  EXPECT_EQ(cbor.array(), 3U);
  EXPECT_EQ(cbor.text(), "");
  EXPECT_FALSE(cbor.ok());
  EXPECT_EQ(cbor.unsigned_number(), 0U);
  EXPECT_EQ(cbor.next_kind(), CborKind::None);
  EXPECT_FALSE(cbor.complete());
  cbor.refuse("a later reason");
  EXPECT_EQ(cbor.error().code, Code::Malformed);
  EXPECT_EQ(cbor.error().message, "the CBOR is refused at byte 1: a text was expected");
}

TEST(CborReader, RefusesOtherKindsThanAskedFor) {
  // One item of every kind, and for each the reads that have to fail.
  const std::array<std::string, 8> items = {from("01"), from("20"), from("4101"), from("6161"),
                                            from("80"), from("a0"), from("f4"),   from("f6")};
  using Read = void (*)(CborReader&);
  const std::array<Read, 8> reads = {[](CborReader& cbor) { cbor.unsigned_number(); },
                                     [](CborReader& cbor) { cbor.negative_number(); },
                                     [](CborReader& cbor) { cbor.bytes(); },
                                     [](CborReader& cbor) { cbor.text(); },
                                     [](CborReader& cbor) { cbor.array(); },
                                     [](CborReader& cbor) { cbor.map(); },
                                     [](CborReader& cbor) { cbor.boolean(); },
                                     [](CborReader& cbor) { cbor.null(); }};
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (std::size_t read = 0; read < reads.size(); ++read) {
      CborReader cbor(items[i]);
      reads[read](cbor);
      EXPECT_EQ(cbor.complete(), i == read) << i << ' ' << read;
    }
  }
}

TEST(CborReader, RefusesReadsThatDoNotFollowTheStructure) {
  const std::string document = from("a26161016162820102");
  {
    CborReader cbor(document);
    cbor.map();
    cbor.unsigned_number();
    EXPECT_EQ(cbor.error().message,
              "the CBOR is refused at byte 1: a value was expected where the map has a key");
  }
  {
    CborReader cbor(document);
    cbor.map();
    cbor.key("b");
    EXPECT_EQ(cbor.error().message, "the CBOR is refused at byte 1: another key was expected");
  }
  {
    CborReader cbor(document);
    cbor.map();
    cbor.key("a");
    cbor.key("b");
    EXPECT_EQ(cbor.error().message,
              "the CBOR is refused at byte 3: a key was expected where no map has one");
  }
  {
    CborReader cbor(document);
    cbor.map();
    cbor.key("a");
    cbor.unsigned_number();
    cbor.key("b");
    cbor.array();
    cbor.unsigned_number();
    EXPECT_EQ(cbor.error().message, "the CBOR is refused at byte 8: the document holds more");
    cbor.unsigned_number();
    EXPECT_TRUE(cbor.complete());
    cbor.unsigned_number();
    EXPECT_EQ(cbor.error().message,
              "the CBOR is refused at byte 9: more was expected than the document holds");
  }
}

TEST(CborReader, FillsOnlyBytesOfTheExactLength) {
  const std::string document = from("4401020304");
  for (const std::size_t length : {0U, 3U, 5U}) {
    std::vector<std::byte> out(length, std::byte{9});
    CborReader cbor(document);
    cbor.bytes(out);
    EXPECT_EQ(cbor.error().message,
              "the CBOR is refused at byte 0: a byte string has another length");
    EXPECT_EQ(out, std::vector<std::byte>(length, std::byte{9}));
  }
}

TEST(CborReader, BelievesNoCountThatTheBytesDoNotBearOut) {
  for (const char* hex : {"9b7fffffffffffffff", "9bffffffffffffffff", "84010203", "9a00010000"}) {
    const std::string document = from(hex);
    CborReader cbor(document);
    EXPECT_EQ(cbor.array(), 0U);
    EXPECT_EQ(cbor.error().message,
              "the CBOR is refused at byte 0: an array or map claims more items than there are "
              "bytes");
  }
  for (const char* hex :
       {"bb7fffffffffffffff", "bb8000000000000000", "bbffffffffffffffff", "a2616101"}) {
    const std::string document = from(hex);
    CborReader cbor(document);
    EXPECT_EQ(cbor.map(), 0U);
    EXPECT_FALSE(cbor.ok());
  }
  for (const char* hex : {"5b7fffffffffffffff00", "5bffffffffffffffff00", "42ff"}) {
    const std::string document = from(hex);
    CborReader cbor(document);
    EXPECT_TRUE(cbor.bytes().empty());
    EXPECT_EQ(cbor.error().message,
              "the CBOR is refused at byte 0: a text or byte string is longer than the rest of the "
              "document");
  }
}

TEST(CborReader, EndsWhereItsDepthEnds) {
  for (const std::size_t depth : {CborReader::kMaxDepth, CborReader::kMaxDepth + 1}) {
    const std::string document = std::string(depth, '\x81') + '\x01';
    CborReader cbor(document);
    for (std::size_t i = 0; i < depth; ++i) cbor.array();
    cbor.unsigned_number();
    EXPECT_EQ(cbor.complete(), depth == CborReader::kMaxDepth);
  }
}

}  // namespace
}  // namespace ron::base
