// What is asked of an origin and what its answers come to, in a simulated world: TLS, names and
// time are as in life.
#include "services/edge/fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/background.h"
#include "services/edge/test_origin.h"

namespace ron::edge::test {
namespace {

using base::Code;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

class FetchTest : public OriginTest {
 protected:
  static Task<void> leave(Fetcher* fetcher, FetchRequest request, BodySink* sink,
                          base::Duration after) {
    const runtime::Background<base::Result<Fetched>> running(
        fetcher->get(std::move(request), sink, runtime::Deadline()));
    co_await runtime::sleep_for(after);
  }
  // Asks for something that is waited for for 2 s, and leaves.
  void drop(const Origin& origin, base::Duration after) {
    const runtime::Deadline until(world_.now() + 2s);
    const Root leaving(
        edge_.core(),
        leave(&*fetcher_, {.host_port = origin.host(), .target = "/a", .waits_until = until},
              &sink_, after));
    EXPECT_EQ(world_.run_until([&] { return leaving.done(); }, 10s), sim::Outcome::Done);
  }
};

TEST_F(FetchTest, ABodyComesWithTheFieldsThatDescribeIt) {
  Origin& origin = add_origin("a.example");
  origin.act = answers(200, "hello",
                       "Content-Type: text/plain\r\ncache-control: public\r\n"
                       "Vary: Accept\r\nVary: Origin\r\nServer: x\r\nSet-Cookie: id=1\r\n");
  start();
  const Outcome out = run(origin);
  ASSERT_EQ(out.status(), 200) << out.error->message;
  EXPECT_EQ(sink_.text, "hello");
  EXPECT_EQ(sink_.announced, 5U);
  EXPECT_EQ(out.fetched->length, 5U);
  EXPECT_EQ(out.fetched->tries, 1U);
  EXPECT_EQ(out.fetched->final_url, "https://a.example/a");
  EXPECT_THAT(out.fetched->fields,
              ElementsAre(Pair("Content-Type", "text/plain"), Pair("Cache-Control", "public"),
                          Pair("Vary", "Accept"), Pair("Vary", "Origin"), Pair("ETag", kTag)));
  EXPECT_GE(out.fetched->received_ms, out.fetched->requested_ms);
  EXPECT_EQ(fills("filled"), 1);
  EXPECT_EQ(reading(meters_, "edge_fill_bytes_total"), 5);
}

TEST_F(FetchTest, AnOriginIsToldOnlyWhatItNeeds) {
  Origin& origin = add_origin("a.example");
  start();
  run({.host_port = "A.example:443",
       .target = "/x%20y?q=1",
       .validators = {.etag = "\"old\"", .last_modified = "Sun, 06 Nov 1994 08:49:37 GMT"},
       .accept = "text/html",
       .accept_language = "de"});
  ASSERT_EQ(origin.requests.size(), 1U);
  EXPECT_THAT(origin.requests[0],
              AllOf(HasSubstr("GET /x%20y?q=1 HTTP/1.1\r\n"), HasSubstr("Host: a.example\r\n"),
                    HasSubstr("Accept-Encoding: identity\r\n"), HasSubstr("User-Agent: ron/"),
                    HasSubstr("Accept: text/html\r\n"), HasSubstr("Accept-Language: de\r\n"),
                    HasSubstr("If-None-Match: \"old\"\r\n"),
                    HasSubstr("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
                    Not(HasSubstr("Cookie")), Not(HasSubstr("Authorization"))));
}

TEST_F(FetchTest, ConnectionsAreKept) {
  Origin& origin = add_origin("a.example");
  start();
  const base::Duration first = run(origin).took;
  EXPECT_LT(run(origin).took, first);
}

TEST_F(FetchTest, ConnectionsThatAreKeptAreAsManyAsWorkers) {
  config_.workers = 2;
  std::vector<Origin*> all;
  for (const std::string_view name : {"a", "b", "c", "d"}) {
    all.push_back(&add_origin(std::string(name) + ".cdn.example"));
  }
  start();
  for (const Origin* origin : all) {
    EXPECT_EQ(run(*origin).status(), 200);
    EXPECT_LE(reading(meters_, "http_client_connections", "idle"), 2);
  }
  EXPECT_EQ(reading(meters_, "http_client_connections", "idle"), 2);
}

TEST_F(FetchTest, StatusesThatAreAnswersAreResults) {
  Origin& origin = add_origin("a.example");
  start();
  for (const int status : {404, 410}) {
    origin.act = answers(status, "no", "Cache-Control: max-age=9\r\n", "");
    const Outcome out = run(origin);
    EXPECT_EQ(out.status(), status);
    EXPECT_EQ(find_field(out.fetched->fields, "cache-control"), "max-age=9");
  }
  EXPECT_EQ(sink_.begun, 0U);
  EXPECT_EQ(fills("not_found"), 2);
}

TEST_F(FetchTest, OtherStatusesAreUpstreamFailAndNamed) {
  Origin& origin = add_origin("a.example");
  start();
  for (const int status : {201, 206, 304, 400, 401, 403, 429, 500, 502}) {
    origin.act = answers(status, status == 304 ? "" : "x");
    const Outcome out = run(origin);
    EXPECT_EQ(out.code(), Code::UpstreamFail) << status;
    EXPECT_EQ(out.detail("reason"), "status");
    EXPECT_EQ(out.detail("status"), std::to_string(status));
    EXPECT_EQ(out.detail("tries"), "1");
  }
  EXPECT_EQ(sink_.begun, 0U);
  EXPECT_EQ(retries(), 0);
  EXPECT_EQ(fills("failed"), 9);
}

// Revalidation.

TEST_F(FetchTest, AConfirmedCopyIs304) {
  Origin& origin = add_origin("a.example");
  origin.act = answers(304, "", "Cache-Control: max-age=5\r\n");
  start();
  const Outcome out =
      run({.host_port = origin.host(), .target = "/a", .validators = {.etag = std::string(kTag)}});
  ASSERT_EQ(out.status(), 304);
  EXPECT_EQ(find_field(out.fetched->fields, "Cache-Control"), "max-age=5");
  EXPECT_EQ(fills("not_modified"), 1);
}

TEST_F(FetchTest, A304ForAnotherTagIsAskedAgainWithoutConditions) {
  Origin& origin = add_origin("a.example");
  origin.script = {answers(304, "", "", "\"v2\""), answers(200, "new", "", "\"v2\"")};
  start();
  const Outcome out =
      run({.host_port = origin.host(), .target = "/a", .validators = {.etag = std::string(kTag)}});
  ASSERT_EQ(out.status(), 200);
  EXPECT_EQ(sink_.text, "new");
  ASSERT_EQ(origin.requests.size(), 2U);
  EXPECT_THAT(origin.requests[0], HasSubstr("If-None-Match"));
  EXPECT_THAT(origin.requests[1], Not(HasSubstr("If-None-Match")));
  EXPECT_EQ(out.fetched->tries, 1U);
}

TEST_F(FetchTest, A304ThatNobodyAskedForIsNoAnswer) {
  Origin& origin = add_origin("a.example");
  origin.act = answers(304, "", "", "\"v2\"");
  start();
  const Outcome out =
      run({.host_port = origin.host(), .target = "/a", .validators = {.etag = std::string(kTag)}});
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_EQ(out.detail("status"), "304");
  EXPECT_EQ(origin.requests.size(), 2U);
}

// A tag is one URL's own: what another one has under the same tag may be anything.
TEST_F(FetchTest, OnlyWhereTheCopyIsFromIsAskedAboutIt) {
  Origin& origin = add_origin("a.example");
  start();
  const FetchRequest check{
      .host_port = origin.host(),
      .target = "/latest",
      .validators = {.etag = std::string(kTag), .url = "https://a.example/v1"}};
  origin.script = {redirects("/v1"), answers(304, "")};
  EXPECT_EQ(run(check).status(), 304);
  origin.script = {redirects("/v2"), answers(200, "two")};
  const Outcome moved = run(check);
  ASSERT_EQ(moved.status(), 200);
  EXPECT_EQ(sink_.text, "two");
  EXPECT_EQ(moved.fetched->final_url, "https://a.example/v2");
  ASSERT_EQ(origin.requests.size(), 4U);
  for (const std::size_t i : {0U, 2U, 3U}) {
    EXPECT_THAT(origin.requests[i], Not(HasSubstr("If-None-Match"))) << i;
  }
  EXPECT_THAT(origin.requests[1], HasSubstr("If-None-Match: \"v1\""));
}

TEST_F(FetchTest, ACopyFromBeforeTheRedirectIsNotCheckedBehindIt) {
  Origin& origin = add_origin("a.example");
  origin.script = {redirects("/v2"), answers(200, "two")};
  start();
  const Outcome out =
      run({.host_port = origin.host(), .target = "/a", .validators = {.etag = std::string(kTag)}});
  ASSERT_EQ(out.status(), 200);
  EXPECT_THAT(origin.requests[0], HasSubstr("If-None-Match"));
  EXPECT_THAT(origin.requests[1], Not(HasSubstr("If-None-Match")));
}

// The gate of strong entity-tags.

TEST_F(FetchTest, WithoutAStrongTagAnAnswerIsRefused) {
  Origin& origin = add_origin("a.example");
  start();
  for (const std::string_view tag : {"", "W/\"v1\"", "v1", "\"v1", "\"a\"\r\nETag: \"b\""}) {
    origin.act = answers(200, "hello", "", tag);
    const Outcome out = run(origin);
    EXPECT_EQ(out.code(), Code::UpstreamFail) << tag;
    EXPECT_EQ(out.detail("reason"), "etag_invalid") << tag;
  }
  EXPECT_EQ(sink_.begun, 0U);
  EXPECT_EQ(rejected("etag_invalid"), 5);
  EXPECT_EQ(fills("etag_invalid"), 5);
  EXPECT_EQ(retries(), 0);
}

TEST_F(FetchTest, TheGateCanBeOpened) {
  Origin& origin = add_origin("a.example");
  config_.fill.require_strong_etag = false;
  start();
  for (const std::string_view tag : {"", "W/\"v1\"", "v1"}) {
    origin.act = answers(200, "hello", "", tag);
    const Outcome out = run(origin);
    EXPECT_EQ(out.status(), 200);
    EXPECT_EQ(find_field(out.fetched->fields, "ETag"), tag.starts_with('W') ? tag : "");
  }
}

// Where it may go.

TEST_F(FetchTest, WhatIsNotAllowedIsNotAsked) {
  Origin& origin = add_origin("a.example");
  config_.allow = {"a.example/maps"};
  start();
  const Outcome out = run(origin, "/private?key=secret");
  EXPECT_EQ(out.code(), Code::NotAllowed);
  EXPECT_EQ(out.detail("reason"), "not_allowed");
  EXPECT_TRUE(origin.requests.empty());
  EXPECT_EQ(rejected("not_allowed"), 1);
  EXPECT_EQ(fills("refused"), 1);
  const auto heard = events();
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].kind, EventKind::FillRefused);
  EXPECT_THAT(heard[0].subject + heard[0].detail, Not(HasSubstr("secret")));
  EXPECT_EQ(run(origin, "/maps/1").status(), 200);
}

TEST_F(FetchTest, NothingIsAskedOffline) {
  Origin& origin = add_origin("a.example");
  config_.mode = Mode::Offline;
  start();
  EXPECT_EQ(run(origin).code(), Code::NotAllowed);
  EXPECT_TRUE(origin.requests.empty());
}

TEST_F(FetchTest, EveryRuleThatRefusesIsSaid) {
  add_origin("other.example");
  config_.mode = Mode::Offline;
  start();
  const FetchRequest request{.host_port = "a.example", .target = "/a"};
  EXPECT_THAT(run(request).error->message,
              AllOf(HasSubstr("edge.allow does not have"), HasSubstr("edge.mode is offline")));
  config_.mode = Mode::Live;
  settings_->set(std::make_shared<const EdgeConfig>(config_));
  EXPECT_THAT(run(request).error->message, Not(HasSubstr("offline")));
}

TEST_F(FetchTest, AReloadChangesWhatIsAllowed) {
  Origin& origin = add_origin("a.example");
  start();
  EXPECT_EQ(run(origin).status(), 200);
  config_.allow.clear();
  settings_->set(std::make_shared<const EdgeConfig>(config_));
  EXPECT_EQ(run(origin).code(), Code::NotAllowed);
}

TEST_F(FetchTest, AddressesThatMayNotBeUsedAreNotConnectedTo) {
  Origin& origin = add_origin("a.example");
  for (const std::string_view host : {"127.0.0.1", "localhost", "[::1]", "169.254.169.254"}) {
    config_.allow.emplace_back(host);
  }
  start();
  edge_.resolver().set("a.example", {platform::Endpoint::loopback(443)});
  for (const std::string_view host :
       {"a.example", "127.0.0.1", "localhost", "[::1]", "169.254.169.254"}) {
    const Outcome out = run({.host_port = std::string(host), .target = "/a"});
    EXPECT_EQ(out.code(), Code::NotAllowed) << host;
    EXPECT_EQ(out.detail("reason"), "address") << host;
    EXPECT_EQ(out.error->message, std::string(host) + " has no public address, and " +
                                      "edge.egress.allow_private is false");
  }
  EXPECT_TRUE(origin.requests.empty());
  EXPECT_EQ(rejected("not_allowed"), 5);
  EXPECT_EQ(retries(), 0);
}

TEST_F(FetchTest, AnAnswerOfTheNameServiceThatChangesOpensNothing) {
  Origin& origin = add_origin("a.example");
  start();
  EXPECT_EQ(run(origin).status(), 200);
  // The name moves to an address of ours, also among good ones; connections there are end.
  edge_.resolver().set("a.example", {platform::Endpoint::loopback(443)});
  world_.network().reset_connections(edge_.id(), origin.node().id());
  world_.run_for(61s);
  const Outcome moved = run(origin);
  EXPECT_EQ(moved.code(), Code::NotAllowed);
  EXPECT_EQ(moved.detail("reason"), "address");
  edge_.resolver().set("a.example", {platform::Endpoint::loopback(443), origin.address()});
  world_.run_for(61s);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(run(origin).status(), 200);
    world_.network().reset_connections(edge_.id(), origin.node().id());
    world_.run_for(1s);
  }
  EXPECT_EQ(reading(meters_, "upstream_errors_total", "connect"), 0) << "the loopback was tried";
}

TEST_F(FetchTest, OnlyTheHostItselfMayAnswer) {
  Origin& origin = add_origin("a.example");
  Origin& other = add_origin("b.example");
  start();
  edge_.resolver().set("a.example", {other.address()});
  const Outcome out = run(origin);
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_THAT(out.error->message, AllOf(HasSubstr("a.example: "), HasSubstr("hostname mismatch"),
                                        HasSubstr("edge.tls.ca_path")));
  EXPECT_TRUE(other.requests.empty());
}

TEST_F(FetchTest, ACertificateThatDoesNotVerifyIsAskedForOnce) {
  Origin& origin = add_origin("a.example");
  Origin& other = add_origin("b.example");
  start();
  edge_.resolver().set("a.example", {other.address()});
  const Outcome out = run(origin);
  EXPECT_EQ(out.detail("reason"), "certificate");
  EXPECT_EQ(out.detail("tries"), "1");
  EXPECT_EQ(retries(), 0);
  EXPECT_EQ(fills("failed"), 1);
}

// Redirects.

TEST_F(FetchTest, RedirectsAreFollowedFiveTimes) {
  Origin& origin = add_origin("a.example");
  Origin& other = add_origin("b.example");
  origin.script = {redirects("/1", 301), redirects("2", 302), redirects("?3", 303),
                   redirects("//a.example/4", 307), redirects("https://b.example/5", 308)};
  start();
  const Outcome out = run(origin);
  ASSERT_EQ(out.status(), 200);
  EXPECT_EQ(out.fetched->final_url, "https://b.example/5");
  EXPECT_EQ(out.fetched->tries, 1U);
  EXPECT_EQ(other.requests.size(), 1U);
  EXPECT_THAT(events().back().detail, HasSubstr("at b.example"));
}

TEST_F(FetchTest, WhatRedirectsSayToCachesHoldsForTheAnswer) {
  Origin& origin = add_origin("a.example");
  start();
  const std::string_view year = "Cache-Control: max-age=31536000\r\n";
  const auto through = [&](std::string_view hop, int status = 302) {
    origin.script = {redirects("/b", status, hop), answers(200, "x", year)};
    const Outcome out = run(origin);
    EXPECT_EQ(out.status(), 200);
    return out.fetched->fields;
  };
  // Less a second: the answer is younger than the redirect.
  const KeptFields fields = through("Vary: Accept-Language\r\nCache-Control: max-age=60\r\n");
  EXPECT_EQ(find_field(fields, "Vary"), "accept-language");
  EXPECT_EQ(find_field(fields, "Cache-Control"), "max-age=59");
  EXPECT_THAT(find_field(through("Cache-Control: no-store\r\n"), "Cache-Control"),
              HasSubstr("no-store"));
  EXPECT_THAT(find_field(through("Cache-Control: private\r\n"), "Cache-Control"),
              HasSubstr("no-store"));
  EXPECT_THAT(find_field(through("Set-Cookie: a=1\r\n", 301), "Cache-Control"),
              HasSubstr("no-store"));
  EXPECT_EQ(find_field(through(""), "Cache-Control"), "max-age=0");
  EXPECT_EQ(find_field(through("", 301), "Cache-Control"), "max-age=86399");
}

// What the first try's redirects said is of no interest when the next one goes another way.
TEST_F(FetchTest, RedirectsOfATryThatFailedAreForgotten) {
  Origin& origin = add_origin("a.example");
  origin.script = {redirects("/b", 302, "Cache-Control: no-store\r\n"), answers(503, ""),
                   answers(200, "x", "Cache-Control: max-age=60\r\n")};
  start();
  const Outcome out = run(origin);
  ASSERT_EQ(out.status(), 200);
  EXPECT_EQ(find_field(out.fetched->fields, "Cache-Control"), "max-age=60");
}

TEST_F(FetchTest, AnAnswerWithACookieIsPrivateUnlessItSaysOtherwise) {
  Origin& origin = add_origin("a.example");
  start();
  struct Case {
    std::string_view control;
    std::size_t lines;  // of Cache-Control
  };
  for (const Case& each : {Case{"max-age=60", 2}, Case{"public, max-age=60", 1},
                           Case{"s-maxage=60", 1}, Case{"private", 1}}) {
    origin.act = answers(
        200, "x", "Set-Cookie: id=1\r\nCache-Control: " + std::string(each.control) + "\r\n");
    const Outcome out = run(origin);
    ASSERT_EQ(out.status(), 200);
    std::size_t lines = 0;
    for (const auto& [name, value] : out.fetched->fields) {
      EXPECT_NE(name, "Set-Cookie");
      if (name == "Cache-Control") ++lines;
      if (lines == 2) EXPECT_EQ(value, "private");
    }
    EXPECT_EQ(lines, each.lines) << each.control;
  }
}

TEST_F(FetchTest, ACodingThatMayNotBeTakenOffIsRefused) {
  Origin& origin = add_origin("a.example");
  start();
  origin.act = answers(200, "x", "Content-Encoding: gzip\r\nCache-Control: no-transform\r\n");
  const Outcome out = run(origin);
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_EQ(out.detail("reason"), "coding");
  EXPECT_EQ(sink_.begun, 0U);
  origin.act = answers(200, "x", "Cache-Control: no-transform\r\n");
  EXPECT_EQ(run(origin).status(), 200);
}

TEST_F(FetchTest, ASixthRedirectIsTooMany) {
  Origin& origin = add_origin("a.example");
  for (int i = 0; i < 6; ++i) origin.script.push_back(redirects("/" + std::to_string(i)));
  start();
  const Outcome out = run(origin);
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_EQ(out.detail("reason"), "redirect_loop");
  EXPECT_EQ(origin.requests.size(), 6U);
  EXPECT_EQ(fills("failed"), 1);
}

TEST_F(FetchTest, ARedirectInACircleIsRefusedAtOnce) {
  Origin& origin = add_origin("a.example");
  origin.script = {redirects("/b"), redirects("/a")};
  start();
  const Outcome out = run(origin);
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_EQ(out.detail("reason"), "redirect_loop");
  EXPECT_EQ(origin.requests.size(), 2U);
  EXPECT_EQ(retries(), 0);
}

TEST_F(FetchTest, RedirectsAreUnderTheSameRules) {
  Origin& origin = add_origin("a.example");
  Origin& other = add_origin("b.example");
  config_.allow = {"a.example", "127.0.0.1", "localhost", "b.example/maps"};
  start();
  struct Case {
    std::string_view to;
    std::string_view reason;
  };
  const std::vector<Case> cases = {
      {"https://127.0.0.1/", "address"},          {"https://localhost/", "address"},
      {"https://c.example/", "not_allowed"},      {"https://b.example/x", "not_allowed"},
      {"https://a.example:8443/", "not_allowed"}, {"http://a.example/b", "redirect"},
      {"ftp://a.example/b", "redirect"}};
  for (const Case& each : cases) {
    origin.script = {redirects(each.to)};
    const Outcome out = run(origin);
    EXPECT_EQ(out.code(), Code::NotAllowed) << each.to;
    EXPECT_EQ(out.detail("reason"), each.reason) << each.to;
  }
  EXPECT_EQ(rejected("not_allowed"), static_cast<std::int64_t>(cases.size()));
  EXPECT_TRUE(other.requests.empty());
  EXPECT_EQ(retries(), 0);
}

TEST_F(FetchTest, ARedirectToNowhereIsUpstreamFail) {
  Origin& origin = add_origin("a.example");
  start();
  for (const std::string_view to : {"", "/a/../b", "https://u:p@a.example/", "/a b"}) {
    origin.act = redirects(to);
    const Outcome out = run(origin);
    EXPECT_EQ(out.code(), Code::UpstreamFail) << to;
    EXPECT_EQ(out.detail("reason"), "redirect") << to;
  }
  origin.act = {.answer = "HTTP/1.1 302 X\r\nContent-Length: 0\r\n\r\n"};
  EXPECT_EQ(run(origin).detail("reason"), "redirect");
}

// The audit.

TEST_F(FetchTest, EachFetchIsOneEvent) {
  Origin& origin = add_origin("a.example");
  start();
  run({.host_port = origin.host(), .target = "/a?token=secret", .token = "t1"});
  origin.act = answers(500, "");
  run(origin);
  const auto heard = events();
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_EQ(heard[0].kind, EventKind::Filled);
  EXPECT_EQ(heard[0].subject, "https://a.example/a?(12 bytes)");
  EXPECT_EQ(heard[0].detail, "200, 1 try, at a.example");
  EXPECT_EQ(heard[0].bytes, 5U);
  EXPECT_EQ(heard[0].token, "t1");
  EXPECT_EQ(heard[1].kind, EventKind::FillFailed);
  EXPECT_THAT(heard[1].detail, HasSubstr("UpstreamFail: the origin answers 500"));
}

// Whoever waits leaves at its deadline, or before: the fetch is dropped where it is.
TEST_F(FetchTest, AFetchThatIsDroppedIsOneEventToo) {
  Origin& origin = add_origin("a.example");
  origin.act = hangs();
  start();
  struct Case {
    base::Duration leaves;
    const char* outcome;
    const char* says;
    int timeouts;
  };
  for (const Case& each :
       {Case{2s, "timeout", "Timeout: ", 1}, Case{1s, "failed", "Canceled: ", 1}}) {
    const std::int64_t before = fills(each.outcome);
    drop(origin, each.leaves);
    EXPECT_EQ(fills(each.outcome), before + 1);
    EXPECT_EQ(timeouts(), each.timeouts);
    const auto heard = events();
    ASSERT_EQ(heard.size(), 1U);
    EXPECT_EQ(heard[0].kind, EventKind::FillFailed);
    EXPECT_EQ(heard[0].subject, "https://a.example/a");
    EXPECT_THAT(heard[0].detail, AllOf(HasSubstr(each.says), HasSubstr("1 try, at a.example")));
  }
  EXPECT_EQ(fills("timeout") + fills("failed"), 2);
}

// Each is counted; the audit is told of one in a second, and how many there were.
TEST_F(FetchTest, AFloodOfRefusalsDoesNotBuryOtherEvents) {
  Origin& origin = add_origin("a.example");
  start();
  const auto refuse = [&] {
    return run({.host_port = "other.example", .target = "/a"}).code() == Code::NotAllowed;
  };
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(refuse());
  EXPECT_EQ(run(origin).status(), 200);
  auto heard = events();
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_EQ(heard[0].kind, EventKind::FillRefused);
  EXPECT_EQ(heard[1].kind, EventKind::Filled);
  EXPECT_EQ(rejected("not_allowed"), 100);
  EXPECT_EQ(fills("refused"), 100);
  world_.run_for(1s);
  EXPECT_TRUE(refuse());
  heard = events();
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_THAT(heard[0].detail, HasSubstr("99 more since the last"));
}

TEST_F(FetchTest, ASinkThatFailsEndsItAndIsNotTheOriginsFault) {
  Origin& origin = add_origin("a.example");
  start();
  sink_.refuses = base::Error(Code::StorageFull, "no room");
  const Outcome out = run(origin);
  EXPECT_EQ(out.code(), Code::StorageFull);
  EXPECT_EQ(fills("failed"), 1);
  EXPECT_EQ(retries(), 0);
}

}  // namespace
}  // namespace ron::edge::test
