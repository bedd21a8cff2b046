#include <array>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/encoding.h"
#include "base/error.h"
#include "base/object_id.h"
#include "base/ulid.h"

namespace ron::base {
namespace {

TEST(Error, EveryCodeKnowsItselfAndItsStatus) {
  std::set<std::string_view> names;
  for (const CodeInfo& code : all_codes()) {
    EXPECT_EQ(&info(code.code), &code);
    EXPECT_TRUE(names.insert(code.name).second) << code.name;
    EXPECT_GE(code.status, 400);
    EXPECT_LE(code.status, 507);
    EXPECT_FALSE(code.meaning.empty());
  }
  EXPECT_EQ(Error(Code::Busy, "full").status(), 429);
  EXPECT_EQ(Error(Code::HashMismatch, "").name(), "HashMismatch");
}

TEST(ObjectId, ParsesEitherCaseAndPrintsLower) {
  const std::string hex = "AF1349B9F5F9A1A6A0404DEA36DCC9499BCB25C9ADC112B7CC9A93CAE41F3262";
  const auto id = ObjectId::parse("b3:" + hex);
  ASSERT_TRUE(id);
  EXPECT_EQ(id->text(), "b3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
  EXPECT_EQ(ObjectId::parse(id->text())->digest(), id->digest());
}

TEST(ObjectId, RefusesEverythingElse) {
  const std::string hex(64, 'a');
  for (const std::string& bad :
       {std::string(), hex, "B3:" + hex, "b3:" + hex + "a", "b3:" + hex.substr(1),
        "b3:" + hex.substr(1) + "g", "b3:" + hex.substr(1) + std::string(1, '\0')}) {
    const auto id = ObjectId::parse(bad);
    ASSERT_FALSE(id) << bad;
    EXPECT_EQ(id.error().code, Code::BadAddress);
  }
}

TEST(Encoding, HexAndBase64RoundTrip) {
  EXPECT_TRUE(rc::check("round trip", [](const std::vector<std::uint8_t>& raw) {
    const ByteView bytes = std::as_bytes(std::span(raw));
    std::vector<std::byte> back(bytes.size());
    RC_ASSERT(from_hex(to_hex(bytes), back));
    RC_ASSERT(std::ranges::equal(back, bytes));
    const auto decoded = from_base64(to_base64url(bytes));
    RC_ASSERT(decoded.has_value());
    RC_ASSERT(std::ranges::equal(*decoded, bytes));
    const auto padded = from_base64(to_base64(bytes));
    RC_ASSERT(padded.has_value());
    RC_ASSERT(std::ranges::equal(*padded, bytes));
  }));
  // RFC 4648 §10.
  EXPECT_EQ(to_base64url(as_bytes("foobar")), "Zm9vYmFy");
  EXPECT_EQ(to_base64url(as_bytes("foob")), "Zm9vYg");
  EXPECT_EQ(as_text(*from_base64("Zm9vYg==")), "foob");
  EXPECT_FALSE(from_base64("Zm9vY"));
  EXPECT_FALSE(from_base64("Zm9v Yg"));
}

TEST(Encoding, ExactBase64HasOneTextForEachValue) {
  EXPECT_TRUE(rc::check("round trip", [](const std::vector<std::uint8_t>& raw) {
    const ByteView bytes = std::as_bytes(std::span(raw));
    const auto decoded = from_base64_exact(to_base64(bytes));
    RC_ASSERT(decoded.has_value());
    RC_ASSERT(std::ranges::equal(*decoded, bytes));
  }));
  for (const std::string_view other :
       {"Zg", "Zg=", "Zh==", "Zm8", "Zm9=", "Zm9v=", "Zm9v==", "-_8=", "Zg==Zg==", "Zg==\n"}) {
    EXPECT_FALSE(from_base64_exact(other)) << other;
  }
}

TEST(Encoding, Base64IsPaddedAndOfTheClassicAlphabet) {
  // RFC 4648 §10.
  EXPECT_EQ(to_base64(as_bytes("")), "");
  EXPECT_EQ(to_base64(as_bytes("f")), "Zg==");
  EXPECT_EQ(to_base64(as_bytes("fo")), "Zm8=");
  EXPECT_EQ(to_base64(as_bytes("foo")), "Zm9v");
  EXPECT_EQ(to_base64(as_bytes("foob")), "Zm9vYg==");
  EXPECT_EQ(to_base64(as_bytes("fooba")), "Zm9vYmE=");
  EXPECT_EQ(to_base64(as_bytes("foobar")), "Zm9vYmFy");
  EXPECT_EQ(to_base64(as_bytes("\xFB\xFF")), "+/8=");
  EXPECT_EQ(to_base64url(as_bytes("\xFB\xFF")), "-_8");
}

TEST(Ulid, MatchesTheSpecificationsBounds) {
  EXPECT_EQ(Ulid(0, 0, 0).text(), "00000000000000000000000000");
  EXPECT_EQ(Ulid(0xFFFFFFFFFFFF, 0xFFFF, ~0ULL).text(), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
  // The ULID specification's example time, 2016-07-30T23:54:10.259Z.
  EXPECT_EQ(Ulid(1469922850259, 0, 0).text().substr(0, 10), "01ARZ3NDEK");
}

TEST(Ulid, KnowsWhenItWasMade) {
  EXPECT_EQ(Ulid(0, 0xFFFF, ~0ULL).unix_ms(), 0U);
  EXPECT_EQ(Ulid(0xFFFFFFFFFFFF, 0, 0).unix_ms(), 0xFFFFFFFFFFFFU);
  EXPECT_EQ(Ulid::parse("01arz3ndektsv4rrffq69g5fav")->unix_ms(), 1469922850259U);
}

TEST(Ulid, ParsesOnlyWellFormedText) {
  const Ulid id(1469922850259, 0x1234, 0x123456789ABCDEF0);
  EXPECT_EQ(*Ulid::parse(id.text()), id);
  EXPECT_EQ(Ulid::parse("01arz3ndektsv4rrffq69g5fav")->text(), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
  for (const char* bad : {"", "01ARZ3NDEKTSV4RRFFQ69G5FA", "01ARZ3NDEKTSV4RRFFQ69G5FAVV",
                          "81ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAU",
                          "01ARZ3NDEKTSV4RRFFQ69G5FA\n"}) {
    EXPECT_FALSE(Ulid::parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace ron::base
