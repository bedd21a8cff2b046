// A segment file: its name, its head, and the scan of its records.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/result.h"
#include "base/ulid.h"
#include "platform/disk.h"
#include "platform/task.h"
#include "volume/entry.h"
#include "volume/record.h"

namespace ron::volume {

// Who a volume is. Made once and kept in the file VOLUME and in the head of every segment.
struct Identity {
  base::Ulid id;
  Seal seal{};
  friend bool operator==(const Identity&, const Identity&) = default;
};

// A position in the log.
struct LogPosition {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  friend auto operator<=>(const LogPosition&, const LogPosition&) = default;
};

// The first place in whole pages at or behind `offset`.
constexpr std::uint64_t next_page(std::uint64_t offset) noexcept {
  constexpr std::uint64_t kPage = base::Buffer::kPageBytes;
  return (offset + kPage - 1) / kPage * kPage;
}

// What a segment starts with. `closes` is where the log ended when the segment was begun: what that
// segment holds beyond it, and whatever lies in segments in between, was never acknowledged and
// does not count. That is how a write whose failure was reported stays undone.
struct SegmentHead {
  Identity volume;
  std::uint64_t segment = 0;
  LogPosition closes;
  friend bool operator==(const SegmentHead&, const SegmentHead&) = default;
};
std::string encode(const SegmentHead& head);  // kSegmentHeadBytes
std::optional<SegmentHead> parse_segment_head(base::ByteView bytes);

std::string segment_name(std::uint64_t segment);  // 0000000001.seg
std::optional<std::uint64_t> parse_segment_name(std::string_view name);

// Names in a volume's directory.
inline constexpr std::string_view kIdentityName = "VOLUME";
inline constexpr std::string_view kSegmentsName = "segments";
std::string encode(const Identity& identity);  // that file
std::optional<Identity> parse_identity(std::string_view text);

// A segment that can be read. Shared by whoever reads from it, so that a reader outlasts the
// segment's removal. Any executor.
struct Segment {
  std::uint64_t number = 0;
  std::optional<LogPosition> closes;  // nothing: the head is damaged
  std::shared_ptr<platform::File> file;
  bool set_aside = false;  // it cannot be opened: all that is known of it is that it exists
};
using SegmentPtr = std::shared_ptr<const Segment>;

// In place of a segment that cannot be opened: whoever reads from it is told why.
SegmentPtr set_aside_segment(std::uint64_t number, base::Error why);

// Bytes of the segment, shorter only at the end of the file; without waiting if memory has them.
// Cancel-safe.
platform::Task<base::Result<base::Buffer>> read_bytes(SegmentPtr segment, std::uint64_t offset,
                                                      std::size_t bytes);

// A whole record, its head checked and its payload not. IntegrityFail if there is none.
// Cancel-safe.
struct StoredRecord {
  Record record;
  base::Buffer bytes;  // head and payload
  [[nodiscard]] base::ByteView payload() const noexcept {
    return bytes.view().subspan(record.head_bytes(), record.payload_bytes);
  }
};
platform::Task<base::Result<StoredRecord>> read_record(SegmentPtr segment, Seal seal, Place place);

// A record as a scan found it.
struct FoundRecord {
  Record record;
  Place place;
  [[nodiscard]] std::uint64_t end() const noexcept { return place.offset + place.stored_bytes(); }
  // Nothing is missing between what ends at `end` and this record: it stands right there, or begins
  // a batch at the next page and says so.
  [[nodiscard]] bool follows(std::uint64_t end) const noexcept {
    return place.offset == end || (record.durable_before == end && place.offset == next_page(end));
  }
};

// Reads the records of one segment in order, large payloads left out. A place where no valid
// record starts is skipped up to the next one that is valid, and so is a page that the medium does
// not give. One task at a time; the file outlives it. It holds one window of kWindowBytes.
class SegmentScanner {
 public:
  static constexpr std::size_t kWindowBytes = 256 * base::kKiB;
  static_assert(kWindowBytes >= kMaxHeadBytes + 2 * base::Buffer::kPageBytes);
  // A dying disk may take seconds for every page it does not give: beyond this a scan gives up.
  static constexpr std::uint64_t kMostUnreadableBytes = 1 * base::kMiB;

  // Records that start at or behind `begin` and end at or before `end`.
  SegmentScanner(SegmentPtr segment, Seal seal, std::uint64_t begin, std::uint64_t end);

  // The next record, or nothing at the end; an error of the disk only when too much of the segment
  // cannot be read. Cancel-safe in that a scan may be dropped anywhere.
  platform::Task<base::Result<std::optional<FoundRecord>>> next();
  // The payload of the record found last; shorter than it should be only if the file is.
  // Cancel-safe.
  platform::Task<base::Result<base::Buffer>> payload(Place place);

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  // Bytes in which no record was found.
  [[nodiscard]] std::uint64_t skipped_bytes() const noexcept { return skipped_; }
  // Of those, what the medium did not give.
  [[nodiscard]] std::uint64_t unreadable_bytes() const noexcept { return unreadable_; }

 private:
  platform::Task<base::Result<base::ByteView>> window_at(std::uint64_t offset, std::size_t bytes);
  platform::Task<base::Result<void>> fill_window(std::uint64_t start);
  platform::Task<base::Result<base::Buffer>> read_page(std::uint64_t start);
  base::Result<void> skip_unreadable_page();
  [[nodiscard]] std::uint64_t next_candidate(base::ByteView window) const noexcept;

  SegmentPtr segment_;
  Spot spot_;
  std::uint64_t position_;
  std::uint64_t end_;
  std::uint64_t skipped_ = 0;
  std::uint64_t unreadable_ = 0;
  base::Buffer window_;
  std::uint64_t window_offset_ = 0;
  std::optional<base::Error> window_ended_by_;  // why the page behind the window cannot be read
};

}  // namespace ron::volume
