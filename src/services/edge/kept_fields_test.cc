#include "services/edge/kept_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ron::edge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr std::int64_t kNowMs = 1'800'000'000'000;
constexpr http::ExchangeTimes kNow{kNowMs, kNowMs};

http::CacheFields hop(std::string_view control, std::string_view vary = "",
                      std::string_view age = "") {
  http::CacheFields fields;
  if (!control.empty()) fields.add("Cache-Control", control, kNowMs);
  if (!vary.empty()) fields.add("Vary", vary, kNowMs);
  if (!age.empty()) fields.add("Age", age, kNowMs);
  return fields;
}

// The Cache-Control of an answer at the end of one redirect.
std::string behind(int status, std::string_view redirect, std::string_view answer,
                   std::string_view age = "") {
  Restraints restraints;
  restraints.add_redirect(status, hop(redirect), false, kNow);
  KeptFields fields;
  if (!answer.empty()) fields.emplace_back("Cache-Control", answer);
  if (!age.empty()) fields.emplace_back("Age", age);
  restraints.apply(200, fields, kNow);
  return std::string(find_field(fields, "Cache-Control"));
}

TEST(Freshen, A304ReplacesTheFieldsItNames) {
  KeptFields stored = {{"Content-Type", "a/b"}, {"Vary", "x"}, {"Vary", "y"}};
  freshen(stored, {{"vary", "z"}, {"Date", "now"}});
  EXPECT_THAT(stored,
              ElementsAre(Pair("Content-Type", "a/b"), Pair("vary", "z"), Pair("Date", "now")));
}

TEST(Freshen, TheOldAgeAndDateAreNotThoseOfThe304) {
  KeptFields stored = {{"age", "500"}, {"Date", "then"}, {"ETag", "x"}};
  freshen(stored, {});
  EXPECT_THAT(stored, ElementsAre(Pair("ETag", "x")));
}

TEST(Restraints, WithoutRedirectsAndCookiesNothingChanges) {
  KeptFields fields = {{"Cache-Control", "max-age=5"}, {"Vary", "accept"}};
  const KeptFields before = fields;
  Restraints().apply(200, fields, kNow);
  EXPECT_EQ(fields, before);
}

TEST(Restraints, TheLeastLifetimeOfTheChainCounts) {
  EXPECT_EQ(behind(302, "max-age=60", "max-age=600"), "max-age=60");
  EXPECT_EQ(behind(302, "max-age=600", "max-age=60, immutable"), "max-age=60, immutable");
  EXPECT_EQ(behind(302, "max-age=60", "max-age=600, s-maxage=300"), "max-age=60, s-maxage=60");
  EXPECT_EQ(behind(302, "max-age=60", "max-age=600, s-maxage=30"), "max-age=30, s-maxage=30");
  EXPECT_EQ(behind(302, "max-age=0, s-maxage=60", "max-age=600"), "must-revalidate, max-age=0");
  Restraints two;
  two.add_redirect(301, hop("max-age=50"), false, kNow);
  two.add_redirect(302, hop("max-age=70"), false, kNow);
  KeptFields fields = {{"Cache-Control", "max-age=90"}, {"Expires", "never"}};
  two.apply(200, fields, kNow);
  EXPECT_THAT(fields, ElementsAre(Pair("Cache-Control", "max-age=50")));
}

TEST(Restraints, WithoutALifetimeOnlyAPermanentRedirectHasOne) {
  for (const int status : {302, 303, 307}) EXPECT_EQ(behind(status, "", "max-age=9"), "max-age=0");
  for (const int status : {301, 308}) {
    EXPECT_EQ(behind(status, "", "max-age=9"), "max-age=9");
    EXPECT_EQ(behind(status, "", "max-age=999999999"), "max-age=86400");
  }
}

// Lifetimes are counted from when each answer was made: Age is added to what is left.
TEST(Restraints, TheAgeOfTheAnswerAndOfTheRedirectCount) {
  EXPECT_EQ(behind(302, "max-age=60", "max-age=600", "100"), "max-age=160");
  Restraints old;
  old.add_redirect(302, hop("max-age=60", "", "50"), false, kNow);
  KeptFields fields = {{"Cache-Control", "max-age=600"}};
  old.apply(200, fields, kNow);
  EXPECT_EQ(find_field(fields, "Cache-Control"), "max-age=10");
}

TEST(Restraints, WhatOneOfThemForbidsIsForbidden) {
  EXPECT_EQ(behind(301, "no-store", "max-age=9"), "no-store, max-age=9");
  EXPECT_EQ(behind(301, "private", "public, max-age=9"), "no-store, max-age=9");
  EXPECT_EQ(behind(301, "no-cache", "max-age=9"), "no-cache, max-age=9");
  EXPECT_EQ(behind(301, "must-revalidate", "max-age=9"), "must-revalidate, max-age=9");
  EXPECT_EQ(behind(301, "max-age=9, stale-if-error=5", "max-age=9, stale-if-error=7"),
            "max-age=9, stale-if-error=5");
  EXPECT_EQ(behind(302, "max-age=9", "max-age=90, private, no-transform, proxy-revalidate"),
            "private, must-revalidate, no-transform, max-age=9");
  EXPECT_EQ(behind(302, "max-age=9", "max-age=90, no-store"), "no-store, max-age=9");
  EXPECT_EQ(behind(302, "max-age=9", "max-age=90, no-store, must-understand"), "max-age=9");
}

TEST(Restraints, TheAnswerVariesByWhateverTheRedirectsVaryBy) {
  Restraints restraints;
  restraints.add_redirect(301, hop("", "Accept-Language, Accept"), false, kNow);
  restraints.add_redirect(301, hop("", "accept-language, Origin"), false, kNow);
  KeptFields fields = {{"Vary", "Accept"}};
  restraints.apply(200, fields, kNow);
  EXPECT_THAT(fields, ElementsAre(Pair("Vary", "Accept"), Pair("Vary", "accept-language, origin")));
  const KeptFields once = fields;
  restraints.apply(200, fields, kNow);
  EXPECT_EQ(fields, once);
}

TEST(Restraints, ARedirectThatVariesByEverythingLeadsToNothingThatIsKept) {
  Restraints restraints;
  restraints.add_redirect(301, hop("", "*"), false, kNow);
  KeptFields fields;
  restraints.apply(200, fields, kNow);
  EXPECT_EQ(find_field(fields, "Cache-Control"), "no-store, max-age=0");
}

TEST(Restraints, ACookieMakesItSomebodysOwn) {
  const auto with_cookie = [](KeptFields fields) {
    Restraints restraints;
    restraints.note_cookie();
    restraints.apply(200, fields, kNow);
    return fields;
  };
  EXPECT_THAT(with_cookie({}), ElementsAre(Pair("Cache-Control", "private")));
  EXPECT_EQ(with_cookie({{"Cache-Control", "max-age=9"}}).size(), 2U);
  for (const std::string_view fine : {"public", "s-maxage=9", "private"}) {
    EXPECT_EQ(with_cookie({{"Cache-Control", std::string(fine)}}).size(), 1U) << fine;
  }
  Restraints redirected;
  redirected.add_redirect(301, hop("max-age=9"), true, kNow);
  KeptFields fields;
  redirected.apply(200, fields, kNow);
  EXPECT_EQ(find_field(fields, "Cache-Control"), "no-store, max-age=0");
  Restraints for_all;
  for_all.add_redirect(301, hop("public, max-age=9"), true, kNow);
  KeptFields none;
  for_all.apply(200, none, kNow);
  EXPECT_THAT(none, IsEmpty());
}

}  // namespace
}  // namespace ron::edge
