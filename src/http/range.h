// Range requests over bytes, RFC 9110 §14, one range at a time. Pure functions.
//
// Only for GET, and after If-Range (conditional.h) has let the range count. Several ranges and
// other units are ignored, which the RFC allows: the reply is the whole object.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ron::http {

// Both ends inclusive, as on the wire; first <= last.
struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  // Overflows only for a range of 2^64 bytes, which no object has.
  [[nodiscard]] std::uint64_t length() const noexcept { return last - first + 1; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

enum class RangeKind : std::uint8_t {
  None,           // 200 with everything
  Satisfiable,    // 206 with `range`
  Unsatisfiable,  // 416 RangeNotSatisfiable with `Content-Range: bytes */size`
  Malformed,      // 400 BadRange
};

struct RangeOutcome {
  RangeKind kind = RangeKind::None;
  ByteRange range{};  // within the object when Satisfiable
};

// `value` of the Range field against an object of `size` bytes. Numbers beyond 64 bits saturate.
// A suffix of an empty object is the whole object (None); any other range of it is unsatisfiable.
RangeOutcome parse_range(std::string_view value, std::uint64_t size) noexcept;

// `bytes 0-9/20` and `bytes */20`, rendered into `out`; the view is of `out`.
using ContentRangeText = std::array<char, 80>;
std::string_view print_content_range(ByteRange range, std::uint64_t size,
                                     ContentRangeText& out) noexcept;
std::string_view print_unsatisfied_range(std::uint64_t size, ContentRangeText& out) noexcept;

}  // namespace ron::http
