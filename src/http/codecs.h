// Streaming decoders for the content codings, each behind one small interface and with its memory
// bounded. They know nothing about how much output is acceptable: always run them through
// DecodeGuard (decode_guard.h).
//
// A decoder belongs to one request. Memory, at most:
//   gzip, deflate   about 45 KiB (32 KiB window)
//   br              brotli_bytes()
//   zstd            kZstdBytes (window of at most 8 MiB, the bound of RFC 9659)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "http/refusal.h"

namespace ron::http {

enum class Coding : std::uint8_t { Identity, Gzip, Deflate, Brotli, Zstd };

// "gzip" and so on, as in Content-Encoding.
std::string_view coding_name(Coding coding) noexcept;

inline constexpr int kZstdWindowLog = 23;
inline constexpr std::size_t kBrotliTableBytes = std::size_t{6} << 20;
inline constexpr std::size_t kBrotliWindowBytes = std::size_t{16} << 20;
inline constexpr std::size_t kZstdBytes = std::size_t{9} << 20;

constexpr std::size_t brotli_bytes(std::uint64_t cap_bytes) noexcept {
  return kBrotliTableBytes + 3 * std::min<std::size_t>(cap_bytes, kBrotliWindowBytes);
}
// The most memory any decoder takes for an output of at most `cap_bytes`.
constexpr std::size_t decoder_bytes(std::uint64_t cap_bytes) noexcept {
  return std::max(brotli_bytes(cap_bytes), kZstdBytes);
}

class StreamDecoder {
 public:
  struct Run {
    std::size_t consumed = 0;
    std::size_t produced = 0;
  };

  virtual ~StreamDecoder() = default;

  // Decodes until `out` is full or `in` is used up and nothing more can be produced from it.
  // Malformed on corrupt bytes and on anything behind the end; DecodedCap when the stream asks for
  // more memory than allowed. Not to be called again after a refusal.
  virtual Checked<Run> run(base::ByteView in, base::MutableBytes out) noexcept = 0;

  // The bytes so far are a whole body; false means truncated.
  [[nodiscard]] virtual bool complete() const noexcept = 0;
};

// `cap_bytes` is the largest output that will be accepted; memory is derived from it. Null for
// Identity, and when memory is short.
std::unique_ptr<StreamDecoder> make_decoder(Coding coding, std::uint64_t cap_bytes);

}  // namespace ron::http
