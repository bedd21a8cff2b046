// The layout of a frame log: the file LOG, the head of a segment, the head of a frame. No I/O.
//
// The checksum of a frame's head also covers where it stands and the log's identity, which no
// client knows: bytes inside a frame never pass for one, wherever a scan looks for one after
// damage, and a frame that the medium wrote to the wrong place is not believed there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/object_id.h"
#include "base/units.h"
#include "volume/record.h"

namespace ron::chain {

inline constexpr std::size_t kSegmentHeadBytes = 64;
inline constexpr std::size_t kFrameHeadBytes = 64;
inline constexpr std::size_t kMaxFrameBytes = 2 * base::kMiB;
static_assert(kSegmentHeadBytes % volume::kRecordAlignment == 0);

// On the medium. At least one byte of padding, which is not zero: whoever finds a sector of zeros
// knows that it was never written, however the bytes of the frame end.
constexpr std::uint64_t stored_frame_bytes(std::uint64_t bytes) noexcept {
  return volume::aligned(kFrameHeadBytes + bytes + 1);
}
inline constexpr std::uint64_t kMaxStoredFrameBytes = stored_frame_bytes(kMaxFrameBytes);
inline constexpr std::uint64_t kMinStoredFrameBytes = stored_frame_bytes(0);

// Names in a log's directory.
inline constexpr std::string_view kLogName = "LOG";
inline constexpr std::string_view kSegmentsName = "segments";

// Drawn when the log is made; in the file LOG and in the head of every segment.
using LogIdentity = std::array<std::byte, 16>;

std::string encode(const LogIdentity& identity);  // the file LOG
std::optional<LogIdentity> parse_log_identity(std::string_view text);

// A position in the log. Segments are known by the number of their first frame.
struct LogEnd {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  friend bool operator==(const LogEnd&, const LogEnd&) = default;
};

// What a segment starts with. `closes` is where the log ended when the segment was begun: what the
// segment before it holds beyond that does not count, which is how a write whose failure was
// reported stays undone. Zeros in the first segment of all.
struct SegmentHead {
  LogIdentity log{};
  std::uint64_t first = 0;
  LogEnd closes;
  friend bool operator==(const SegmentHead&, const SegmentHead&) = default;
};
std::string encode(const SegmentHead& head);  // kSegmentHeadBytes
std::optional<SegmentHead> parse_segment_head(base::ByteView bytes);

std::string segment_name(std::uint64_t first);  // 00000000000000000000.seg
std::optional<std::uint64_t> parse_segment_name(std::string_view name);

// A frame as its reader sees it.
struct FrameView {
  std::uint64_t number = 0;
  base::ByteView bytes;  // valid during the call it is handed to
};

// Where a frame stands.
struct FrameSpot {
  LogIdentity log{};
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
};

struct FrameHead {
  std::uint64_t number = 0;
  std::uint64_t durable_before = 0;  // where the segment's log ended when the batch was written
  std::uint32_t bytes = 0;
  base::ObjectId hash;  // of the bytes

  [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return stored_frame_bytes(bytes); }
  friend bool operator==(const FrameHead&, const FrameHead&) = default;
};

// Nothing: no frame starts here, or its head is damaged. Takes at least kFrameHeadBytes.
std::optional<FrameHead> parse_frame_head(base::ByteView bytes, const FrameSpot& spot);
// Cheap: false when no frame starts with these bytes.
bool may_be_frame(base::ByteView bytes) noexcept;
// The bytes and the padding are what the head says; `stored` is all of the frame.
bool frame_checks(const FrameHead& head, base::ByteView stored);
// The frame's own bytes.
inline base::ByteView frame_bytes(const FrameHead& head, base::ByteView stored) noexcept {
  return stored.subspan(kFrameHeadBytes, head.bytes);
}

// The frames as they stand at `spot`, one behind the other, numbered from `number` on; the log is
// durable up to there. `offsets`, which has as many places, is told where each stands.
base::Buffer encode_frames(std::span<const std::string> frames, std::uint64_t number,
                           FrameSpot spot, std::span<std::uint32_t> offsets);

}  // namespace ron::chain
