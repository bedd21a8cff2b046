// DecodeGuard: decodes a request body piece by piece, and stops a bomb before it goes off.
//
// Two limits hold at every step, not only at the end: the decoded size (DecodedCap, 413) and the
// ratio of bytes produced to bytes consumed so far (DecodedRatio, 413). The ratio is looked at only
// above kRatioFreeBytes, because a small body of zeros is not an attack. No byte beyond a limit is
// handed out. Codings inside codings are refused unseen.
//
// Belongs to one request. Memory: one piece of kPieceBytes and the decoder (bounds in codecs.h);
// Identity allocates nothing. After an error the guard only repeats that error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/result.h"
#include "http/codecs.h"
#include "http/fields.h"

namespace ron::http {

// The coding of the body from its Content-Encoding, Identity when absent. DecodedCap (413) when
// several codings are nested, UnsupportedMedia (415) for one we do not know.
Checked<Coding> content_coding(const FieldTable& fields) noexcept;
Checked<Coding> parse_content_coding(std::string_view value) noexcept;

// Bodies a core decodes at once; others wait. Decoding never waits for a client, so more would only
// take more memory.
inline constexpr std::size_t kDecodersPerCore = 1;

struct DecodeLimits {
  std::uint64_t cap_bytes = base::limits::kDecodedBytes;
  std::uint64_t ratio_max = 10;
};

class DecodeGuard {
 public:
  static constexpr std::size_t kPieceBytes = base::limits::kGroupBytes;
  static constexpr std::uint64_t kRatioFreeBytes = base::limits::kGroupBytes;

  DecodeGuard(Coding coding, DecodeLimits limits);

  // Decodes from the front of `in`, which shrinks by what was used, and returns the next piece of
  // at most kPieceBytes, valid until the next call. An empty piece: all of `in` is used and more
  // input is needed. Errors: DecodedCap, DecodedRatio, Malformed.
  base::Result<base::ByteView> next(base::ByteView& in);

  // Decodes all of `in`, giving each piece to `sink`, a callable base::Result<>(base::ByteView)
  // whose error ends it.
  template <class Sink>
  base::Result<> feed(base::ByteView in, Sink&& sink) {
    while (true) {
      const auto piece = next(in);
      if (!piece) return base::fail(piece.error());
      if (piece->empty()) return {};
      if (base::Result<> taken = sink(*piece); !taken) return taken;
    }
  }

  // To be called at the end of the body: Malformed when it stops in the middle.
  base::Result<> finish();

  [[nodiscard]] std::uint64_t encoded_bytes() const noexcept { return encoded_bytes_; }
  [[nodiscard]] std::uint64_t decoded_bytes() const noexcept { return decoded_bytes_; }

 private:
  base::Result<base::ByteView> pass(base::ByteView& in);
  base::Result<> check_limits();
  std::unexpected<base::Error> give_up(base::Error error);

  Coding coding_;
  bool more_output_ = false;  // the last piece was full: the decoder may hold back output
  DecodeLimits limits_;
  std::uint64_t encoded_bytes_ = 0;
  std::uint64_t decoded_bytes_ = 0;
  std::unique_ptr<StreamDecoder> decoder_;
  std::unique_ptr<std::byte[]> piece_;
  std::unique_ptr<base::Error> failure_;
};

}  // namespace ron::http
