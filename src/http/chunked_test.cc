#include "http/chunked.h"

#include <charconv>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::http {
namespace {

TEST(ChunkSize, IsWrittenInHexadecimal) {
  EXPECT_EQ(base::as_text(ChunkSize(0).line()), "0\r\n");
  EXPECT_EQ(base::as_text(ChunkSize(0x1f40).line()), "1f40\r\n");
  EXPECT_EQ(base::as_text(ChunkSize(SIZE_MAX).line()), "ffffffffffffffff\r\n");
}

using Kind = ChunkStep::Kind;

struct Decoded {
  Kind kind = Kind::NeedMore;
  std::string body;
  std::size_t consumed = 0;
  Refusal refusal;
  std::uint64_t total = 0;
};

// Feeds pieces of at most `piece` bytes until the decoder ends, fails or the text is used up.
Decoded decode(std::string_view text, std::size_t piece = SIZE_MAX) {
  ChunkedDecoder decoder;
  Decoded result;
  while (result.consumed < text.size()) {
    const ChunkStep step = decoder.feed(text.substr(result.consumed, piece));
    result.kind = step.kind;
    result.consumed += step.consumed;
    result.body += step.data;
    result.refusal = step.refusal;
    if (step.kind == Kind::End || step.kind == Kind::Bad) break;
  }
  result.total = decoder.total();
  return result;
}

TEST(ChunkedDecoder, JoinsChunksAndStopsAtTheEnd) {
  const std::string text = "5\r\nhello\r\n00006; name=\"v\"\r\n world\r\n0\r\n\r\nGET /";
  const Decoded result = decode(text);
  EXPECT_EQ(result.kind, Kind::End);
  EXPECT_EQ(result.body, "hello world");
  EXPECT_EQ(result.total, 11u);
  EXPECT_EQ(text.substr(result.consumed), "GET /");
}

TEST(ChunkedDecoder, HandsOutViewsOfTheInput) {
  const std::string text = "A\r\n0123456789\r\n";
  ChunkedDecoder decoder;
  const ChunkStep first = decoder.feed(std::string_view(text).substr(0, 7));
  EXPECT_EQ(first.kind, Kind::Data);
  EXPECT_EQ(first.data, "0123");
  EXPECT_EQ(first.data.data(), text.data() + 3);
  EXPECT_EQ(decoder.chunk_left(), 6u);
  EXPECT_EQ(decoder.total(), 4u);
}

TEST(ChunkedDecoder, DropsHarmlessTrailers) {
  const Decoded result =
      decode("1\r\nx\r\n0\r\nX-Checksum: abc\r\nServer-Timing: a;b=\tc\r\nEmpty:\r\n\r\n");
  EXPECT_EQ(result.kind, Kind::End);
  EXPECT_EQ(result.body, "x");
}

TEST(ChunkedDecoder, RefusesWhatReadersDisagreeAbout) {
  const std::string digits17(17, '0');
  const std::string longest(ChunkedDecoder::kExtensionBytes, 'x');
  for (const std::string& text : std::vector<std::string>{"\r\n",
                                                          ";\r\n",
                                                          "g\r\n",
                                                          "-1\r\n",
                                                          "+1\r\n",
                                                          "0x1\r\n",
                                                          " 1\r\n",
                                                          "1 \r\n",
                                                          "1\t;a\r\n",
                                                          "1\n",
                                                          "1\rx",
                                                          "1\r\nab",
                                                          "1\r\na\n",
                                                          "1\r\na\rb",
                                                          "1\r\na\r\n\r\n",
                                                          digits17 + "\r\n",
                                                          "10000000000000000\r\n",
                                                          "1;a\x01\r\n",
                                                          "1;a\nb\r\n",
                                                          "1;a\rb\r\n",
                                                          std::string("1;\0\r\n", 5),
                                                          "1;" + longest + "\r\n",
                                                          "0\r\n\n",
                                                          "0\r\n\rx",
                                                          "0\r\n : a\r\n",
                                                          "0\r\n: a\r\n",
                                                          "0\r\nA b: c\r\n",
                                                          "0\r\nA : c\r\n",
                                                          "0\r\nA\r\n",
                                                          "0\r\nA: b\n",
                                                          "0\r\nA: b\x02\r\n",
                                                          "0\r\nA: b\r\n c\r\n",
                                                          "1\r\nx\r\nffffffffffffffff\r\n"}) {
    const Decoded result = decode(text);
    EXPECT_EQ(result.kind, Kind::Bad) << text;
    EXPECT_EQ(result.refusal.code, base::Code::Malformed) << text;
  }
}

TEST(ChunkedDecoder, RefusesForbiddenTrailers) {
  for (const std::string_view name :
       {"Content-Length", "transfer-encoding", "HOST", "Authorization", "Content-Encoding",
        "Content-Type", "Trailer", "Cookie", "Set-Cookie", "Connection", "TE", "Content-Range",
        "Proxy-Authorization", "If-None-Match"}) {
    const Decoded result = decode("0\r\n" + std::string(name) + ": x\r\n\r\n");
    EXPECT_EQ(result.kind, Kind::Bad) << name;
  }
  EXPECT_EQ(decode("0\r\nContent-Lengthy: x\r\n\r\n").kind, Kind::End);
  EXPECT_EQ(decode("0\r\n" + std::string(500, 'n') + ": x\r\n\r\n").kind, Kind::End);
}

TEST(ChunkedDecoder, BoundsExtensionsAndTrailers) {
  std::string many = "0\r\n";
  for (std::size_t i = 0; i < ChunkedDecoder::kTrailerFields; ++i) many += "A: b\r\n";
  EXPECT_EQ(decode(many + "\r\n").kind, Kind::End);
  EXPECT_EQ(decode(many + "A: b\r\n\r\n").refusal.code, base::Code::HeadTooLarge);
  const std::string wide = "0\r\nA: " + std::string(ChunkedDecoder::kTrailerBytes, 'x');
  EXPECT_EQ(decode(wide).refusal.code, base::Code::HeadTooLarge);

  const std::string extended =
      "1;" + std::string(ChunkedDecoder::kExtensionBytes - 1, 'x') + "\r\na\r\n";
  std::string flood;
  for (std::size_t i = 0; i < ChunkedDecoder::kAllExtensionBytes / 256; ++i) flood += extended;
  EXPECT_EQ(decode(flood + "0\r\n\r\n").kind, Kind::End);
  EXPECT_EQ(decode(flood + extended).kind, Kind::Bad);
}

TEST(ChunkedDecoder, StaysFailedAndStaysDone) {
  ChunkedDecoder decoder;
  EXPECT_EQ(decoder.feed("x").kind, Kind::Bad);
  EXPECT_EQ(decoder.feed("0\r\n\r\n").kind, Kind::Bad);
  decoder.reset();
  EXPECT_EQ(decoder.feed("0\r\n\r\n").kind, Kind::End);
  const ChunkStep again = decoder.feed("more");
  EXPECT_EQ(again.kind, Kind::End);
  EXPECT_EQ(again.consumed, 0u);
}

TEST(ChunkedDecoder, NeedsMoreUntilTheLastByte) {
  const std::string text = "3;e\r\nabc\r\n0\r\nX: y\r\n\r\n";
  for (std::size_t length = 0; length < text.size(); ++length) {
    const Decoded result = decode(std::string_view(text).substr(0, length));
    EXPECT_NE(result.kind, Kind::End) << length;
    EXPECT_NE(result.kind, Kind::Bad) << length;
  }
}

TEST(ChunkedDecoder, SplittingNeverChangesTheResult) {
  static const std::vector<std::string> kPieces = {
      "1",    "a",  "F",       "\r\n",       "\r",
      "\n",   ";x", "0\r\n",   "\r\n\r\n",   "5\r\nhello\r\n",
      "A: b", "0",  "Host: x", "1\r\nz\r\n", "\x01"};
  EXPECT_TRUE(rc::check("any piece size equals whole", [] {
    std::string text;
    for (const auto& piece :
         *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kPieces))) {
      text += piece;
    }
    const Decoded whole = decode(text);
    const Decoded pieces = decode(text, *rc::gen::inRange<std::size_t>(1, 8));
    RC_ASSERT((whole.kind == Kind::Bad) == (pieces.kind == Kind::Bad));
    RC_ASSERT((whole.kind == Kind::End) == (pieces.kind == Kind::End));
    RC_ASSERT(whole.body == pieces.body);
    RC_ASSERT(whole.refusal == pieces.refusal);
  }));
}

TEST(ChunkedDecoder, DecodesWhatAnEncoderWrites) {
  EXPECT_TRUE(rc::check("decode(encode(body)) == body", [](const std::vector<std::string>& chunks) {
    std::string text;
    std::string body;
    for (const std::string& chunk : chunks) {
      if (chunk.empty()) continue;
      char size[17];
      const auto end = std::to_chars(size, size + sizeof size, chunk.size(), 16).ptr;
      text.append(size, end).append("\r\n").append(chunk).append("\r\n");
      body += chunk;
    }
    text += "0\r\n\r\n";
    const Decoded result = decode(text, *rc::gen::inRange<std::size_t>(1, 50));
    RC_ASSERT(result.kind == Kind::End);
    RC_ASSERT(result.body == body);
    RC_ASSERT(result.consumed == text.size());
  }));
}

}  // namespace
}  // namespace ron::http
