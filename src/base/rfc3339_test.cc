#include "base/rfc3339.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::base {
namespace {

TEST(Rfc3339, ParsesUtcOffsetsAndFractions) {
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00Z").value(), 0);
  EXPECT_EQ(parse_rfc3339("2027-01-15T08:00:00Z").value(), 1'800'000'000);
  EXPECT_EQ(parse_rfc3339("2027-01-15t08:00:00z").value(), 1'800'000'000);
  EXPECT_EQ(parse_rfc3339("2027-01-15T08:00:00.999999999Z").value(), 1'800'000'000);
  EXPECT_EQ(parse_rfc3339("2027-01-15T13:30:00+05:30").value(), 1'800'000'000);
  EXPECT_EQ(parse_rfc3339("2027-01-14T23:59:00-08:01").value(), 1'800'000'000);
  EXPECT_EQ(parse_rfc3339("2027-01-15T08:00:00-00:00").value(), 1'800'000'000);
  EXPECT_EQ(parse_rfc3339("1969-12-31T23:59:59Z").value(), -1);
}

TEST(Rfc3339, KnowsTheCalendar) {
  EXPECT_TRUE(parse_rfc3339("2024-02-29T00:00:00Z"));
  EXPECT_TRUE(parse_rfc3339("2000-02-29T00:00:00Z"));
  for (const char* bad :
       {"2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-04-31T00:00:00Z",
        "2024-00-10T00:00:00Z", "2024-13-10T00:00:00Z", "2024-01-00T00:00:00Z",
        "2024-01-32T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z",
        "2024-01-01T23:59:60Z", "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+00:60"}) {
    EXPECT_FALSE(parse_rfc3339(bad)) << bad;
  }
}

TEST(Rfc3339, RefusesEveryOtherForm) {
  for (const char* bad :
       {"", "Z", "2024-01-01", "2024-01-01T00:00Z", "2024-01-01T00:00:00", "2024-01-01 00:00:00Z",
        "2024-1-01T00:00:00Z", "24-01-01T00:00:00Z", "+2024-01-01T00:00:00Z",
        "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00.1234567890Z", "2024-01-01T00:00:00,5Z",
        "2024-01-01T00:00:00+0100", "2024-01-01T00:00:00+01", "2024-01-01T00:00:00Z ",
        " 2024-01-01T00:00:00Z", "2024-01-01T00:00:00ZZ", "2024-01-01T-1:00:00Z"}) {
    const auto parsed = parse_rfc3339(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code, base::Code::Malformed);
  }
}

TEST(Rfc3339, EndsWhereYearsEnd) {
  EXPECT_EQ(parse_rfc3339("0000-01-01T00:00:00Z").value(), kMinUnixS);
  EXPECT_EQ(parse_rfc3339("9999-12-31T23:59:59Z").value(), kMaxUnixS);
  EXPECT_FALSE(parse_rfc3339("0000-01-01T00:00:00+00:01"));
  EXPECT_FALSE(parse_rfc3339("9999-12-31T23:59:59-00:01"));
  EXPECT_EQ(print_rfc3339(INT64_MIN), "0000-01-01T00:00:00Z");
  EXPECT_EQ(print_rfc3339(INT64_MAX), "9999-12-31T23:59:59Z");
}

TEST(Rfc3339, ReadsBackWhatItPrints) {
  EXPECT_EQ(print_rfc3339(1'800'000'000), "2027-01-15T08:00:00Z");
  EXPECT_EQ(print_rfc3339(-1), "1969-12-31T23:59:59Z");
  EXPECT_TRUE(rc::check("parse(print(t)) == t", [] {
    const auto unix_s = *rc::gen::inRange<std::int64_t>(kMinUnixS, kMaxUnixS + 1);
    RC_ASSERT(parse_rfc3339(print_rfc3339(unix_s)).value() == unix_s);
  }));
}

TEST(Rfc3339, PrintsMilliseconds) {
  const auto print = [](std::int64_t unix_ms) {
    const auto text = print_rfc3339_ms(unix_ms);
    return std::string(text.data(), text.size());
  };
  EXPECT_EQ(print(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(print(1'800'000'000'042), "2027-01-15T08:00:00.042Z");
  EXPECT_EQ(print(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(print(INT64_MIN), "0000-01-01T00:00:00.000Z");
  EXPECT_EQ(print(INT64_MAX), "9999-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace ron::base
