#include "observe/field.h"

#include <type_traits>

#include <gtest/gtest.h>

namespace ron::observe {
namespace {

struct Token {  // stands for a type that wraps a secret
  std::string text;
};

static_assert(!std::is_constructible_v<Value, Token>);
static_assert(!std::is_constructible_v<Value, const int*>);
static_assert(!std::is_constructible_v<Value, char>);
static_assert(!std::is_constructible_v<Value, std::nullptr_t>);

TEST(Redacted, ShowsTheFingerprintOnly) {
  EXPECT_EQ(redacted(0x00AB12EFU).text(), "00ab12ef");
  EXPECT_EQ(redacted("00ab12ef").text(), "00ab12ef");
}

TEST(Redacted, DropsASecretPassedByMistake) {
  EXPECT_EQ(redacted("AgEIc3ZjLXJvbg").text(), "????????");
  EXPECT_EQ(redacted("hunter22").text(), "????????");
  EXPECT_EQ(redacted("").text(), "????????");
}

TEST(Value, KeepsItsKind) {
  EXPECT_EQ(Value(true).kind(), Value::Kind::kBool);
  EXPECT_EQ(Value(-1).signed_number(), -1);
  EXPECT_EQ(Value(std::size_t{7}).unsigned_number(), 7U);
  EXPECT_EQ(Value(std::uint8_t{65}).unsigned_number(), 65U);
  EXPECT_EQ(Value(0.5F).real(), 0.5);
  EXPECT_EQ(Value("text").kind(), Value::Kind::kText);
  EXPECT_EQ(Value(std::string("text")).kind(), Value::Kind::kText);
  EXPECT_EQ(Value(base::Ulid()).text().size(), base::Ulid::kTextLength);
}

}  // namespace
}  // namespace ron::observe
