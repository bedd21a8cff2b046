#include "chain/frame.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "b3/hash.h"
#include "base/encoding.h"
#include "volume/codec.h"

namespace ron::chain {
namespace {

using volume::FieldReader;
using volume::FieldWriter;
using volume::kChecksumBytes;

constexpr std::string_view kLogTitle = "ron frame log 1\n";
constexpr std::string_view kSegmentMagic = "RONFRM01";
constexpr std::string_view kSegmentSuffix = ".seg";
constexpr std::size_t kNumberDigits = 20;
constexpr std::string_view kFrameMagic = "RONf";
constexpr std::byte kPadding{0xff};
constexpr std::size_t kSpotBytes = sizeof(LogIdentity) + 8 + 8;

base::ByteView checksum_bytes(const base::ObjectId& hash) {
  return base::ByteView(hash.digest()).first(kChecksumBytes);
}

void write_spot(FieldWriter& out, const FrameSpot& spot) {
  out.bytes(spot.log);
  out.u64(spot.segment);
  out.u64(spot.offset);
}

}  // namespace

std::string encode(const LogIdentity& identity) {
  std::string text(kLogTitle);
  text.append(base::to_hex(identity)).append("\n");
  return text;
}

std::optional<LogIdentity> parse_log_identity(std::string_view text) {
  LogIdentity identity{};
  const std::size_t digits = 2 * identity.size();
  if (text.size() != kLogTitle.size() + digits + 1) return std::nullopt;
  if (!base::from_hex(text.substr(kLogTitle.size(), digits), identity)) return std::nullopt;
  return encode(identity) == text ? std::optional(identity) : std::nullopt;
}

std::string encode(const SegmentHead& head) {
  FieldWriter out;
  out.text(kSegmentMagic);
  out.bytes(head.log);
  out.u64(head.first);
  out.u64(head.closes.segment);
  out.u64(head.closes.offset);
  out.zeros(kSegmentHeadBytes - kChecksumBytes - out.view().size());
  out.bytes(checksum_bytes(b3::hash(base::as_bytes(out.view()))));
  return std::move(out).take();
}

std::optional<SegmentHead> parse_segment_head(base::ByteView bytes) {
  if (bytes.size() < kSegmentHeadBytes) return std::nullopt;
  const base::ByteView covered = bytes.first(kSegmentHeadBytes - kChecksumBytes);
  const base::ObjectId hash = b3::hash(covered);
  if (!std::ranges::equal(checksum_bytes(hash), bytes.subspan(covered.size(), kChecksumBytes))) {
    return std::nullopt;
  }
  FieldReader in(covered);
  if (base::as_text(in.bytes(kSegmentMagic.size())) != kSegmentMagic) return std::nullopt;
  SegmentHead head;
  std::ranges::copy(in.bytes(head.log.size()), head.log.begin());
  head.first = in.u64();
  head.closes.segment = in.u64();
  head.closes.offset = in.u64();
  in.zeros(8);
  return in.complete() ? std::optional(head) : std::nullopt;
}

std::string segment_name(std::uint64_t first) {
  std::string digits = std::to_string(first);
  digits.insert(0, kNumberDigits - std::min(kNumberDigits, digits.size()), '0');
  return digits.append(kSegmentSuffix);
}

std::optional<std::uint64_t> parse_segment_name(std::string_view name) {
  if (name.size() != kNumberDigits + kSegmentSuffix.size()) return std::nullopt;
  std::uint64_t number = 0;
  for (const char digit : name.substr(0, kNumberDigits)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  // What does not fit has wrapped around and has another name.
  return segment_name(number) == name ? std::optional(number) : std::nullopt;
}

bool may_be_frame(base::ByteView bytes) noexcept {
  return base::as_text(bytes).starts_with(kFrameMagic);
}

std::optional<FrameHead> parse_frame_head(base::ByteView bytes, const FrameSpot& spot) {
  if (bytes.size() < kFrameHeadBytes || !may_be_frame(bytes)) return std::nullopt;
  FieldReader in(bytes.subspan(kFrameMagic.size(), kFrameHeadBytes - kFrameMagic.size()));
  FrameHead head;
  head.bytes = in.u32();
  head.number = in.u64();
  head.durable_before = in.u64();
  head.hash = in.id();
  if (head.bytes > kMaxFrameBytes || head.durable_before > spot.offset) return std::nullopt;
  FieldWriter covered;
  write_spot(covered, spot);
  covered.bytes(bytes.first(kFrameHeadBytes - kChecksumBytes));
  const base::ObjectId hash = b3::hash(base::as_bytes(covered.view()));
  const bool sound = std::ranges::equal(checksum_bytes(hash), in.bytes(kChecksumBytes));
  return sound && in.complete() ? std::optional(head) : std::nullopt;
}

bool frame_checks(const FrameHead& head, base::ByteView stored) {
  if (stored.size() != head.stored_bytes()) return false;
  const auto is_padding = [](std::byte byte) { return byte == kPadding; };
  return std::ranges::all_of(stored.subspan(kFrameHeadBytes + head.bytes), is_padding) &&
         b3::hash(frame_bytes(head, stored)) == head.hash;
}

base::Buffer encode_frames(std::span<const std::string> frames, std::uint64_t number,
                           FrameSpot spot, std::span<std::uint32_t> offsets) {
  assert(frames.size() == offsets.size());
  std::uint64_t total = 0;
  for (const std::string& frame : frames) total += stored_frame_bytes(frame.size());
  base::Buffer buffer(static_cast<std::size_t>(total));
  base::MutableBytes rest = buffer.span();
  const std::uint64_t durable_before = spot.offset;
  FieldWriter head;  // behind where it stands, as the checksum covers it
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const base::ByteView bytes = base::as_bytes(frames[i]);
    assert(bytes.size() <= kMaxFrameBytes);
    head.clear();
    write_spot(head, spot);
    head.text(kFrameMagic);
    head.u32(static_cast<std::uint32_t>(bytes.size()));
    head.u64(number + i);
    head.u64(durable_before);
    head.id(b3::hash(bytes));
    head.bytes(checksum_bytes(b3::hash(base::as_bytes(head.view()))));
    const base::ByteView stored_head = base::as_bytes(head.view()).subspan(kSpotBytes);
    assert(stored_head.size() == kFrameHeadBytes);
    const auto stored = static_cast<std::size_t>(stored_frame_bytes(bytes.size()));
    std::ranges::copy(stored_head, rest.begin());
    if (!bytes.empty()) std::memcpy(rest.data() + kFrameHeadBytes, bytes.data(), bytes.size());
    std::ranges::fill(rest.first(stored).subspan(kFrameHeadBytes + bytes.size()), kPadding);
    rest = rest.subspan(stored);
    offsets[i] = static_cast<std::uint32_t>(spot.offset);
    spot.offset += stored;
  }
  return buffer;
}

}  // namespace ron::chain
