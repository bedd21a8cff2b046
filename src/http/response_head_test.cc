#include "http/response_head.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ron::http {
namespace {

HeadOutcome parse(const std::string& text, ParsedResponse& out, Method method = Method::Get) {
  return parse_response_head(text, method, out);
}

TEST(ParsedResponse, ReadsAStatusLineAndFields) {
  const std::string text =
      "HTTP/1.1 206 Partial  Content\r\nContent-Length: 10\r\nETag: \"x\"\r\n\r\n0123456789";
  ParsedResponse response;
  const HeadOutcome outcome = parse(text, response);
  ASSERT_EQ(outcome.progress, Progress::Done);
  EXPECT_EQ(outcome.consumed, text.size() - 10);
  EXPECT_EQ(response.status, 206);
  EXPECT_EQ(response.reason_text, "Partial  Content");
  EXPECT_EQ(response.content_length, 10u);
  EXPECT_EQ(response.body, BodyKind::Length);
  EXPECT_EQ(response.find("etag"), "\"x\"");
  EXPECT_TRUE(response.keep_alive);
  EXPECT_FALSE(response.interim());
}

TEST(ParsedResponse, DerivesTheBodyFromStatusAndRequest) {
  struct Case {
    std::string text;
    Method method;
    BodyKind body;
    bool keep_alive;
  };
  const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n";
  for (const Case& each : std::vector<Case>{
           {"HTTP/1.1 200 OK\r\n" + chunked, Method::Get, BodyKind::Chunked, true},
           {"HTTP/1.1 200 OK\r\n" + chunked, Method::Head, BodyKind::None, true},
           {"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", Method::Head, BodyKind::None, true},
           {"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", Method::Get, BodyKind::None,
            true},
           {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Method::Get, BodyKind::None, true},
           {"HTTP/1.1 200 OK\r\n\r\n", Method::Get, BodyKind::UntilClose, false},
           {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", Method::Get, BodyKind::UntilClose,
            false},
           {"HTTP/1.1 204 No Content\r\n\r\n", Method::Get, BodyKind::None, true},
           {"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", Method::Put, BodyKind::None,
            true},
           {"HTTP/1.1 100 Continue\r\n\r\n", Method::Put, BodyKind::None, true},
           {"HTTP/1.1 200\r\nContent-Length: 1\r\nConnection: close\r\n\r\n", Method::Get,
            BodyKind::Length, false}}) {
    ParsedResponse response;
    ASSERT_EQ(parse(each.text, response, each.method).progress, Progress::Done) << each.text;
    EXPECT_EQ(response.body, each.body) << each.text;
    EXPECT_EQ(response.keep_alive, each.keep_alive) << each.text;
  }
}

TEST(ParsedResponse, BlamesTheUpstreamForEveryDefect) {
  for (const std::string& text : std::vector<std::string>{
           "\r\nHTTP/1.1 200 OK\r\n\r\n",
           "http/1.1 200 OK\r\n\r\n",
           "HTTP/2.0 200 OK\r\n\r\n",
           "HTTP/1.1 20 OK\r\n\r\n",
           "HTTP/1.1 2000 OK\r\n\r\n",
           "HTTP/1.1 600 No\r\n\r\n",
           "HTTP/1.1 099 No\r\n\r\n",
           "HTTP/1.1 +20 No\r\n\r\n",
           "HTTP/1.1  200 OK\r\n\r\n",
           "HTTP/1.1\t200 OK\r\n\r\n",
           "HTTP/1.1 200 OK\n\n",
           "HTTP/1.1 200 O\x01K\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
           "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
           "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
           "HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n",
           "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
           "SSH-2.0-OpenSSH"}) {
    ParsedResponse response;
    const HeadOutcome outcome = parse(text, response);
    EXPECT_EQ(outcome.progress, Progress::Bad) << text;
    EXPECT_EQ(outcome.refusal.code, base::Code::UpstreamFail) << text;
  }
}

TEST(ParsedResponse, ResumesAtEverySplit) {
  const std::string text = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nServer: other\r\n\r\n";
  for (std::size_t split = 0; split < text.size(); ++split) {
    ResponseHeadParser parser;
    ParsedResponse response;
    ASSERT_EQ(parser.parse(text.substr(0, split), Method::Get, response).progress,
              Progress::NeedMore)
        << split;
    ASSERT_EQ(parser.parse(text, Method::Get, response).progress, Progress::Done) << split;
    ASSERT_EQ(response.status, 200);
  }
}

}  // namespace
}  // namespace ron::http
