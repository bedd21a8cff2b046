#include "http/router.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::http {
namespace {

platform::Task<Response> nothing(Request*) { co_return Response(200); }

class RouterTest : public testing::Test {
 protected:
  void add(Method method, std::string pattern) {
    router_.add({method, std::move(pattern), auth::Access::open(), nothing});
  }
  // The pattern that matched, or nothing.
  std::string match(Method method, std::string_view path) {
    request_ = Request();
    request_.path = path;
    last_ = router_.match(method, request_);
    return last_.route != nullptr ? last_.route->pattern : "";
  }

  runtime::Meters meters_{"svc-test"};
  Router router_{meters_};
  Request request_;
  Router::Match last_;
};

TEST_F(RouterTest, MatchesLiteralsSegmentBySegment) {
  add(Method::Get, "/a/b");
  EXPECT_EQ(match(Method::Get, "/a/b"), "/a/b");
  for (const std::string_view path :
       {"/", "/a", "/a/", "/a/b/", "/a/b/c", "/a/bc", "/b/a", "a/b"}) {
    EXPECT_EQ(match(Method::Get, path), "") << path;
    EXPECT_FALSE(last_.path_known) << path;
  }
}

TEST_F(RouterTest, MatchesTheRoot) {
  add(Method::Get, "/");
  EXPECT_EQ(match(Method::Get, "/"), "/");
  EXPECT_EQ(match(Method::Get, "/x"), "");
}

TEST_F(RouterTest, FillsParametersInOrder) {
  add(Method::Put, "/uploads/{id}/{n}");
  EXPECT_EQ(match(Method::Put, "/uploads/abc/7"), "/uploads/{id}/{n}");
  EXPECT_EQ(request_.params[0], "abc");
  EXPECT_EQ(request_.params[1], "7");
}

TEST_F(RouterTest, AParameterIsNeverEmpty) {
  add(Method::Get, "/o/{addr}");
  add(Method::Get, "/a/{b}/c");
  EXPECT_EQ(match(Method::Get, "/o/"), "");
  EXPECT_EQ(match(Method::Get, "/o"), "");
  EXPECT_EQ(match(Method::Get, "/a//c"), "");
}

TEST_F(RouterTest, HeadUsesTheRouteOfGet) {
  add(Method::Get, "/o/{addr}");
  add(Method::Post, "/o");
  EXPECT_EQ(match(Method::Head, "/o/x"), "/o/{addr}");
  EXPECT_EQ(match(Method::Head, "/o"), "");
}

TEST_F(RouterTest, ATailTakesAllThatFollows) {
  add(Method::Get, "/names/{name...}");
  EXPECT_EQ(match(Method::Get, "/names/docs/v2"), "/names/{name...}");
  EXPECT_EQ(request_.params[0], "docs/v2");
  EXPECT_EQ(match(Method::Get, "/names/docs/"), "/names/{name...}");
  EXPECT_EQ(request_.params[0], "docs/");
  EXPECT_EQ(match(Method::Get, "/names/"), "/names/{name...}");
  EXPECT_EQ(request_.params[0], "");
  EXPECT_EQ(match(Method::Get, "/names"), "");
  EXPECT_EQ(match(Method::Get, "/namesake"), "");
}

TEST_F(RouterTest, ATailStandsBehindParameters) {
  add(Method::Get, "/edge/sites/{site}/{path...}");
  EXPECT_EQ(match(Method::Get, "/edge/sites/docs/a/b.html"), "/edge/sites/{site}/{path...}");
  EXPECT_EQ(request_.params[0], "docs");
  EXPECT_EQ(request_.params[1], "a/b.html");
  EXPECT_EQ(match(Method::Get, "/edge/sites/docs"), "");
}

TEST_F(RouterTest, WhatIsMoreSpecificIsTriedFirst) {
  add(Method::Get, "/{all...}");
  add(Method::Get, "/a/{rest...}");
  add(Method::Get, "/a/b/{rest...}");
  add(Method::Get, "/a/{one}");
  EXPECT_EQ(match(Method::Get, "/"), "/{all...}");
  EXPECT_EQ(match(Method::Get, "/x/y"), "/{all...}");
  EXPECT_EQ(match(Method::Get, "/a/x"), "/a/{one}");
  EXPECT_EQ(match(Method::Get, "/a/x/y"), "/a/{rest...}");
  EXPECT_EQ(match(Method::Get, "/a/b/c"), "/a/b/{rest...}");
}

TEST_F(RouterTest, TheFirstDeclaredRouteWins) {
  add(Method::Get, "/registry/head");
  add(Method::Get, "/registry/{version}");
  EXPECT_EQ(match(Method::Get, "/registry/head"), "/registry/head");
  EXPECT_EQ(match(Method::Get, "/registry/7"), "/registry/{version}");
}

TEST_F(RouterTest, TellsWhichMethodsAPathHas) {
  add(Method::Get, "/o/{addr}");
  add(Method::Put, "/o/{addr}");
  EXPECT_EQ(match(Method::Delete, "/o/x"), "");
  EXPECT_TRUE(last_.path_known);
  EXPECT_EQ(last_.allow, "GET, HEAD, PUT");
}

TEST_F(RouterTest, CountsByRouteAndStatus) {
  add(Method::Get, "/o/{addr}");
  match(Method::Get, "/o/x");
  last_.meters->answered(200, std::chrono::milliseconds(3));
  last_.meters->answered(200, std::chrono::milliseconds(3));
  last_.meters->answered(404, std::chrono::milliseconds(3));
  std::uint64_t good = 0;
  std::uint64_t all = 0;
  for (const auto& family : meters_.collect()) {
    if (family.decl->name != "http_requests_total") continue;
    for (const auto& series : family.series) {
      EXPECT_EQ(series.labels[0], "GET /o/{addr}");
      all += series.count;
      if (series.labels[1] == "200") good += series.count;
    }
  }
  EXPECT_EQ(good, 2U);
  EXPECT_EQ(all, 3U);
}

// Parameters and literals put together again are the path.
TEST_F(RouterTest, WhatMatchedIsThePath) {
  add(Method::Get, "/a/{x}/b/{y}");
  EXPECT_TRUE(rc::check("what matched is the path", [this] {
    const auto segment = [] {
      return *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab/xy%.")));
    };
    const std::string path = "/a/" + segment() + "/b/" + segment();
    if (match(Method::Get, path).empty()) return;
    const std::string again =
        "/a/" + std::string(request_.params[0]) + "/b/" + std::string(request_.params[1]);
    RC_ASSERT(again == path);
    RC_ASSERT(request_.params[0].find('/') == std::string_view::npos);
    RC_ASSERT(request_.params[1].find('/') == std::string_view::npos);
  }));
}

}  // namespace
}  // namespace ron::http
