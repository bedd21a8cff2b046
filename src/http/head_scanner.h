// HeadScanner: finds the end of a head and the lines in it, and refuses what no line may contain.
//
// One vectorised pass over the bytes checks that every CR is followed by LF and every LF preceded
// by CR, that no other control byte but HTAB occurs, and notes where each line ends; the parsers
// then work on lines known to be clean. Resumes where it stopped, so a head that dribbles in byte
// by byte costs the same bytes once.
//
// Owned by one connection; holds offsets only, so the caller may move its buffer between calls as
// long as the bytes already seen stay the same. Bounds: kHeadBytes and kHeadFields lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/limits.h"
#include "http/refusal.h"

namespace ron::http {

class HeadScanner {
 public:
  // A tolerated empty line, the start line, the fields, the empty line that ends the head.
  static constexpr std::size_t kLines = base::limits::kHeadFields + 3;

  // Looks at the bytes not seen before. Done: the head is buffer[0, consumed).
  HeadOutcome scan(std::string_view buffer) noexcept;

  [[nodiscard]] std::size_t line_count() const noexcept { return line_count_; }
  // The line without its CRLF.
  [[nodiscard]] std::string_view line(std::string_view buffer, std::size_t index) const noexcept {
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1] + 2u;
    return {buffer.data() + begin, ends_[index] - begin};
  }

  void reset() noexcept {
    scanned_ = 0;
    line_count_ = 0;
  }

 private:
  static_assert(base::limits::kHeadBytes <= UINT16_MAX);

  [[nodiscard]] bool note_lines(std::uint32_t line_feeds) noexcept;

  std::uint32_t scanned_ = 0;
  std::uint32_t line_count_ = 0;
  std::array<std::uint16_t, kLines> ends_;  // offset of each line's CR; the first line_count_ hold
};

}  // namespace ron::http
