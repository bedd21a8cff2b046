#include "http/decode_guard.h"

#include <string>
#include <vector>

#include <brotli/encode.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <zlib.h>
#include <zstd.h>

#include "http/head.h"

namespace ron::http {
namespace {

using base::Code;

constexpr Coding kCodings[] = {Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd};

std::string deflate_with(std::string_view plain, int window_bits) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, plain.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string encode_brotli(std::string_view plain, int window_bits) {
  std::string out(BrotliEncoderMaxCompressedSize(plain.size()) + 64, '\0');
  std::size_t size = out.size();
  EXPECT_TRUE(BrotliEncoderCompress(5, window_bits, BROTLI_MODE_GENERIC, plain.size(),
                                    reinterpret_cast<const std::uint8_t*>(plain.data()), &size,
                                    reinterpret_cast<std::uint8_t*>(out.data())));
  out.resize(size);
  return out;
}

std::string encode_zstd(std::string_view plain, int window_log) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(plain.size()) + 64, '\0');
  ZSTD_inBuffer input{plain.data(), plain.size(), 0};
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  // Streamed, so that the frame keeps its window instead of shrinking it to the content.
  EXPECT_FALSE(ZSTD_isError(ZSTD_compressStream2(context, &output, &input, ZSTD_e_continue)));
  EXPECT_EQ(ZSTD_compressStream2(context, &output, &input, ZSTD_e_end), 0u);
  ZSTD_freeCCtx(context);
  out.resize(output.pos);
  return out;
}

std::string encode(Coding coding, std::string_view plain) {
  switch (coding) {
    case Coding::Identity:
      return std::string(plain);
    case Coding::Gzip:
      return deflate_with(plain, 15 + 16);
    case Coding::Deflate:
      return deflate_with(plain, 15);
    case Coding::Brotli:
      return encode_brotli(plain, 22);
    case Coding::Zstd:
      return encode_zstd(plain, 20);
  }
  return {};
}

// Bytes that hardly compress, the same for the same seed.
std::string noise(std::size_t size, std::uint64_t seed = 1) {
  std::string out(size, '\0');
  for (char& c : out) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    c = static_cast<char>(seed >> 56);
  }
  return out;
}

struct Decoded {
  base::Result<> result;
  std::string body;
  std::size_t largest_piece = 0;
};

Decoded decode(Coding coding, std::string_view bytes, DecodeLimits limits = {},
               std::size_t step = SIZE_MAX) {
  DecodeGuard guard(coding, limits);
  Decoded decoded;
  for (std::size_t at = 0; at < bytes.size() && decoded.result;) {
    const std::string_view part = bytes.substr(at, step);
    at += part.size();
    decoded.result = guard.feed(base::as_bytes(part), [&](base::ByteView piece) -> base::Result<> {
      decoded.body += base::as_text(piece);
      decoded.largest_piece = std::max(decoded.largest_piece, piece.size());
      return {};
    });
  }
  if (decoded.result) decoded.result = guard.finish();
  return decoded;
}

Code failure(const Decoded& decoded) {
  EXPECT_FALSE(decoded.result.has_value());
  return decoded.result ? Code::Internal : decoded.result.error().code;
}

TEST(ContentCoding, KnowsItsNames) {
  EXPECT_EQ(parse_content_coding(""), Coding::Identity);
  EXPECT_EQ(parse_content_coding("identity"), Coding::Identity);
  EXPECT_EQ(parse_content_coding("GZip"), Coding::Gzip);
  EXPECT_EQ(parse_content_coding("x-gzip"), Coding::Gzip);
  for (const Coding coding : kCodings) EXPECT_EQ(parse_content_coding(coding_name(coding)), coding);
  EXPECT_EQ(parse_content_coding(" br ,").value(), Coding::Brotli);
}

TEST(ContentCoding, RefusesNestedAndUnknown) {
  for (const std::string_view nested : {"gzip, gzip", "gzip,br", "identity, gzip", "foo, gzip"}) {
    EXPECT_EQ(parse_content_coding(nested).error().code, Code::DecodedCap) << nested;
  }
  for (const std::string_view unknown : {"compress", "gzip;q=1", "gzipped", "\"gzip\""}) {
    EXPECT_EQ(parse_content_coding(unknown).error().code, Code::UnsupportedMedia) << unknown;
  }
  RequestHead head;
  const std::string text =
      "PUT / HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip\r\n\r\n";
  ASSERT_EQ(parse_head(text, head).progress, Progress::Done);
  EXPECT_EQ(content_coding(head).error().code, Code::DecodedCap);
}

TEST(DecodeGuard, DecodesEveryCodingInPieces) {
  const std::string plain = noise(300'000);
  for (const Coding coding : kCodings) {
    const Decoded decoded = decode(coding, encode(coding, plain));
    EXPECT_TRUE(decoded.result.has_value()) << coding_name(coding);
    EXPECT_EQ(decoded.body, plain) << coding_name(coding);
    EXPECT_LE(decoded.largest_piece, DecodeGuard::kPieceBytes);
  }
}

TEST(DecodeGuard, RoundTripsRandomBodiesAtAnySplit) {
  EXPECT_TRUE(rc::check("decode(encode(x)) == x", [](std::uint64_t seed) {
    const Coding coding =
        *rc::gen::elementOf(std::vector<Coding>(std::begin(kCodings), std::end(kCodings)));
    const auto size = *rc::gen::inRange<std::size_t>(0, 200'000);
    const auto step = *rc::gen::inRange<std::size_t>(1, 5000);
    const std::string plain = noise(size, seed);
    const Decoded decoded = decode(coding, encode(coding, plain), {}, step);
    RC_ASSERT(decoded.result.has_value());
    RC_ASSERT(decoded.body == plain);
  }));
}

TEST(DecodeGuard, DecodesByteByByte) {
  const std::string plain = noise(3000) + std::string(3000, 'x');
  for (const Coding coding : kCodings) {
    EXPECT_EQ(decode(coding, encode(coding, plain), {}, 1).body, plain) << coding_name(coding);
  }
}

TEST(DecodeGuard, LetsSmallBodiesExpandFreely) {
  const std::string plain(DecodeGuard::kRatioFreeBytes, '\0');
  for (const Coding coding : kCodings) {
    EXPECT_EQ(decode(coding, encode(coding, plain)).body, plain) << coding_name(coding);
  }
}

TEST(DecodeGuard, StopsABombByItsRatio) {
  const std::string plain(4 << 20, '\0');
  for (const Coding coding : kCodings) {
    const std::string bomb = encode(coding, plain);
    for (const std::size_t step : {std::size_t{1}, std::size_t{100}, SIZE_MAX}) {
      const Decoded decoded = decode(coding, bomb, {}, step);
      EXPECT_EQ(failure(decoded), Code::DecodedRatio) << coding_name(coding);
      EXPECT_LE(decoded.body.size(), DecodeGuard::kRatioFreeBytes);
      ASSERT_EQ(decoded.result.error().details.front().first, "ratio");
      EXPECT_GT(std::stoull(decoded.result.error().details.front().second), 10u);
    }
  }
}

TEST(DecodeGuard, StopsAtTheCapAndHandsOutNothingBeyond) {
  const std::string plain = noise(200'000);
  for (const Coding coding :
       {Coding::Identity, Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd}) {
    const std::string bytes = encode(coding, plain);
    EXPECT_TRUE(decode(coding, bytes, {.cap_bytes = plain.size()}).result.has_value());
    const Decoded decoded = decode(coding, bytes, {.cap_bytes = plain.size() - 1});
    EXPECT_EQ(failure(decoded), Code::DecodedCap) << coding_name(coding);
    EXPECT_LT(decoded.body.size(), plain.size());
  }
}

TEST(DecodeGuard, AcceptsABodyAsLargeAsTheDefaultCap) {
  const std::string plain = noise(base::limits::kDecodedBytes);
  const Decoded widest = decode(Coding::Brotli, encode_brotli(plain, 24));
  EXPECT_TRUE(widest.result.has_value()) << "the memory budget refuses no lawful stream";
  EXPECT_EQ(widest.body.size(), plain.size());
  EXPECT_EQ(decode(Coding::Zstd, encode_zstd(plain, kZstdWindowLog)).body.size(), plain.size());
}

TEST(DecodeGuard, RefusesWindowsBeyondTheBound) {
  const Decoded decoded = decode(Coding::Zstd, encode_zstd(noise(70'000), kZstdWindowLog + 1));
  EXPECT_EQ(failure(decoded), Code::DecodedCap);
  const Decoded brotli =
      decode(Coding::Brotli, encode_brotli(noise(15 << 20), 24), {.cap_bytes = 1000});
  EXPECT_EQ(failure(brotli), Code::DecodedCap);
  EXPECT_TRUE(brotli.result.error().message.contains("window")) << brotli.result.error().message;
}

TEST(DecodeGuard, RefusesTruncatedBodies) {
  const std::string plain = noise(100);
  for (const Coding coding : kCodings) {
    const std::string bytes = encode(coding, plain);
    DecodeGuard empty(coding, {});
    EXPECT_EQ(empty.finish().error().code, Code::Malformed) << coding_name(coding);
    for (std::size_t length = 1; length < bytes.size(); ++length) {
      const Decoded decoded = decode(coding, std::string_view(bytes).substr(0, length));
      EXPECT_EQ(failure(decoded), Code::Malformed) << coding_name(coding) << " " << length;
    }
  }
}

TEST(DecodeGuard, RefusesTrailingGarbage) {
  for (const Coding coding : kCodings) {
    for (const std::string_view garbage : {"x", "garbage behind the end", "\x1f"}) {
      const std::string bytes = encode(coding, "hello") + std::string(garbage);
      EXPECT_EQ(failure(decode(coding, bytes)), Code::Malformed) << coding_name(coding);
      EXPECT_EQ(failure(decode(coding, bytes, {}, 1)), Code::Malformed) << coding_name(coding);
    }
    EXPECT_EQ(failure(decode(coding, encode(coding, "hello") + std::string(3, '\0'))),
              Code::Malformed);
  }
}

TEST(DecodeGuard, RefusesCorruptBodies) {
  for (const Coding coding :
       {Coding::Gzip, Coding::Deflate, Coding::Zstd}) {  // these have checksums
    std::string bytes = encode(coding, noise(1000));
    bytes[bytes.size() / 2] ^= 1;
    EXPECT_EQ(failure(decode(coding, bytes)), Code::Malformed) << coding_name(coding);
  }
  for (const Coding coding : kCodings) {
    EXPECT_EQ(failure(decode(coding, std::string(100, '\xff'))), Code::Malformed)
        << coding_name(coding);
  }
  EXPECT_EQ(failure(decode(Coding::Deflate, deflate_with("raw deflate", -15))), Code::Malformed);
}

TEST(DecodeGuard, JoinsGzipMembersAndZstdFrames) {
  for (const Coding coding : {Coding::Gzip, Coding::Zstd}) {
    const std::string bytes = encode(coding, "one ") + encode(coding, "") + encode(coding, "two");
    EXPECT_EQ(decode(coding, bytes).body, "one two") << coding_name(coding);
    EXPECT_EQ(decode(coding, bytes, {}, 1).body, "one two") << coding_name(coding);
  }
  const std::string skippable("\x5a\x2a\x4d\x18\x03\x00\x00\x00xyz", 11);
  EXPECT_EQ(decode(Coding::Zstd, skippable + encode(Coding::Zstd, "one")).body, "one");
}

TEST(DecodeGuard, CountsAllMembersAgainstTheLimits) {
  std::string bytes;
  for (int i = 0; i < 50; ++i) bytes += encode(Coding::Gzip, std::string(60'000, '\0'));
  EXPECT_EQ(failure(decode(Coding::Gzip, bytes)), Code::DecodedRatio);
  EXPECT_EQ(failure(decode(Coding::Gzip, bytes, {.cap_bytes = 100'000, .ratio_max = 100'000})),
            Code::DecodedCap);
}

TEST(DecodeGuard, RefusesZstdFormatsFromBeforeItsStandard) {
  for (const char version : {'\x24', '\x25', '\x26', '\x27'}) {
    const std::string bytes = std::string(1, version) + "\xb5\x2f\xfd" + std::string(40, '\0');
    EXPECT_EQ(failure(decode(Coding::Zstd, bytes)), Code::Malformed);
    EXPECT_EQ(failure(decode(Coding::Zstd, encode(Coding::Zstd, "x") + bytes, {}, 1)),
              Code::Malformed);
  }
}

TEST(DecodeGuard, RepeatsItsErrorAndStopsOnTheSinks) {
  DecodeGuard guard(Coding::Gzip, {});
  const auto ignore = [](base::ByteView) -> base::Result<> { return {}; };
  EXPECT_EQ(guard.feed(base::as_bytes("not gzip at all"), ignore).error().code, Code::Malformed);
  EXPECT_EQ(guard.feed(base::as_bytes(encode(Coding::Gzip, "x")), ignore).error().code,
            Code::Malformed);
  EXPECT_EQ(guard.finish().error().code, Code::Malformed);

  DecodeGuard other(Coding::Gzip, {});
  const auto full = [](base::ByteView) -> base::Result<> {
    return base::fail(Code::StorageFull, "no room");
  };
  EXPECT_EQ(other.feed(base::as_bytes(encode(Coding::Gzip, "x")), full).error().code,
            Code::StorageFull);
}

}  // namespace
}  // namespace ron::http
