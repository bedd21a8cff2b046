#include "http/cache_control.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::http {
namespace {

CacheControl response(std::string_view line) {
  CacheControl control;
  control.add(line);
  return control;
}
RequestCacheControl request(std::string_view line) {
  RequestCacheControl control;
  control.add(line);
  return control;
}

// What it lets a cache do, as text.
std::string show(const CacheControl& control) {
  std::string text;
  const auto flag = [&](bool set, std::string_view name) {
    if (set) text += std::string(name) + " ";
  };
  const auto number = [&](std::optional<std::uint32_t> seconds, std::string_view name) {
    if (seconds) text += std::string(name) + "=" + std::to_string(*seconds) + " ";
  };
  flag(control.no_store, "no-store");
  flag(control.no_cache, "no-cache");
  flag(control.is_private, "private");
  flag(control.is_public, "public");
  flag(control.must_revalidate, "must-revalidate");
  flag(control.proxy_revalidate, "proxy-revalidate");
  flag(control.must_understand, "must-understand");
  flag(control.no_transform, "no-transform");
  flag(control.immutable, "immutable");
  number(control.max_age, "max-age");
  number(control.s_maxage, "s-maxage");
  number(control.stale_if_error, "stale-if-error");
  if (!text.empty()) text.pop_back();
  return text;
}

struct Case {
  std::string_view line;
  std::string_view means;
};

TEST(CacheControl, Rfc9111Section5_2_2DirectivesAreRead) {
  for (const Case& each : std::vector<Case>{
           {"", ""},
           {"max-age=60", "max-age=60"},
           {"Max-Age=60, PUBLIC", "public max-age=60"},
           {"public, s-maxage=10, max-age=5", "public max-age=5 s-maxage=10"},
           {"no-store", "no-store"},
           {"must-revalidate,proxy-revalidate", "must-revalidate proxy-revalidate"},
           {"must-understand, no-store", "no-store must-understand"},
           {"no-transform, immutable", "no-transform immutable"},
           {"stale-if-error=60", "stale-if-error=60"},
           {" , max-age=1 ,, ", "max-age=1"},
       }) {
    EXPECT_EQ(show(response(each.line)), each.means) << each.line;
  }
}

// 5.2: a value may come as a token or quoted, whichever its definition shows.
TEST(CacheControl, Rfc9111Section5_2QuotedValuesAreValues) {
  EXPECT_EQ(show(response("max-age=\"60\"")), "max-age=60");
  EXPECT_EQ(show(response("private=\"Set-Cookie, X-A\", max-age=3")), "private max-age=3");
  EXPECT_EQ(show(response("no-cache=\"a\\\"b, no-store\", max-age=3")), "no-cache max-age=3");
}

// 5.2.3
TEST(CacheControl, Rfc9111Section5_2_3UnknownDirectivesArePassedOver) {
  EXPECT_EQ(show(response("community=\"UCI, no-store\", a=b, c, max-age=1")), "max-age=1");
}

// 4.2.1: of two, either the first counts or the answer is stale; the stricter is never wrong.
TEST(CacheControl, Rfc9111Section4_2_1OfTwoTheStricterCounts) {
  EXPECT_EQ(show(response("max-age=60, max-age=10")), "max-age=10");
  EXPECT_EQ(show(response("max-age=10, max-age=60")), "max-age=10");
  CacheControl lines = response("max-age=60, public");
  lines.add("no-store, max-age=5");
  EXPECT_EQ(show(lines), "no-store public max-age=5");
}

// 4.2.1: invalid freshness information is to be considered stale.
TEST(CacheControl, Rfc9111Section4_2_1NumbersThatAreNoneAreZero) {
  for (const std::string_view line :
       {"max-age", "max-age=-1", "max-age=1.5", "max-age=a", "max-age=\" 1\"", "max-age=\"\""}) {
    EXPECT_EQ(show(response(line)), "max-age=0") << line;
  }
}

// 1.2.2
TEST(CacheControl, Rfc9111Section1_2_2NumbersTooLargeAreTheLargest) {
  EXPECT_EQ(response("max-age=2147483647").max_age, 2'147'483'647U);
  for (const std::string_view line :
       {"max-age=2147483648", "max-age=4294967296", "max-age=99999999999999999999999999"}) {
    EXPECT_EQ(response(line).max_age, kMaxDeltaS) << line;
  }
}

TEST(CacheControl, WhatBreaksTheGrammarIsNotTrusted) {
  EXPECT_EQ(show(response("max-age=60; public")), "no-cache");
  EXPECT_EQ(show(response("max-age = 60")), "no-cache");
  EXPECT_EQ(show(response("max-age=")), "no-cache");
  EXPECT_EQ(show(response("=1, max-age=2")), "no-cache max-age=2");
  EXPECT_EQ(show(response("a b, \"q, no-store\", max-age=2")), "no-cache max-age=2");
  EXPECT_EQ(show(response("max-age=60, x=\"abc, no-store")), "no-store max-age=60");
}

TEST(RequestCacheControl, Rfc9111Section5_2_1DirectivesAreRead) {
  const RequestCacheControl all =
      request("no-cache, no-store, only-if-cached, max-age=1, min-fresh=2, max-stale=3");
  EXPECT_TRUE(all.no_cache && all.no_store && all.only_if_cached);
  EXPECT_EQ(all.max_age, 1U);
  EXPECT_EQ(all.min_fresh, 2U);
  EXPECT_EQ(all.max_stale, 3U);
  EXPECT_EQ(request("max-stale").max_stale, kMaxDeltaS);
  EXPECT_EQ(request("max-stale, max-stale=5").max_stale, 5U);
  EXPECT_EQ(request("max-stale=5, max-stale").max_stale, 5U);
  EXPECT_EQ(request("min-fresh=5, min-fresh=9").min_fresh, 9U);
  EXPECT_EQ(request("min-fresh=x").min_fresh, kMaxDeltaS);
}

// Names and values of which any list is made.
rc::Gen<std::string> directive() {
  return rc::gen::element<std::string>(
      "no-store", "no-cache", "private", "public", "must-revalidate", "max-age=5", "max-age=500",
      "s-maxage=7", "max-age=x", "x=\"a, b\"", "y", "", "stale-if-error=3", "max-age = 3");
}

std::string joined(const std::vector<std::string>& directives) {
  std::string line;
  for (const std::string& each : directives) line += (line.empty() ? "" : ", ") + each;
  return line;
}

TEST(CacheControl, OrderAndLinesDoNotMatter) {
  EXPECT_TRUE(rc::check("any order, one line or many", [] {
    const auto directives = *rc::gen::container<std::vector<std::string>>(directive());
    std::vector<std::string> reversed(directives.rbegin(), directives.rend());
    CacheControl lines;
    for (const std::string& each : directives) lines.add(each);
    RC_ASSERT(show(response(joined(directives))) == show(response(joined(reversed))));
    RC_ASSERT(show(response(joined(directives))) == show(lines));
  }));
}

TEST(CacheControl, MoreDirectivesNeverLoosenWhatWasSaid) {
  EXPECT_TRUE(rc::check("adding only restricts", [] {
    const auto first = *rc::gen::container<std::vector<std::string>>(directive());
    const auto second = *rc::gen::container<std::vector<std::string>>(directive());
    const CacheControl before = response(joined(first));
    CacheControl after = before;
    after.add(joined(second));
    RC_ASSERT(!before.no_store || after.no_store);
    RC_ASSERT(!before.no_cache || after.no_cache);
    RC_ASSERT(!before.is_private || after.is_private);
    RC_ASSERT(!before.must_revalidate || after.must_revalidate);
    if (before.max_age) RC_ASSERT(*after.max_age <= *before.max_age);
  }));
}

}  // namespace
}  // namespace ron::http
