// The rules of RFC 9111 one by one, named by their section.
#include "http/freshness.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "http/head.h"
#include "http/http_date.h"

namespace ron::http {
namespace {

using namespace std::chrono_literals;
using Fields = std::vector<std::pair<std::string, std::string>>;

constexpr std::int64_t kNowS = 1'790'000'000;
constexpr std::int64_t kNowMs = kNowS * 1000;

std::string date(std::int64_t unix_s) {
  const auto text = print_http_date(unix_s);
  return {text.data(), text.size()};
}

// An answer that came at once.
Freshness judged(const Fields& fields, int status = 200) {
  return judge(status, read_cache_fields(fields, kNowMs), {kNowMs, kNowMs});
}
Freshness controlled(std::string line, int status = 200) {
  return judged({{"Cache-Control", std::move(line)}}, status);
}
RequestCacheControl wanted(std::string_view line) {
  RequestCacheControl control;
  control.add(line);
  return control;
}
constexpr std::int64_t after(std::int64_t seconds) { return kNowMs + seconds * 1000; }

TEST(Freshness, Rfc9111Section3WhatASharedCacheMayStore) {
  EXPECT_TRUE(controlled("max-age=1").storable);
  EXPECT_TRUE(judged({}).storable);  // 200 is heuristically cacheable
  EXPECT_TRUE(controlled("no-cache").storable);
  EXPECT_FALSE(controlled("no-store").storable);
  EXPECT_FALSE(controlled("private").storable);
  EXPECT_FALSE(controlled("private=\"x\", max-age=60").storable);
  EXPECT_FALSE(controlled("max-age=60, no-store").storable);
}

TEST(Freshness, Rfc9111Section3StatusesThatAreNotCacheableNeedALifetime) {
  EXPECT_FALSE(judged({}, 302).storable);
  EXPECT_FALSE(judged({}, 500).storable);
  EXPECT_TRUE(controlled("max-age=5", 302).storable);
  EXPECT_TRUE(controlled("public", 503).storable);
  EXPECT_TRUE(judged({{"Expires", date(kNowS + 5)}}, 302).storable);
  EXPECT_TRUE(judged({}, 404).storable);
  EXPECT_TRUE(judged({}, 410).storable);
  EXPECT_FALSE(controlled("max-age=5", 206).storable);
  EXPECT_FALSE(controlled("max-age=5", 304).storable);
}

TEST(Freshness, Rfc9111Section5_2_2_3MustUnderstandOverridesNoStore) {
  EXPECT_TRUE(controlled("must-understand, no-store, max-age=5").storable);
  EXPECT_FALSE(controlled("must-understand, no-store, max-age=5", 599).storable);
  EXPECT_FALSE(controlled("must-understand, max-age=5", 599).storable);
}

TEST(Freshness, Rfc9111Section4_1VaryStarIsNobodyElsesAnswer) {
  EXPECT_FALSE(judged({{"Vary", "*"}}).storable);
  EXPECT_FALSE(judged({{"Vary", "Accept, *"}}).storable);
  EXPECT_FALSE(judged({{"Vary", "a b"}}).storable);
  EXPECT_TRUE(judged({{"Vary", "Accept, accept-language"}}).storable);
}

TEST(Vary, NamesAreLowerCaseSortedAndOnce) {
  Vary vary;
  vary.add("Accept-Language, accept,,Accept");
  vary.add("Origin, ACCEPT");
  EXPECT_FALSE(vary.any);
  EXPECT_THAT(vary.names, testing::ElementsAre("accept", "accept-language", "origin"));
}

TEST(Freshness, Rfc9111Section4_2_1TheOrderOfLifetimes) {
  const std::string expires = date(kNowS + 30);
  EXPECT_EQ(judged({{"Cache-Control", "max-age=60, s-maxage=10"}, {"Expires", expires}}).lifetime_s,
            10U);
  EXPECT_EQ(judged({{"Cache-Control", "max-age=60"}, {"Expires", expires}}).lifetime_s, 60U);
  EXPECT_EQ(judged({{"Expires", expires}, {"Date", date(kNowS)}}).lifetime_s, 30U);
  EXPECT_EQ(judged({{"Expires", expires}, {"Date", date(kNowS - 5)}}).lifetime_s, 35U);
  EXPECT_EQ(judged({{"Expires", expires}}).lifetime_s, 30U);  // no Date: when it came
  EXPECT_EQ(judged({}).lifetime_s, 0U);
}

TEST(Freshness, Rfc9111Section5_3ExpiresThatIsNoDateIsInThePast) {
  for (const std::string_view text : {"0", "-1", "never", ""}) {
    const Freshness freshness = judged({{"Expires", std::string(text)}});
    EXPECT_EQ(freshness.lifetime_s, 0U) << text;
    EXPECT_FALSE(is_fresh(freshness, kNowMs)) << text;
    EXPECT_FALSE(freshness.heuristic);
  }
  EXPECT_EQ(judged({{"Expires", date(kNowS + 60)}, {"Expires", "0"}}).lifetime_s, 0U);
}

TEST(Freshness, Rfc9111Section4_2_2HeuristicsAreATenthAndADayAtMost) {
  const auto modified = [](std::int64_t ago_s) {
    return Fields{{"Last-Modified", date(kNowS - ago_s)}, {"Date", date(kNowS)}};
  };
  EXPECT_EQ(judged(modified(1000)).lifetime_s, 100U);
  EXPECT_TRUE(judged(modified(1000)).heuristic);
  EXPECT_EQ(judged(modified(100 * 86'400)).lifetime_s, 86'400U);
  EXPECT_EQ(judged(modified(-50)).lifetime_s, 0U);
  EXPECT_EQ(judged(modified(1000), 503).lifetime_s, 0U);
  EXPECT_EQ(
      judged({{"Last-Modified", date(kNowS - 1000)}, {"Cache-Control", "public"}}, 503).lifetime_s,
      100U);
  EXPECT_EQ(
      judged({{"Last-Modified", date(kNowS - 1000)}, {"Cache-Control", "max-age=7"}}).lifetime_s,
      7U);
}

TEST(Freshness, Rfc9111Section4_2_3AgeIsTheLargerOfWhatDateAndAgeSay) {
  struct Case {
    Fields fields;
    std::uint32_t age_s;
  };
  for (const Case& each : std::vector<Case>{
           {{}, 2},                                            // the way of the answer
           {{{"Age", "10"}}, 12},                              // and what others had it for
           {{{"Date", date(kNowS - 30)}}, 30},                 // apparent age
           {{{"Date", date(kNowS - 30)}, {"Age", "10"}}, 30},  //
           {{{"Date", date(kNowS - 5)}, {"Age", "10"}}, 12},   //
           {{{"Date", date(kNowS + 30)}, {"Age", "10"}}, 12},  // a clock ahead of ours
           {{{"Date", "yesterday"}, {"Age", "-1"}}, 2},        // nothing that is none
           {{{"Age", "7, 9"}}, 9},                             // 5.1: the first of a list
           {{{"Age", "99999999999999999999"}}, kMaxDeltaS},    // 1.2.2
       }) {
    const Freshness freshness =
        judge(200, read_cache_fields(each.fields, kNowMs), {kNowMs - 2000, kNowMs});
    EXPECT_EQ(current_age_s(freshness, kNowMs), each.age_s);
    if (each.age_s < kMaxDeltaS) {
      EXPECT_EQ(current_age_s(freshness, after(100)), each.age_s + 100);
    }
  }
}

TEST(Freshness, AClockThatIsSetBackMakesNothingYounger) {
  const Freshness freshness = judged({{"Age", "10"}, {"Cache-Control", "max-age=11"}});
  EXPECT_EQ(current_age_s(freshness, after(-3600)), 10U);
  EXPECT_TRUE(is_fresh(freshness, after(-3600)));
  EXPECT_FALSE(is_fresh(freshness, after(1)));
}

TEST(Freshness, Rfc9111Section4_2ItIsFreshWhileItsLifetimeExceedsItsAge) {
  const Freshness freshness = controlled("max-age=10");
  EXPECT_EQ(decide(freshness, {}, after(9)), CopyUse::Fresh);
  EXPECT_EQ(decide(freshness, {}, after(10)), CopyUse::Revalidate);
  EXPECT_EQ(fresh_until_ms(freshness), after(10));
}

TEST(Freshness, Rfc9111Section5_2_2_4NoCacheAsksEachTime) {
  EXPECT_EQ(decide(controlled("no-cache, max-age=10"), {}, kNowMs), CopyUse::Revalidate);
  EXPECT_EQ(decide(controlled("no-cache=\"a\", max-age=10"), wanted("max-stale"), kNowMs),
            CopyUse::Revalidate);
}

TEST(Freshness, Rfc9111Section5_2_1WhatARequestMayAskFor) {
  struct Case {
    std::string_view request;
    std::int64_t at_s;
    CopyUse use;
  };
  using enum CopyUse;
  for (const Case& each : std::vector<Case>{
           {"", 5, Fresh},
           {"no-cache", 5, Revalidate},
           {"max-age=5", 5, Fresh},
           {"max-age=4", 5, Revalidate},
           {"max-age=0", 0, Fresh},
           {"max-age=0", 1, Revalidate},
           {"min-fresh=5", 5, Fresh},
           {"min-fresh=6", 5, Revalidate},
           {"min-fresh=1, max-stale", 10, Revalidate},
           {"max-stale", 1000, Stale},
           {"max-stale=5", 15, Stale},
           {"max-stale=5", 16, Revalidate},
           {"max-stale=0", 10, Stale},
           {"max-stale, max-age=4", 5, Revalidate},
           {"no-store", 5, Fresh},
           {"only-if-cached", 5, Fresh},
           {"only-if-cached", 10, Revalidate},
       }) {
    EXPECT_EQ(decide(controlled("max-age=10"), wanted(each.request), after(each.at_s)), each.use)
        << each.request << " after " << each.at_s;
  }
}

TEST(Freshness, Rfc9111Section4_2_4SomeDirectivesForbidStaleCopies) {
  for (const std::string_view line : {"max-age=10, must-revalidate", "max-age=10, proxy-revalidate",
                                      "s-maxage=10", "max-age=10, no-cache"}) {
    const Freshness freshness = controlled(std::string(line));
    EXPECT_EQ(decide(freshness, wanted("max-stale"), after(11)), CopyUse::Revalidate) << line;
    EXPECT_FALSE(may_serve_on_error(freshness, {}, 1h, after(11))) << line;
  }
}

TEST(Freshness, Rfc5861Section4StaleIfErrorIsTheOriginsWordThenTheRequestsThenOurs) {
  const Freshness silent = controlled("max-age=10");
  EXPECT_TRUE(may_serve_on_error(silent, {}, 5s, after(15)));
  EXPECT_FALSE(may_serve_on_error(silent, {}, 5s, after(16)));
  EXPECT_FALSE(may_serve_on_error(silent, {}, 0s, after(11)));
  EXPECT_TRUE(may_serve_on_error(silent, wanted("stale-if-error=60"), 5s, after(70)));
  EXPECT_FALSE(may_serve_on_error(silent, wanted("stale-if-error=1"), 5s, after(12)));
  const Freshness said = controlled("max-age=10, stale-if-error=20");
  EXPECT_TRUE(may_serve_on_error(said, {}, 5s, after(30)));
  EXPECT_FALSE(may_serve_on_error(said, wanted("stale-if-error=60"), 5s, after(31)));
  EXPECT_FALSE(may_serve_on_error(silent, wanted("no-cache"), 5s, after(11)));
  EXPECT_FALSE(may_serve_on_error(silent, wanted("max-age=3"), 5s, after(11)));
  EXPECT_TRUE(may_serve_on_error(silent, {}, 0s, after(5)));  // fresh it is anyway
}

TEST(RequestCacheControl, Rfc9111Section5_4PragmaCountsOnlyWithoutCacheControl) {
  const auto read = [](std::string_view lines) {
    RequestHead head;
    const std::string text = "GET / HTTP/1.1\r\nHost: a\r\n" + std::string(lines) + "\r\n";
    EXPECT_EQ(parse_head(text, head).progress, Progress::Done);
    return request_cache_control(head).no_cache;
  };
  EXPECT_TRUE(read("Pragma: no-cache\r\n"));
  EXPECT_TRUE(read("Cache-Control: max-age=1\r\ncache-control: no-cache\r\n"));
  EXPECT_FALSE(read("Pragma: no-cache\r\nCache-Control: max-age=1\r\n"));
  EXPECT_FALSE(read(""));
}

TEST(Freshness, TimeOnlyTakesAway) {
  EXPECT_TRUE(rc::check("what may not be used now may not be used later", [] {
    const auto line =
        *rc::gen::element<std::string>("max-age=10", "s-maxage=10", "max-age=10, stale-if-error=5",
                                       "no-cache", "", "max-age=10, must-revalidate");
    const auto ask = *rc::gen::element<std::string>("", "max-age=4", "min-fresh=3", "max-stale",
                                                    "max-stale=3", "stale-if-error=9");
    const Freshness freshness = controlled(line);
    const RequestCacheControl request = wanted(ask);
    const auto sooner = *rc::gen::inRange<std::int64_t>(-5, 40);
    const auto later = sooner + *rc::gen::inRange<std::int64_t>(0, 40);
    const bool used = decide(freshness, request, after(sooner)) != CopyUse::Revalidate;
    RC_ASSERT(used || decide(freshness, request, after(later)) == CopyUse::Revalidate);
    const bool saves = may_serve_on_error(freshness, request, 7s, after(sooner));
    RC_ASSERT(saves || !may_serve_on_error(freshness, request, 7s, after(later)));
    RC_ASSERT(current_age_s(freshness, after(sooner)) <= current_age_s(freshness, after(later)));
  }));
}

}  // namespace
}  // namespace ron::http
