#include "http/accept.h"

#include <string>

#include <gtest/gtest.h>

#include "http/head.h"

namespace ron::http {
namespace {

int weight(const std::string& lines, Coding coding) {
  RequestHead head;
  const std::string text = "GET / HTTP/1.1\r\nHost: x\r\n" + lines + "\r\n";
  EXPECT_EQ(parse_head(text, head).progress, Progress::Done);
  return coding_weight(head, coding);
}

TEST(Accept, WeightsAreThousandths) {
  EXPECT_EQ(weight_in(""), 1000);
  EXPECT_EQ(weight_in("q=0.5"), 500);
  EXPECT_EQ(weight_in(" level=1; q=0.123"), 123);
  EXPECT_EQ(weight_in("Q=1.000"), 1000);
  EXPECT_EQ(weight_in("q=0"), 0);
  EXPECT_EQ(weight_in("q=0.x"), 0);
  EXPECT_EQ(weight_in("q=much"), 0);
}

TEST(Accept, SilenceIsIdentityOnly) {
  EXPECT_EQ(weight("", Coding::Gzip), 0);
  EXPECT_GT(weight("", Coding::Identity), 0);
  EXPECT_EQ(weight("Accept-Encoding:\r\n", Coding::Gzip), 0);
  EXPECT_GT(weight("Accept-Encoding:\r\n", Coding::Identity), 0);
}

TEST(Accept, WhatIsNamedCounts) {
  const std::string browser = "Accept-Encoding: gzip, deflate, br;q=0.5\r\n";
  EXPECT_EQ(weight(browser, Coding::Gzip), 1000);
  EXPECT_EQ(weight(browser, Coding::Brotli), 500);
  EXPECT_EQ(weight(browser, Coding::Zstd), 0);
  EXPECT_GT(weight(browser, Coding::Identity), 0);
  EXPECT_LT(weight(browser, Coding::Identity), 500) << "a coding that is asked for comes first";
  EXPECT_EQ(weight("Accept-Encoding: GZip;q=0\r\n", Coding::Gzip), 0);
  EXPECT_EQ(weight("Accept-Encoding: x-gzip\r\n", Coding::Gzip), 1000);
  EXPECT_EQ(weight("Accept-Encoding: br\r\nAccept-Encoding: gzip\r\n", Coding::Gzip), 1000)
      << "several lines are one list";
}

TEST(Accept, TheStarIsAllThatIsNotNamed) {
  EXPECT_EQ(weight("Accept-Encoding: *\r\n", Coding::Zstd), 1000);
  EXPECT_EQ(weight("Accept-Encoding: gzip;q=0, *\r\n", Coding::Gzip), 0);
  EXPECT_EQ(weight("Accept-Encoding: *;q=0\r\n", Coding::Identity), 0);
  EXPECT_EQ(weight("Accept-Encoding: identity;q=0.1, *;q=0\r\n", Coding::Identity), 100);
  EXPECT_EQ(weight("Accept-Encoding: identity;q=0\r\n", Coding::Identity), 0);
}

}  // namespace
}  // namespace ron::http
