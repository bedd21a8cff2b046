#include "http/http_date.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::http {
namespace {

constexpr std::int64_t kExample = 784'111'777;  // of RFC 9110, 5.6.7
constexpr std::int64_t kNow = 1'790'000'000;    // September 2026

std::string printed(std::int64_t unix_s) {
  const auto text = print_http_date(unix_s);
  return {text.data(), text.size()};
}

TEST(HttpDate, TheThreeFormsOfRfc9110AreOneTime) {
  for (const std::string_view text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994"}) {
    EXPECT_EQ(parse_http_date(text, kNow), kExample) << text;
  }
  EXPECT_EQ(printed(kExample), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(HttpDate, NothingElseIsADate) {
  for (const std::string_view text :
       {"", "0", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Mon, 06 Nov 1994 08:49:37 GMT",  // it was a Sunday
        "sun, 06 nov 1994 08:49:37 gmt",  // the grammar knows case
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
        " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "1994-11-06T08:49:37Z"}) {
    EXPECT_EQ(parse_http_date(text, kNow), std::nullopt) << text;
  }
}

TEST(HttpDate, ALeapSecondIsTheOneBefore) {
  EXPECT_EQ(parse_http_date("Sat, 31 Dec 2016 23:59:60 GMT", kNow),
            parse_http_date("Sat, 31 Dec 2016 23:59:59 GMT", kNow));
}

TEST(HttpDate, TwoDigitsMeanAtMostFiftyYearsAhead) {
  EXPECT_EQ(parse_http_date("Wednesday, 01-Jan-76 00:00:00 GMT", kNow),
            parse_http_date("Wed, 01 Jan 2076 00:00:00 GMT", kNow));
  EXPECT_EQ(parse_http_date("Saturday, 01-Jan-77 00:00:00 GMT", kNow),
            parse_http_date("Sat, 01 Jan 1977 00:00:00 GMT", kNow));
}

TEST(HttpDate, WhatIsPrintedIsRead) {
  EXPECT_TRUE(rc::check("parse(print(t)) == t", [] {
    const auto unix_s = *rc::gen::inRange<std::int64_t>(-62'135'596'800, 253'402'300'800);
    RC_ASSERT(parse_http_date(printed(unix_s), kNow) == unix_s);
  }));
}

TEST(HttpDate, TimesThatHaveNoFormPrintAsTheNearest) {
  EXPECT_EQ(printed(INT64_MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(printed(INT64_MIN), "Mon, 01 Jan 0001 00:00:00 GMT");
}

}  // namespace
}  // namespace ron::http
