#include "http/response.h"

#include <string>

#include <gtest/gtest.h>

namespace ron::http {
namespace {

const base::Ulid kId = *base::Ulid::parse("01JXT21Q0BMT05349PHC7XQWJR");

std::string_view text_of(const Response& response) { return base::as_text(response.bytes()); }

TEST(Response, ErrorsCarryTheEnvelope) {
  const Response response = Response::error(
      base::Error(base::Code::BodyCap, "too \"large\"").with("limit_bytes", "7"), kId);
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(text_of(response),
            R"({"error":{"code":"BodyCap","message":"too \"large\"",)"
            R"("corr_id":"01JXT21Q0BMT05349PHC7XQWJR","details":{"limit_bytes":"7"}}})");
  EXPECT_EQ(response.lines, "Content-Type: application/json\r\n");
}

TEST(Response, ErrorsThatARetryHelpsSayWhen) {
  const Response usual = Response::error({base::Code::Busy, "full"}, kId);
  EXPECT_NE(usual.lines.find("Retry-After: 1\r\n"), std::string::npos);
  EXPECT_NE(text_of(usual).find("\"retry_after\":1"), std::string::npos);
  base::Error later(base::Code::BreakerOpen, "open");
  later.retry_after_s = 9;
  EXPECT_NE(Response::error(later, kId).lines.find("Retry-After: 9\r\n"), std::string::npos);
}

TEST(Response, EveryCodeHasItsStatusAndSaysRetryAfterOnlyIfThatHelps) {
  for (const base::CodeInfo& code : base::all_codes()) {
    const Response response = Response::error({code.code, "why"}, kId);
    EXPECT_EQ(response.status, code.status) << code.name;
    EXPECT_EQ(response.lines.find("Retry-After") != std::string::npos, code.retry_helps)
        << code.name;
    EXPECT_NE(text_of(response).find("\"" + std::string(code.name) + "\""), std::string::npos);
  }
}

TEST(Response, UnauthorizedNamesTheScheme) {
  const Response response = Response::error({base::Code::Unauthorized, "who"}, kId);
  EXPECT_NE(response.lines.find("WWW-Authenticate: Bearer\r\n"), std::string::npos);
}

TEST(Response, FieldsThatCouldBreakOutAreDropped) {
  Response response(200);
  response.add("X-Fine", "value");
  response.add("X-Evil", "a\r\nSet-Cookie: b");
  response.add("X-Evil", std::string_view("a\0b", 3));
  response.add("X Evil", "a");
  response.add("X-Evil:", "a");
  response.add("", "a");
  EXPECT_EQ(response.lines, "X-Fine: value\r\n");
}

TEST(Response, TheLengthIsKnownUnlessOnlyTheEndTells) {
  Response response(200);
  EXPECT_EQ(response.content_length(), 0U);
  response.body = "text";
  EXPECT_EQ(text_of(response), "text");
  EXPECT_EQ(response.content_length(), 4U);
  response.body = SharedBody{base::as_bytes("shared")};
  EXPECT_EQ(text_of(response), "shared");
  EXPECT_EQ(response.content_length(), 6U);
  response.body = SizedBody{nullptr, 7};
  EXPECT_EQ(response.content_length(), 7U);
  EXPECT_TRUE(response.bytes().empty());
  response.body = StreamedBody{};
  EXPECT_FALSE(response.content_length());
  response.body = EventBody{};
  EXPECT_FALSE(response.content_length());
}

}  // namespace
}  // namespace ron::http
