#include "http/head_scanner.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ron::http {
namespace {

using base::Code;

constexpr std::size_t kLanes = 32;
using Lanes = unsigned char __attribute__((ext_vector_type(kLanes)));
using LaneBits = bool __attribute__((ext_vector_type(kLanes)));

// One bit per byte, the first byte lowest.
struct Marks {
  std::uint32_t line_feeds;
  std::uint32_t returns;
  std::uint32_t forbidden;
};

template <class Comparison>
std::uint32_t bits(const Comparison& lanes) noexcept {
  return std::bit_cast<std::uint32_t>(__builtin_convertvector(lanes, LaneBits));
}

Marks classify(const char* bytes) noexcept {
  Lanes lanes;
  std::memcpy(&lanes, bytes, sizeof lanes);
  Marks marks{};
  marks.line_feeds = bits(lanes == '\n');
  marks.returns = bits(lanes == '\r');
  const std::uint32_t control = bits(((lanes < 0x20) & (lanes != '\t')) | (lanes == 0x7f));
  marks.forbidden = control & ~(marks.line_feeds | marks.returns);
  return marks;
}

Marks classify_partial(const char* bytes, std::size_t count) noexcept {
  char padded[kLanes];
  std::memset(padded, ' ', sizeof padded);
  std::memcpy(padded, bytes, count);
  return classify(padded);
}

constexpr std::uint32_t low_bits(std::size_t count) noexcept {
  return count >= 32 ? ~0u : (1u << count) - 1u;
}

}  // namespace

bool HeadScanner::note_lines(std::uint32_t line_feeds) noexcept {
  while (line_feeds != 0) {
    if (line_count_ == kLines) return false;
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(line_feeds));
    ends_[line_count_++] = static_cast<std::uint16_t>(scanned_ + lane - 1);
    line_feeds &= line_feeds - 1;
  }
  return true;
}

HeadOutcome HeadScanner::scan(std::string_view buffer) noexcept {
  const char* const bytes = buffer.data();
  const std::size_t limit = std::min<std::size_t>(buffer.size(), base::limits::kHeadBytes);
  while (scanned_ < limit) {
    const char* const at = bytes + scanned_;
    const std::size_t count = std::min(kLanes, limit - scanned_);
    const Marks marks = count == kLanes ? classify(at) : classify_partial(at, count);

    // What came just before this block decides its first two lanes.
    const bool after_return = scanned_ >= 1 && at[-1] == '\r';
    const std::uint32_t feed_one_back = scanned_ >= 1 && at[-1] == '\n' ? 2u : 0u;
    const std::uint32_t feed_two_back = scanned_ >= 2 && at[-2] == '\n' ? 1u : 0u;

    // Two line feeds two bytes apart end the head; what follows is not ours to judge.
    const std::uint32_t ends =
        marks.line_feeds & ((marks.line_feeds << 2) | feed_one_back | feed_two_back);
    const std::size_t ours =
        ends != 0 ? static_cast<std::size_t>(std::countr_zero(ends)) + 1 : count;
    const std::uint32_t mask = low_bits(ours);

    const std::uint32_t expected_feeds = (marks.returns << 1) | (after_return ? 1u : 0u);
    if ((marks.forbidden & mask) != 0) {
      return HeadOutcome::bad({Code::Malformed, "control byte in the head"});
    }
    if (((marks.line_feeds ^ expected_feeds) & mask) != 0) {
      return HeadOutcome::bad({Code::Malformed, "bare CR or bare LF in the head"});
    }
    if (!note_lines(marks.line_feeds & mask)) {
      return HeadOutcome::bad({Code::HeadTooLarge, "too many fields in the head"});
    }
    scanned_ += static_cast<std::uint32_t>(ours);
    if (ends != 0) return HeadOutcome::done(scanned_);
  }
  if (limit == base::limits::kHeadBytes) {
    return HeadOutcome::bad({Code::HeadTooLarge, "the head is too long"});
  }
  return HeadOutcome::need_more();
}

}  // namespace ron::http
