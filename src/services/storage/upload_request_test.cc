#include "services/storage/upload_request.h"

#include <gtest/gtest.h>

namespace ron::storage {
namespace {

TEST(UploadRequest, TakesALengthAndMaybeAnAddress) {
  const auto plain = parse_upload_request(R"({"length":5})");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->length, 5U);
  EXPECT_FALSE(plain->address);
  const std::string address = "b3:" + std::string(64, 'a');
  const auto addressed =
      parse_upload_request(R"( {"address":")" + address + R"(", "length":18446744073709551615} )");
  ASSERT_TRUE(addressed);
  EXPECT_EQ(addressed->length, UINT64_MAX);
  EXPECT_EQ(addressed->address->text(), address);
}

TEST(UploadRequest, RefusesEverythingElse) {
  for (const char* text :
       {"", "{}", "[]", "5", "null", R"({"length":-1})", R"({"length":1.5})", R"({"length":"1"})",
        R"({"length":1e3})", R"({"length":1,"length":2})", R"({"length":1,"more":2})",
        R"({"length":18446744073709551616})", R"({"length":[1]})", R"({"length":1}x)",
        R"({"length":1,"address":null})", R"({"length":{"length":1}})", "{\"length\":1"}) {
    const auto parsed = parse_upload_request(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, base::Code::Malformed) << text;
  }
  EXPECT_EQ(parse_upload_request(R"({"length":1,"address":"b3:xyz"})").error().code,
            base::Code::BadAddress);
  const std::string padded = R"({"length":1})" + std::string(kUploadRequestBytes, ' ');
  EXPECT_FALSE(parse_upload_request(padded));
}

TEST(PartNumber, IsPlainDecimal) {
  EXPECT_EQ(parse_part_number("0").value(), 0U);
  EXPECT_EQ(parse_part_number("17").value(), 17U);
  for (const char* text :
       {"", "00", "01", "+1", "-1", " 1", "1 ", "0x1", "1e2", "18446744073709551616"}) {
    EXPECT_FALSE(parse_part_number(text)) << text;
  }
}

}  // namespace
}  // namespace ron::storage
