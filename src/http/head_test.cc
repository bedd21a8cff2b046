#include "http/head.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::http {
namespace {

using base::Code;

constexpr std::string_view kHost = "Host: example.org\r\n";

std::string get(std::string_view fields) {
  return "GET /o HTTP/1.1\r\n" + std::string(kHost) + std::string(fields) + "\r\n";
}

struct Case {
  std::string_view what;
  std::string text;
  int status;  // 0: accepted
};

int status_of(std::string_view text) {
  RequestHead head;
  const HeadOutcome outcome = parse_head(text, head);
  if (outcome.progress == Progress::NeedMore) return -1;
  if (outcome.progress == Progress::Done) return 0;
  EXPECT_FALSE(outcome.refusal.message.empty());
  return outcome.refusal.error().status();
}

void expect_all(const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    EXPECT_EQ(status_of(each.text), each.status) << each.what << "\n" << each.text.substr(0, 300);
  }
}

TEST(HeadParser, DigestsATypicalRequest) {
  const std::string text =
      "PUT /o/b3:00?x=1 HTTP/1.1\r\nHost: Example.org:8080\r\ncontent-LENGTH:  42 \r\n"
      "Expect: 100-Continue\r\nRange:bytes=0-1\r\nAuthorization: Bearer abc\r\nX-Own: \t v w \t\r\n"
      "X-Empty:\r\nX-Corr-Id: 01ARZ3NDEKTSV4RRFFQ69G5FAV\r\n\r\nBODY";
  RequestHead head;
  const HeadOutcome outcome = parse_head(text, head);
  ASSERT_EQ(outcome.progress, Progress::Done);
  EXPECT_EQ(outcome.consumed, text.size() - 4);
  EXPECT_EQ(head.method, Method::Put);
  EXPECT_EQ(head.method_text, "PUT");
  EXPECT_EQ(head.target, "/o/b3:00?x=1");
  EXPECT_EQ(head.raw_target, head.target);
  EXPECT_EQ(head.minor, 1);
  EXPECT_EQ(head.host, "Example.org:8080");
  EXPECT_EQ(head.content_length, 42u);
  EXPECT_FALSE(head.chunked);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_TRUE(head.expect_continue);
  EXPECT_TRUE(head.has_body());
  EXPECT_EQ(head.fields().size(), 8u);
  EXPECT_EQ(head.get(KnownField::Range), "bytes=0-1");
  EXPECT_EQ(head.get(KnownField::Authorization), "Bearer abc");
  EXPECT_EQ(head.get(KnownField::CorrelationId), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
  EXPECT_EQ(head.find("x-OWN"), "v w");
  EXPECT_EQ(head.find("x-empty"), "");
  EXPECT_EQ(head.find("absent"), std::nullopt);
  EXPECT_FALSE(head.has(KnownField::IfMatch));
}

TEST(HeadParser, KnowsEveryFieldWithASlot) {
  const std::vector<std::pair<std::string, KnownField>> names = {
      {"Host", KnownField::Host},
      {"Connection", KnownField::Connection},
      {"Content-Length", KnownField::ContentLength},
      {"Transfer-Encoding", KnownField::TransferEncoding},
      {"Expect", KnownField::Expect},
      {"Range", KnownField::Range},
      {"If-Range", KnownField::IfRange},
      {"If-Match", KnownField::IfMatch},
      {"If-None-Match", KnownField::IfNoneMatch},
      {"Authorization", KnownField::Authorization},
      {"Content-Encoding", KnownField::ContentEncoding},
      {"Content-Type", KnownField::ContentType},
      {"Accept", KnownField::Accept},
      {"Accept-Encoding", KnownField::AcceptEncoding},
      {"X-Corr-ID", KnownField::CorrelationId},
      {"Request-Timeout", KnownField::RequestTimeout},
      {"Deadline", KnownField::Deadline}};
  EXPECT_EQ(names.size(), static_cast<std::size_t>(KnownField::Unknown));
  for (auto [name, field] : names) {
    EXPECT_EQ(known_field(name), field) << name;
    name.back() = name.back() == 'z' ? 'y' : 'z';
    EXPECT_EQ(known_field(name), KnownField::Unknown) << name;
  }
}

TEST(HeadParser, KnowsItsMethods) {
  for (const Method method : {Method::Get, Method::Head, Method::Put, Method::Post, Method::Delete,
                              Method::Options, Method::Patch}) {
    EXPECT_EQ(parse_method(method_name(method)), method);
  }
  for (const std::string_view other : {"get", "GETS", "BREW", "TRACE", "PATCHY", "OPTION"}) {
    EXPECT_EQ(parse_method(other), Method::Other) << other;
  }
}

TEST(HeadParser, RefusesAmbiguousLengths) {
  expect_all({
      {"one", get("Content-Length: 5\r\n"), 0},
      {"zero", get("Content-Length: 0\r\n"), 0},
      {"largest", get("Content-Length: 18446744073709551615\r\n"), 0},
      {"leading zeros", get("Content-Length: 0005\r\n"), 0},
      {"repeated", get("Content-Length: 5\r\nContent-Length: 6\r\n"), 400},
      {"repeated equal", get("Content-Length: 5\r\nContent-Length: 5\r\n"), 400},
      {"repeated apart", get("Content-Length: 5\r\nA: b\r\ncontent-length: 5\r\n"), 400},
      {"list", get("Content-Length: 5, 5\r\n"), 400},
      {"empty", get("Content-Length:\r\n"), 400},
      {"plus", get("Content-Length: +5\r\n"), 400},
      {"minus", get("Content-Length: -5\r\n"), 400},
      {"hex", get("Content-Length: 0x5\r\n"), 400},
      {"inner space", get("Content-Length: 5 5\r\n"), 400},
      {"letters", get("Content-Length: five\r\n"), 400},
      {"overflow", get("Content-Length: 18446744073709551616\r\n"), 400},
      {"far overflow", get("Content-Length: " + std::string(200, '9') + "\r\n"), 400},
      {"obs-text digit", get("Content-Length: 5\xb2\r\n"), 400},
  });
}

TEST(HeadParser, AcceptsOnlyTheChunkedCoding) {
  const std::string te = "Transfer-Encoding: ";
  expect_all({
      {"chunked", get(te + "chunked\r\n"), 0},
      {"case", get("transfer-encoding:CHUNKED\r\n"), 0},
      {"with length", get(te + "chunked\r\nContent-Length: 5\r\n"), 400},
      {"length first", get("Content-Length: 5\r\n" + te + "chunked\r\n"), 400},
      {"unknown with length", get(te + "gzip\r\nContent-Length: 5\r\n"), 400},
      {"twice in a list", get(te + "chunked, chunked\r\n"), 400},
      {"twice in lines", get(te + "chunked\r\n" + te + "chunked\r\n"), 400},
      {"identity", get(te + "identity\r\n"), 400},
      {"identity first", get(te + "identity, chunked\r\n"), 400},
      {"not last", get(te + "chunked, gzip\r\n"), 400},
      {"not last in lines", get(te + "chunked\r\n" + te + "gzip\r\n"), 400},
      {"empty", get(te + "\r\n"), 400},
      {"empty element", get(te + "chunked,\r\n"), 400},
      {"parameter", get(te + "chunked;q=1\r\n"), 400},
      {"quoted", get(te + "\"chunked\"\r\n"), 400},
      {"unknown", get(te + "xchunked\r\n"), 501},
      {"gzip", get(te + "gzip\r\n"), 501},
      {"gzip then chunked", get(te + "gzip, chunked\r\n"), 501},
      {"in 1.0", "POST / HTTP/1.0\r\n" + te + "chunked\r\n\r\n", 400},
  });
  RequestHead head;
  ASSERT_EQ(parse_head(get(te + "chunked\r\n"), head).progress, Progress::Done);
  EXPECT_TRUE(head.chunked);
  EXPECT_TRUE(head.has_body());
  EXPECT_EQ(head.content_length, std::nullopt);
}

TEST(HeadParser, RefusesBytesAndLinesOutOfPlace) {
  expect_all({
      {"tab in a value", get("A: b\tc\r\n"), 0},
      {"obs-text in a value", get("A: \xc3\xa9\r\n"), 0},
      {"folded by space", get("A: b\r\n c\r\n"), 400},
      {"folded by tab", get("A: b\r\n\tc\r\n"), 400},
      {"folded first", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
      {"bare CR", get("A: b\rc\r\n"), 400},
      {"bare CR at the end", get("A: b\r\r\n"), 400},
      {"bare LF", get("A: b\nC: d\r\n"), 400},
      {"LF only", "GET / HTTP/1.1\nHost: a\n\n", 400},
      {"LF ends the head", "GET / HTTP/1.1\r\nHost: a\r\n\n", 400},
      {"NUL", get(std::string("A: b\0c\r\n", 8)), 400},
      {"vertical tab", get("A: b\vc\r\n"), 400},
      {"escape", get("A: \x1b\r\n"), 400},
      {"delete", get("A: \x7f\r\n"), 400},
      {"space before the colon", get("A : b\r\n"), 400},
      {"tab before the colon", get("A\t: b\r\n"), 400},
      {"no colon", get("Abc\r\n"), 400},
      {"empty name", get(": b\r\n"), 400},
      {"name with a slash", get("A/b: c\r\n"), 400},
      {"name with obs-text", get("\xc3\xa9: c\r\n"), 400},
      {"leading space", " GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"TLS hello", "\x16\x03\x01\x02", 400},
  });
}

TEST(HeadParser, ToleratesOneEmptyLineBefore) {
  expect_all({
      {"one", "\r\n" + get(""), 0},
      {"two", "\r\n\r\n" + get(""), 400},
      {"bare LF", "\n" + get(""), 400},
      {"bare CR", "\r" + get(""), 400},
  });
  RequestHead head;
  EXPECT_EQ(parse_head("\r\n" + get(""), head).consumed, get("").size() + 2);
}

TEST(HeadParser, ReadsTheRequestLineExactly) {
  const std::string host(kHost);
  const auto line = [&](std::string_view text) {
    return std::string(text) + "\r\n" + host + "\r\n";
  };
  expect_all({
      {"unknown method", line("BREW / HTTP/1.1"), 0},
      {"longest method", line(std::string(32, 'M') + " / HTTP/1.1"), 0},
      {"too long method", line(std::string(33, 'M') + " / HTTP/1.1"), 400},
      {"method not a token", line("G@T / HTTP/1.1"), 400},
      {"two spaces before", line("GET  / HTTP/1.1"), 400},
      {"two spaces behind", line("GET /  HTTP/1.1"), 400},
      {"trailing space", line("GET / HTTP/1.1 "), 400},
      {"tab", line("GET\t/ HTTP/1.1"), 400},
      {"tab before version", line("GET /\tHTTP/1.1"), 400},
      {"no version", line("GET /"), 400},
      {"no version, long", line("GET /a-path-that-is-long"), 400},
      {"no target", line("GET HTTP/1.1"), 400},
      {"method only", line("GET"), 400},
      {"lower-case version", line("GET / http/1.1"), 400},
      {"mixed-case version", line("GET / HTTp/1.1"), 400},
      {"garbage version", line("GET / HTTP/1"), 400},
      {"long version", line("GET / HTTP/1.10"), 400},
      {"letters in version", line("GET / HTTP/1.x"), 400},
      {"other protocol", line("GET / ICAP/1.0"), 400},
      {"0.9", line("GET / HTTP/0.9"), 505},
      {"1.2", line("GET / HTTP/1.2"), 505},
      {"2.0", line("GET / HTTP/2.0"), 505},
      {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
  });
}

TEST(HeadParser, AcceptsOnlyPathsAsTargets) {
  const auto with = [](std::string_view method, std::string_view target) {
    return std::string(method) + " " + std::string(target) +
           " HTTP/1.1\r\nHost: A.example:81\r\n\r\n";
  };
  expect_all({
      {"origin", with("GET", "/a?b=%20&c"), 0},
      {"asterisk", with("OPTIONS", "*"), 0},
      {"asterisk elsewhere", with("GET", "*"), 400},
      {"absolute", with("GET", "http://a.EXAMPLE:81/x"), 0},
      {"absolute, scheme case", with("GET", "HTTP://a.example:81/x"), 0},
      {"absolute, other host", with("GET", "http://b.example:81/x"), 400},
      {"absolute, other port", with("GET", "http://a.example/x"), 400},
      {"absolute, user", with("GET", "http://u@a.example:81/x"), 400},
      {"absolute, no host", with("GET", "http:///x"), 400},
      {"absolute, query only", with("GET", "http://a.example:81?x"), 400},
      {"absolute, https", with("GET", "https://a.example:81/x"), 400},
      {"authority", with("CONNECT", "a.example:81"), 400},
      {"relative", with("GET", "a"), 400},
      {"fragment", with("GET", "/a#b"), 400},
      {"obs-text", with("GET", "/\xc3\xa9"), 400},
      {"longest", with("GET", "/" + std::string(base::limits::kTargetBytes - 1, 'a')), 0},
      {"too long", with("GET", "/" + std::string(base::limits::kTargetBytes, 'a')), 414},
      {"far too long", with("GET", "/" + std::string(20000, 'a')), 414},
  });
  RequestHead head;
  const std::string absolute = with("GET", "http://a.example:81/x?y");
  ASSERT_EQ(parse_head(absolute, head).progress, Progress::Done);
  EXPECT_EQ(head.target, "/x?y");
  EXPECT_EQ(head.raw_target, "http://a.example:81/x?y");
  ASSERT_EQ(parse_head(with("GET", "http://a.example:81"), head).progress, Progress::Done);
  EXPECT_EQ(head.target, "/");
}

TEST(HeadParser, NeedsExactlyOneGoodHost) {
  const auto host = [](std::string_view value) {
    return "GET / HTTP/1.1\r\nHost: " + std::string(value) + "\r\n\r\n";
  };
  expect_all({
      {"missing in 1.1", "GET / HTTP/1.1\r\nA: b\r\n\r\n", 400},
      {"missing in 1.0", "GET / HTTP/1.0\r\n\r\n", 0},
      {"twice", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
      {"twice in 1.0", "GET / HTTP/1.0\r\nHost: a\r\nhost: a\r\n\r\n", 400},
      {"bad in 1.0", "GET / HTTP/1.0\r\nHost: a/b\r\n\r\n", 400},
      {"name and port", host("a-b.c_d:65535"), 0},
      {"IPv6", host("[::1]:80"), 0},
      {"empty port", host("a:"), 0},
      {"empty", host(""), 400},
      {"only port", host(":80"), 400},
      {"port too large", host("a:65536"), 400},
      {"port not a number", host("a:8o"), 400},
      {"two ports", host("a:1:2"), 400},
      {"slash", host("a/b"), 400},
      {"user", host("u@a"), 400},
      {"space", host("a b"), 400},
      {"list", host("a, b"), 400},
      {"obs-text", host("\xc3\xa9"), 400},
      {"open bracket", host("[::1"), 400},
      {"empty brackets", host("[]"), 400},
      {"junk in brackets", host("[::g]"), 400},
      {"junk behind brackets", host("[::1]x"), 400},
  });
}

TEST(HeadParser, LimitsTheHead) {
  std::string most;
  for (std::size_t i = 1; i < base::limits::kHeadFields; ++i) most += "A: b\r\n";
  const std::size_t fixed = get("A: \r\n").size();
  const std::string exact =
      get("A: " + std::string(base::limits::kHeadBytes - fixed, 'x') + "\r\n");
  ASSERT_EQ(exact.size(), base::limits::kHeadBytes);
  expect_all({
      {"most fields", get(most), 0},
      {"most fields behind an empty line", "\r\n" + get(most), 0},
      {"one more", get(most + "A: b\r\n"), 431},
      {"many more", get(most + most), 431},
      {"largest", exact, 0},
      {"one byte more",
       get("A: " + std::string(base::limits::kHeadBytes - fixed + 1, 'x') + "\r\n"), 431},
      {"endless", get("A: ").substr(0, get("A: ").size() - 2) + std::string(50000, 'x'), 431},
  });
}

TEST(HeadParser, RefusesALongTargetBeforeItEnds) {
  RequestHead head;
  HeadParser parser;
  const std::string text = "GET /" + std::string(base::limits::kTargetBytes + 100, 'a');
  EXPECT_EQ(parser.parse(text, head).refusal.code, Code::UriTooLong);
  parser.reset();
  EXPECT_EQ(parser.parse(std::string(5000, 'a'), head).refusal.code, Code::Malformed);
}

TEST(HeadParser, RefusesAWrongRequestLineBeforeTheHeadEnds) {
  for (const std::string_view text : {"GET / HTTP/2.0\r\nHost", "GET /\r\n", " GET / HTTP/1.1\r\nA",
                                      "\r\n@", "GET / HTTP/1.1 \r\nHost: a\r\n"}) {
    RequestHead head;
    EXPECT_EQ(parse_head(text, head).progress, Progress::Bad) << text;
  }
}

TEST(HeadParser, ReadsConnectionAndExpect) {
  struct Persistence {
    std::string text;
    bool keep_alive;
  };
  const std::string old = "GET / HTTP/1.0\r\n";
  for (const Persistence& each :
       std::vector<Persistence>{{get(""), true},
                                {get("Connection: close\r\n"), false},
                                {get("Connection: foo, Close\r\n"), false},
                                {get("Connection: keep-alive, close\r\n"), false},
                                {get("Connection: keep-alive\r\nConnection: close\r\n"), false},
                                {get("Connection: ,keep-alive,\r\n"), true},
                                {old + "\r\n", false},
                                {old + "Connection: Keep-Alive\r\n\r\n", true}}) {
    RequestHead head;
    ASSERT_EQ(parse_head(each.text, head).progress, Progress::Done) << each.text;
    EXPECT_EQ(head.keep_alive, each.keep_alive) << each.text;
  }
  expect_all({
      {"unknown option", get("Connection: upgrade, x-own\r\n"), 0},
      {"names a length", get("Connection: close, Content-Length\r\n"), 400},
      {"names Host", get("Connection: host\r\n"), 400},
      {"names a coding", get("Connection: transfer-encoding\r\n"), 400},
      {"names a credential", get("Connection: Authorization\r\n"), 400},
      {"not a token", get("Connection: a b\r\n"), 400},
      {"expect", get("Expect: 100-continue\r\n"), 0},
      {"expect other", get("Expect: 200-ok\r\n"), 417},
      {"expect list", get("Expect: 100-continue, x\r\n"), 417},
      {"expect twice", get("Expect: 100-continue\r\nExpect: x\r\n"), 417},
  });
  RequestHead head;
  ASSERT_EQ(parse_head(old + "Expect: 100-continue\r\n\r\n", head).progress, Progress::Done);
  EXPECT_FALSE(head.expect_continue) << "HTTP/1.0 clients cannot wait for it";
}

TEST(HeadParser, RefusesRepeatedSingletonsAndKeepsRepeatedLists) {
  expect_all({
      {"range", get("Range: bytes=0-1\r\nRange: bytes=0-1\r\n"), 400},
      {"if-range", get("If-Range: \"a\"\r\nIf-Range: \"a\"\r\n"), 400},
      {"authorization", get("Authorization: a\r\nauthorization: b\r\n"), 400},
      {"content type", get("Content-Type: a/b\r\nContent-Type: a/b\r\n"), 400},
  });
  RequestHead head;
  const std::string text = get("If-None-Match: \"a\"\r\nX: y\r\nif-none-match: \"b\"\r\n");
  ASSERT_EQ(parse_head(text, head).progress, Progress::Done);
  EXPECT_TRUE(head.repeated(KnownField::IfNoneMatch));
  EXPECT_FALSE(head.repeated(KnownField::Host));
  std::string all;
  head.for_each(KnownField::IfNoneMatch, [&](std::string_view value) { all += value; });
  EXPECT_EQ(all, "\"a\"\"b\"");
}

TEST(HeadParser, ReadsPipelinedHeadsOneAfterAnother) {
  const std::string text = get("A: 1\r\n") + "HEAD /second HTTP/1.1\r\nHost: b\r\n\r\nrest\x01\n";
  HeadParser parser;
  RequestHead head;
  const HeadOutcome first = parser.parse(text, head);
  ASSERT_EQ(first.progress, Progress::Done);
  EXPECT_EQ(head.find("a"), "1");
  const HeadOutcome second = parser.parse(std::string_view(text).substr(first.consumed), head);
  ASSERT_EQ(second.progress, Progress::Done);
  EXPECT_EQ(head.method, Method::Head);
  EXPECT_EQ(head.target, "/second");
  EXPECT_EQ(head.find("a"), std::nullopt) << "nothing is left from the head before";
  EXPECT_EQ(text.substr(first.consumed + second.consumed), "rest\x01\n");
}

TEST(HeadParser, ResumesAtEverySplitAndInAMovedBuffer) {
  const std::string text = "\r\n" + get("Content-Length: 3\r\nA: " + std::string(70, 'z') + "\r\n");
  for (std::size_t split = 0; split < text.size(); ++split) {
    HeadParser parser;
    RequestHead head;
    const std::string part = text.substr(0, split);
    ASSERT_EQ(parser.parse(part, head).progress, Progress::NeedMore) << split;
    const HeadOutcome whole = parser.parse(text, head);
    ASSERT_EQ(whole.progress, Progress::Done) << split;
    ASSERT_EQ(whole.consumed, text.size());
    ASSERT_EQ(head.content_length, 3u);
    ASSERT_EQ(head.find("a")->size(), 70u);
  }
}

// Heads made of pieces that matter, so that random ones are often nearly right.
std::string random_head() {
  static const std::vector<std::string> kPieces = {"GET",       " ",
                                                   "/",         "HTTP/1.1",
                                                   "\r\n",      "\r\n\r\n",
                                                   "Host: a",   ":",
                                                   "\r",        "\n",
                                                   "\t",        "A: b",
                                                   "*",         "Content-Length",
                                                   "chunked",   "5",
                                                   "\x01",      "\xff",
                                                   ",",         "close",
                                                   "Expect",    "Transfer-Encoding: ",
                                                   "http://a/", "0"};
  std::string text = *rc::gen::element<std::string>("", "GET / HTTP/1.1\r\nHost: a\r\n", "\r\n");
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kPieces));
  for (const std::string& piece : pieces) text += piece;
  text += *rc::gen::element<std::string>("", "\r\n\r\n");
  return text;
}

TEST(HeadParser, SplittingNeverChangesTheResult) {
  EXPECT_TRUE(rc::check("byte by byte equals whole", [] {
    const std::string text = random_head();
    RequestHead whole_head;
    const HeadOutcome whole = parse_head(text, whole_head);
    HeadParser parser;
    RequestHead head;
    HeadOutcome outcome;
    for (std::size_t n = 1; n <= text.size() && outcome.progress == Progress::NeedMore; ++n) {
      outcome = parser.parse({text.data(), n}, head);
    }
    RC_ASSERT(outcome.progress == whole.progress);
    RC_ASSERT(outcome.consumed == whole.consumed);
    RC_ASSERT(outcome.refusal.code == whole.refusal.code);
    if (whole.progress == Progress::Done) {
      RC_ASSERT(head.fields().size() == whole_head.fields().size());
      RC_ASSERT(head.content_length == whole_head.content_length);
      RC_ASSERT(head.chunked == whole_head.chunked);
    }
  }));
}

}  // namespace
}  // namespace ron::http
