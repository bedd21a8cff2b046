#include "http/message.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/error.h"
#include "http/response_head.h"

namespace ron::http {
namespace {

struct Rendered {
  bool ok;
  std::string text;
};

template <class Head>
Rendered rendered(const Head& head, std::size_t room = 1024) {
  std::vector<char> memory(room);
  HeadBuffer buffer(memory);
  const bool ok = render(head, buffer);
  return {ok, std::string(buffer.view())};
}

TEST(Reason, IsKnownForEveryErrorCode) {
  for (const base::CodeInfo& code : base::all_codes()) {
    EXPECT_NE(reason(code.status), "Unknown") << code.status;
  }
  EXPECT_EQ(reason(206), "Partial Content");
  EXPECT_EQ(reason(299), "Unknown");
}

TEST(ResponseHead, RendersExactBytes) {
  const std::array fields{Field{"ETag", "\"x\""}};
  const std::array more{Field{"Vary", ""}};
  const Rendered result = rendered(ResponseHead{.status = 200,
                                                .content_length = 1024,
                                                .date = "Sun, 06 Nov 1994 08:49:37 GMT",
                                                .fields = fields,
                                                .more_fields = more});
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.text,
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 1024\r\n"
            "ETag: \"x\"\r\nVary: \r\n\r\n");
}

TEST(ResponseHead, SaysHowTheBodyEndsAndWhetherTheConnectionStays) {
  struct Case {
    ResponseHead head;
    std::string_view expected;
  };
  for (const Case& each : std::vector<Case>{
           {{.status = 204, .framing = Framing::None}, "HTTP/1.1 204 No Content\r\n\r\n"},
           {{.status = 299, .framing = Framing::None}, "HTTP/1.1 299 Unknown\r\n\r\n"},
           {{.framing = Framing::Chunked}, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"},
           {{.framing = Framing::UntilClose}, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"},
           {{.keep_alive = false},
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
           {{.minor = 0},
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n"}}) {
    const Rendered result = rendered(each.head);
    EXPECT_TRUE(result.ok);
    EXPECT_EQ(result.text, each.expected);
  }
}

TEST(ResponseHead, RefusesInjectionAndDoubleFraming) {
  for (const Field& field : std::vector<Field>{{"A", "b\r\nC: d"},
                                               {"A", "b\nc"},
                                               {"A", "b\rc"},
                                               {"A", std::string_view("\0", 1)},
                                               {"A", "\x7f"},
                                               {"A b", "c"},
                                               {"", "c"},
                                               {"A:", "c"},
                                               {"content-length", "5"},
                                               {"Transfer-Encoding", "chunked"},
                                               {"CONNECTION", "close"}}) {
    const std::array fields{field};
    EXPECT_FALSE(rendered(ResponseHead{.fields = fields}).ok) << field.name << field.value;
    EXPECT_FALSE(rendered(ResponseHead{.more_fields = fields}).ok) << field.name << field.value;
    EXPECT_FALSE(rendered(RequestOut{.host = "a", .fields = fields}).ok) << field.name;
  }
  EXPECT_FALSE(rendered(ResponseHead{.date = "x\r\ny"}).ok);
  EXPECT_FALSE(rendered(ResponseHead{.status = 99}).ok);
  EXPECT_FALSE(rendered(ResponseHead{.status = 1000}).ok);
  EXPECT_FALSE(rendered(ResponseHead{.framing = Framing::Chunked, .minor = 0}).ok);
}

TEST(ResponseHead, FitsExactlyOrFails) {
  const ResponseHead head{.content_length = 123456};
  const std::size_t needed = rendered(head).text.size();
  EXPECT_TRUE(rendered(head, needed).ok);
  for (std::size_t room = 0; room < needed; ++room) EXPECT_FALSE(rendered(head, room).ok) << room;
}

TEST(HeadBuffer, StaysSpoiledUntilCleared) {
  std::array<char, 8> memory;
  HeadBuffer buffer(memory);
  buffer.append("too long for it");
  buffer.append("ok");
  EXPECT_FALSE(buffer.ok());
  buffer.clear();
  buffer.append(18u);
  EXPECT_TRUE(buffer.ok());
  EXPECT_EQ(buffer.view(), "18");
}

TEST(RequestOut, RendersExactBytes) {
  const std::array fields{Field{"Accept", "*/*"}};
  EXPECT_EQ(rendered(RequestOut{.target = "/o?x", .host = "a:1", .fields = fields}).text,
            "GET /o?x HTTP/1.1\r\nHost: a:1\r\nAccept: */*\r\n\r\n");
  EXPECT_EQ(rendered(RequestOut{.method = "PUT",
                                .host = "a",
                                .framing = Framing::Length,
                                .content_length = 0,
                                .keep_alive = false})
                .text,
            "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(
      rendered(RequestOut{.host = "a", .framing = Framing::Chunked, .expect_continue = true}).text,
      "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: "
      "100-continue\r\n\r\n");
}

TEST(RequestOut, RefusesBrokenLines) {
  EXPECT_FALSE(rendered(RequestOut{.method = "G T", .host = "a"}).ok);
  EXPECT_FALSE(rendered(RequestOut{.target = "/ HTTP/1.1\r\nX: y", .host = "a"}).ok);
  EXPECT_FALSE(rendered(RequestOut{.target = "", .host = "a"}).ok);
  EXPECT_FALSE(rendered(RequestOut{.host = "a\r\nX: y"}).ok);
  EXPECT_FALSE(rendered(RequestOut{.host = "a", .framing = Framing::UntilClose}).ok);
  for (const std::string_view name : {"host", "Expect", "content-length", "Connection"}) {
    const std::array fields{Field{name, "1"}};
    EXPECT_FALSE(rendered(RequestOut{.host = "a", .fields = fields}).ok) << name;
  }
}

TEST(ResponseHead, OurOwnClientReadsWhatWeWrite) {
  EXPECT_TRUE(rc::check("parse(render(head)) == head", [](std::uint64_t length, std::string value) {
    std::erase_if(value, [](unsigned char c) { return c < 0x21 || c == 0x7f; });
    const std::array fields{Field{"X-Value", value}};
    const int status = *rc::gen::inRange(200, 600);
    const Rendered result =
        rendered(ResponseHead{.status = status, .content_length = length, .fields = fields}, 4096);
    RC_ASSERT(result.ok);
    ParsedResponse parsed;
    const HeadOutcome outcome = parse_response_head(result.text, Method::Get, parsed);
    RC_PRE(status != 204 || length == 0);
    RC_ASSERT(outcome.progress == Progress::Done);
    RC_ASSERT(outcome.consumed == result.text.size());
    RC_ASSERT(parsed.status == status);
    RC_ASSERT(parsed.content_length == length);
    RC_ASSERT(parsed.find("x-value") == value);
  }));
}

}  // namespace
}  // namespace ron::http
