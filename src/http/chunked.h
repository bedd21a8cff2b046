// ChunkedDecoder: takes a chunked body apart in place; body bytes are handed out as views of the
// caller's input, never copied.
//
// Strict where readers are known to disagree: 1 to 16 hex digits, nothing but CRLF or `;` behind
// them, exact CRLFs, extensions without control bytes and short (256 bytes a chunk, 16 KiB a body),
// trailers that are well-formed fields, few and small (16, 4 KiB) and none of the names that frame,
// route or authorise a message. Extensions and trailers are then dropped.
//
// Belongs to one connection; about 80 bytes, no allocation. The cap on the body is the caller's:
// compare total(), or total() + chunk_left() to refuse a chunk before its bytes arrive.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "http/refusal.h"

namespace ron::http {

// The result of one feed(). `consumed` bytes of the input are done with, except when Bad.
//   NeedMore  the whole input is consumed
//   Data      `data` is the last part of what was consumed; call again with the rest
//   End       the body is complete; the rest of the input belongs to the next message
//   Bad       `refusal` says why; the connection must be closed
struct ChunkStep {
  enum class Kind : std::uint8_t { NeedMore, Data, End, Bad };

  Kind kind = Kind::NeedMore;
  std::size_t consumed = 0;
  std::string_view data{};
  Refusal refusal{};
};

// What we write before a chunk: its size in hexadecimal, and CRLF.
class ChunkSize {
 public:
  explicit ChunkSize(std::size_t bytes) noexcept;
  [[nodiscard]] base::ByteView line() const noexcept {
    return base::as_bytes(std::string_view(text_.data(), length_));
  }

 private:
  std::array<char, 2 * sizeof(std::size_t) + 2> text_{};
  std::size_t length_ = 0;
};

class ChunkedDecoder {
 public:
  static constexpr std::size_t kSizeDigits = 16;
  static constexpr std::size_t kExtensionBytes = 256;
  static constexpr std::size_t kAllExtensionBytes = 16 * 1024;
  static constexpr std::size_t kTrailerFields = 16;
  static constexpr std::size_t kTrailerBytes = 4 * 1024;

  ChunkStep feed(std::string_view input) noexcept;

  // Body bytes handed out so far.
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  // Body bytes the current chunk still owes.
  [[nodiscard]] std::uint64_t chunk_left() const noexcept { return left_; }

  void reset() noexcept { *this = ChunkedDecoder(); }

 private:
  enum class State : std::uint8_t {
    Size,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
    Failed,
  };

  Checked<> step(char c) noexcept;
  Checked<> step_size(char c) noexcept;
  Checked<> step_extension(char c) noexcept;
  Checked<> step_trailer(char c) noexcept;
  Checked<> expect(char c, char wanted, State next) noexcept;

  // Longer names than any forbidden one need not be remembered.
  static constexpr std::size_t kNameBytes = 32;

  State state_ = State::Size;
  std::uint8_t size_digits_ = 0;
  std::uint8_t trailer_fields_ = 0;
  std::uint8_t name_length_ = 0;
  std::uint16_t extension_bytes_ = 0;
  std::uint16_t trailer_bytes_ = 0;
  std::uint32_t all_extension_bytes_ = 0;
  std::uint64_t left_ = 0;
  std::uint64_t total_ = 0;
  std::array<char, kNameBytes> name_{};
};

}  // namespace ron::http
