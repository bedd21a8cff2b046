#include "pack/compression.h"

#include <limits>
#include <new>
#include <utility>

#include <zlib.h>

#include "http/decode_guard.h"

namespace ron::pack {

using base::Code;
using base::Result;

http::Coding coding_of(Compression compression) noexcept {
  switch (compression) {
    case Compression::Gzip:
      return http::Coding::Gzip;
    case Compression::Brotli:
      return http::Coding::Brotli;
    case Compression::Zstd:
      return http::Coding::Zstd;
    case Compression::Unknown:
    case Compression::None:
      break;
  }
  return http::Coding::Identity;
}

Result<std::string> decompress(base::ByteView bytes, Compression compression,
                               std::uint64_t cap_bytes, std::string_view what) {
  // Directories are columns of small numbers, which compress well: the size alone is the guard.
  http::DecodeGuard guard(
      coding_of(compression),
      {.cap_bytes = cap_bytes, .ratio_max = std::numeric_limits<std::uint64_t>::max()});
  std::string out;
  auto decoded = guard.feed(bytes, [&out](base::ByteView piece) -> Result<> {
    out.append(base::as_text(piece));
    return {};
  });
  if (decoded) decoded = guard.finish();
  if (decoded) return out;
  if (decoded.error().code == Code::DecodedCap) {
    return base::fail(Code::Malformed, std::string(what) + " has more than " +
                                           std::to_string(cap_bytes) + " bytes when decompressed");
  }
  if (decoded.error().code == Code::Busy) return base::fail(std::move(decoded.error()));
  return base::fail(Code::Malformed, std::string(what) + " cannot be decompressed");
}

Compression sniff_compression(base::ByteView bytes) noexcept {
  return base::as_text(bytes).starts_with(kGzipMagic) ? Compression::Gzip : Compression::None;
}

std::string gzip(base::ByteView bytes) {
  constexpr int kGzipWindow = 15 + 16;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, 9, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::bad_alloc();
  }
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace ron::pack
