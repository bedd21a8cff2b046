// Origins that fail: each fault with the code, the reason and the counters it comes to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "services/edge/test_origin.h"

namespace ron::edge::test {
namespace {

using base::Code;

class FetchFaultTest : public OriginTest {
 protected:
  // Nothing of it is taken for an answer.
  void expect_broken(const Outcome& out) {
    EXPECT_EQ(out.code(), Code::UpstreamFail);
    EXPECT_EQ(out.detail("reason"), "broken");
    EXPECT_EQ(out.detail("tries"), "1");
    EXPECT_EQ(retries(), 0);
    EXPECT_EQ(fills("failed"), 1);
    EXPECT_EQ(fills("filled"), 0);
  }
};

std::string gzipped(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
            Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  std::string in(text);
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Act raw(std::string answer, Act::End end = Act::End::Close) {
  return {.answer = "HTTP/1.1 200 X\r\nETag: \"v1\"\r\n" + std::move(answer), .end = end};
}

// Late.

TEST_F(FetchFaultTest, AnOriginThatHangsIsTriedThreeTimesFiveSecondsEach) {
  Origin& origin = add_origin("a.example");
  origin.act = hangs();
  start();
  const Outcome out = run(origin);
  EXPECT_EQ(out.code(), Code::Timeout);
  EXPECT_EQ(out.detail("reason"), "timeout");
  EXPECT_EQ(out.detail("tries"), "3");
  // Three times 5 s, and min(800, 50·2ⁿ) + U[0, 50] ms between them.
  EXPECT_GE(out.took, 15s + 50ms + 100ms);
  EXPECT_LE(out.took, 15s + 100ms + 150ms + 100ms);
  EXPECT_EQ(origin.requests.size(), 3U);
  EXPECT_EQ(retries(), 2);
  EXPECT_EQ(timeouts(), 3);
  EXPECT_EQ(rejected("timeout"), 0) << "every 504 is counted where it is answered";
  EXPECT_EQ(fills("timeout"), 1);
}

TEST_F(FetchFaultTest, ATryEndsAtItsTimeoutWithinATenthOfASecond) {
  Origin& origin = add_origin("a.example");
  origin.act = hangs();
  config_.fill.max_tries = 1;
  start();
  const Outcome out = run(origin);
  EXPECT_GE(out.took, 4900ms);
  EXPECT_LE(out.took, 5100ms);
}

TEST_F(FetchFaultTest, TheCallersDeadlineEndsItSoonerAndNothingIsTriedAfterIt) {
  Origin& origin = add_origin("a.example");
  origin.act = hangs();
  start();
  const Outcome out = run({.host_port = origin.host(), .target = "/a"}, 2s);
  EXPECT_EQ(out.code(), Code::Timeout);
  EXPECT_GE(out.took, 1900ms);
  EXPECT_LE(out.took, 2100ms);
  EXPECT_EQ(origin.requests.size(), 1U);
  EXPECT_EQ(retries(), 0);
}

TEST_F(FetchFaultTest, ASlowBodyIsUnderTheSameTimeoutAndStartsOver) {
  Origin& origin = add_origin("a.example");
  origin.script = {raw("Content-Length: 10\r\n\r\nhello", Act::End::Keep)};
  start();
  const Outcome out = run(origin);
  ASSERT_EQ(out.status(), 200);
  EXPECT_EQ(sink_.begun, 2U);
  EXPECT_EQ(sink_.text, "hello") << "a piece of the first try was left";
  EXPECT_EQ(out.fetched->tries, 2U);
  EXPECT_EQ(timeouts(), 1);
  EXPECT_EQ(rejected("timeout"), 0);
}

TEST_F(FetchFaultTest, ASlowAnswerInTimeIsAnAnswer) {
  Origin& origin = add_origin("a.example");
  origin.act.after = 4s;
  start();
  EXPECT_EQ(run(origin).status(), 200);
  EXPECT_EQ(retries(), 0);
}

TEST_F(FetchFaultTest, AnOriginThatIsCutOffIsLate) {
  Origin& origin = add_origin("a.example");
  config_.fill.timeout = 1s;
  start();
  world_.network().partition(edge_.id(), origin.node().id());
  const Outcome out = run(origin);
  EXPECT_EQ(out.code(), Code::Timeout);
  EXPECT_EQ(timeouts(), 3);
  EXPECT_LE(out.took, 3s + 350ms);
}

// Not there.

TEST_F(FetchFaultTest, AnOriginThatDoesNotListenIsTriedAgain) {
  Origin& origin = add_origin("a.example");
  start();
  edge_.resolver().set("a.example", {world_.add_node().endpoint(443)});
  const Outcome out = run(origin);
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_EQ(out.detail("reason"), "connect");
  EXPECT_EQ(out.detail("tries"), "3");
  EXPECT_EQ(retries(), 2);
  EXPECT_EQ(fills("failed"), 1);
}

// The origin closed the kept connection, and fails on new ones.
TEST_F(FetchFaultTest, WhatIsSentAgainOnAStaleConnectionCountsAsATry) {
  Origin& origin = add_origin("a.example");
  start();
  EXPECT_EQ(run(origin).status(), 200);
  origin.act = {.end = Act::End::Close};
  const Outcome out = run(origin);
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_EQ(origin.requests.size(), 1U + 3U);
  EXPECT_EQ(out.detail("tries"), "3");
}

TEST_F(FetchFaultTest, AResetBeforeTheAnswerIsTriedAgain) {
  Origin& origin = add_origin("a.example");
  origin.script = {resets(), resets()};
  start();
  const Outcome out = run(origin);
  EXPECT_EQ(out.status(), 200);
  EXPECT_EQ(out.fetched->tries, 3U);
  EXPECT_EQ(retries(), 2);
}

// Overloaded.

TEST_F(FetchFaultTest, A503IsTriedAgainAndThenFine) {
  Origin& origin = add_origin("a.example");
  origin.script = {answers(503, "busy"), answers(504, "late")};
  start();
  const Outcome out = run(origin);
  EXPECT_EQ(out.status(), 200);
  EXPECT_EQ(sink_.text, "hello");
  EXPECT_EQ(out.fetched->tries, 3U);
  EXPECT_EQ(retries(), 2);
}

TEST_F(FetchFaultTest, A503ThatStaysIsUpstreamFail) {
  Origin& origin = add_origin("a.example");
  origin.act = answers(503, "busy");
  start();
  const Outcome out = run(origin);
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_EQ(out.detail("status"), "503");
  EXPECT_EQ(out.detail("tries"), "3");
  EXPECT_EQ(origin.requests.size(), 3U);
}

TEST_F(FetchFaultTest, RetryAfterIsWaitedForIfThereIsTime) {
  Origin& origin = add_origin("a.example");
  origin.script = {answers(503, "busy", "Retry-After: 3\r\n")};
  start();
  const Outcome out = run(origin);
  EXPECT_EQ(out.status(), 200);
  EXPECT_GE(out.took, 3s);
  EXPECT_LE(out.took, 3100ms);
  origin.script = {answers(503, "busy", "Retry-After: 100\r\n")};
  const Outcome late = run({.host_port = origin.host(), .target = "/a"}, 5s);
  EXPECT_EQ(late.code(), Code::UpstreamFail);
  EXPECT_LE(late.took, 100ms) << "waited although it could not help";
  EXPECT_EQ(late.error->retry_after_s, 100U);
}

TEST_F(FetchFaultTest, WaitsBetweenTriesAreDrawnFromTheirRange) {
  Origin& origin = add_origin("a.example");
  origin.act = answers(503, "");
  start();
  run(origin);  // the connection is there now
  base::Duration least = 1h;
  base::Duration most{};
  for (int i = 0; i < 30; ++i) {
    const base::Duration took = run(origin).took;
    least = std::min(least, took);
    most = std::max(most, took);
  }
  // 50 + 100 and 0 to 100 ms, and three round trips of 2 ms.
  EXPECT_GE(least, 156ms);
  EXPECT_LE(most, 256ms + 1ms);
  EXPECT_LT(least, 190ms);
  EXPECT_GT(most, 220ms);
  EXPECT_EQ(retries(), 62);
}

TEST_F(FetchFaultTest, WithoutJitterWaitsAreExact) {
  Origin& origin = add_origin("a.example");
  origin.act = answers(503, "");
  config_.fill.jitter = false;
  config_.fill.max_tries = 7;
  start();
  run(origin);
  // 50, 100, 200, 400, 800 and 800 ms, and seven round trips of 2 ms.
  EXPECT_EQ(run(origin).took, 2350ms + 14ms);
}

TEST_F(FetchFaultTest, RetriesHaveABudget) {
  Origin& origin = add_origin("a.example");
  origin.act = answers(503, "");
  config_.fill.base = 1ms;
  config_.fill.max = 1ms;
  start();
  for (int i = 0; i < 200; ++i) run(origin);
  EXPECT_LE(retries(), 100 + 200 / 5);
  EXPECT_GE(retries(), 100);
}

// Broken.

TEST_F(FetchFaultTest, ABodyThatEndsEarlyIsNoBody) {
  Origin& origin = add_origin("a.example");
  origin.act = raw("Content-Length: 10\r\n\r\nhello");
  start();
  expect_broken(run(origin));
}

TEST_F(FetchFaultTest, AResetInTheBodyIsNoBody) {
  Origin& origin = add_origin("a.example");
  origin.act = raw("Content-Length: 10\r\n\r\nhello", Act::End::Reset);
  start();
  expect_broken(run(origin));
}

TEST_F(FetchFaultTest, AResetOfABodyWithoutLengthIsNoEnd) {
  Origin& origin = add_origin("a.example");
  origin.act = raw("\r\nhello", Act::End::Reset);
  start();
  expect_broken(run(origin));
}

TEST_F(FetchFaultTest, ABodyWithoutLengthEndsWithItsConnection) {
  Origin& origin = add_origin("a.example");
  origin.act = raw("\r\nhello");
  start();
  EXPECT_EQ(run(origin).status(), 200);
  EXPECT_EQ(sink_.text, "hello");
  EXPECT_EQ(sink_.announced, std::nullopt);
}

TEST_F(FetchFaultTest, GarbageInChunksIsNoBody) {
  Origin& origin = add_origin("a.example");
  origin.act = raw("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n");
  start();
  expect_broken(run(origin));
}

TEST_F(FetchFaultTest, ChunksWithoutAnEndAreNoBody) {
  Origin& origin = add_origin("a.example");
  origin.act = raw("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  start();
  expect_broken(run(origin));
}

TEST_F(FetchFaultTest, TwoLengthsAreNoAnswer) {
  Origin& origin = add_origin("a.example");
  origin.act = raw("Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!");
  start();
  expect_broken(run(origin));
}

TEST_F(FetchFaultTest, WhatIsNotHttpIsNoAnswer) {
  Origin& origin = add_origin("a.example");
  origin.act = {.answer = "SSH-2.0-x\r\n\r\n", .end = Act::End::Close};
  start();
  expect_broken(run(origin));
}

// Too large.

TEST_F(FetchFaultTest, AnAnnouncedLengthOverTheCapIsRefusedUnread) {
  Origin& origin = add_origin("a.example");
  config_.fill.max_object_bytes = {1000};
  origin.act = raw("Content-Length: 1001\r\n\r\n", Act::End::Keep);
  start();
  const Outcome out = run(origin);
  EXPECT_EQ(out.code(), Code::BodyCap);
  EXPECT_EQ(out.detail("reason"), "body_cap");
  EXPECT_EQ(out.detail("bytes"), "1001");
  EXPECT_EQ(sink_.begun, 0U);
  EXPECT_LE(out.took, 100ms);
  EXPECT_EQ(rejected("body_cap"), 1);
  EXPECT_EQ(fills("too_large"), 1);
  EXPECT_EQ(retries(), 0);
}

TEST_F(FetchFaultTest, BytesOverTheCapAreRefusedAsTheyCome) {
  Origin& origin = add_origin("a.example");
  config_.fill.max_object_bytes = {100'000};
  std::string endless = "Transfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 8; ++i) endless += "8000\r\n" + std::string(0x8000, 'x') + "\r\n";
  origin.act = raw(std::move(endless), Act::End::Keep);
  start();
  const Outcome out = run(origin);
  EXPECT_EQ(out.code(), Code::BodyCap);
  EXPECT_LE(sink_.text.size(), 100'000U);
  EXPECT_EQ(rejected("body_cap"), 1);
  origin.act = answers(200, std::string(100'000, 'y'));
  EXPECT_EQ(run(origin).status(), 200) << "as large as it may be";
}

TEST_F(FetchFaultTest, ABombIsStoppedWithItsRatio) {
  Origin& origin = add_origin("a.example");
  origin.act = answers(200, gzipped(std::string(5'000'000, '\0')), "Content-Encoding: gzip\r\n");
  start();
  const Outcome out = run(origin);
  EXPECT_EQ(out.code(), Code::DecodedRatio);
  EXPECT_EQ(out.detail("reason"), "decompress_cap");
  EXPECT_GT(std::stoul(out.detail("ratio")), 10U);
  EXPECT_EQ(out.detail("ratio_max"), "10");
  EXPECT_LE(sink_.text.size(), 2 * http::DecodeGuard::kPieceBytes);
  EXPECT_EQ(rejected("decompress_cap"), 1);
  EXPECT_EQ(fills("too_large"), 1);
}

TEST_F(FetchFaultTest, MoreThanTheDecodedCapIsRefused) {
  Origin& origin = add_origin("a.example");
  config_.server.decode_abs_cap_bytes = {100'000};
  config_.server.decode_ratio_max = 10'000;
  origin.act = answers(200, gzipped(std::string(200'000, 'a')), "Content-Encoding: gzip\r\n");
  start();
  const Outcome out = run(origin);
  EXPECT_EQ(out.code(), Code::DecodedCap);
  EXPECT_EQ(out.detail("reason"), "decompress_cap");
  EXPECT_EQ(rejected("decompress_cap"), 1);
}

TEST_F(FetchFaultTest, ACodingIsDecodedAlthoughNobodyAskedForIt) {
  Origin& origin = add_origin("a.example");
  origin.act = answers(200, gzipped("hello, hello"), "Content-Encoding: gzip\r\n");
  start();
  const Outcome out = run(origin);
  ASSERT_EQ(out.status(), 200);
  EXPECT_EQ(sink_.text, "hello, hello");
  EXPECT_EQ(sink_.announced, std::nullopt);
  EXPECT_EQ(out.fetched->length, 12U);
}

TEST_F(FetchFaultTest, ACodingThatIsWrongIsNoBody) {
  Origin& origin = add_origin("a.example");
  origin.act = answers(200, "not gzip at all", "Content-Encoding: gzip\r\n");
  start();
  expect_broken(run(origin));
}

TEST_F(FetchFaultTest, ACodingThatEndsEarlyIsNoBody) {
  Origin& origin = add_origin("a.example");
  const std::string whole = gzipped("hello, hello");
  origin.act = answers(200, whole.substr(0, whole.size() - 4), "Content-Encoding: gzip\r\n");
  start();
  expect_broken(run(origin));
}

TEST_F(FetchFaultTest, CodingsThatAreUnknownOrNestedAreRefused) {
  Origin& origin = add_origin("a.example");
  start();
  origin.act = answers(200, "x", "Content-Encoding: compress\r\n");
  const Outcome unknown = run(origin);
  EXPECT_EQ(unknown.code(), Code::UpstreamFail);
  EXPECT_EQ(unknown.detail("reason"), "coding");
  origin.act = answers(200, "x", "Content-Encoding: gzip, gzip\r\n");
  const Outcome nested = run(origin);
  EXPECT_EQ(nested.code(), Code::DecodedCap);
  EXPECT_EQ(nested.detail("reason"), "decompress_cap");
}

}  // namespace
}  // namespace ron::edge::test
