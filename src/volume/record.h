// One record of a segment: layout, encode, parse. No I/O.
//
// A record's checksum also covers where it stands and the volume's secret seal: bytes that a client
// stored can therefore never pass for a record, wherever a scan happens to look for one, and a
// record that the medium wrote to the wrong place is not believed there.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "b3/tree.h"
#include "base/bytes.h"
#include "base/object_id.h"
#include "base/result.h"
#include "volume/volume.h"

namespace ron::volume {

enum class RecordKind : std::uint8_t {
  Object = 1,       // these bytes are stored under this address; ends the upload it names, if any
  Deleted = 2,      // the object, and the upload it was made by, are gone
  UploadBegun = 3,  // an upload exists
  Part = 4,         // bytes of a part of an upload
  Committed = 5,    // the upload's parts are the object with this address
  UploadEnded = 6,  // the upload is gone; the address, if any, is what it was committed as
  HoldAdded = 7,    // the tenant holds the object, which was there already
  HoldRemoved = 8,  // the tenant does not hold the object any more; others do
};

inline constexpr std::uint64_t kRecordAlignment = 8;
inline constexpr std::size_t kSegmentHeadBytes = 96;  // what a segment starts with
static_assert(kSegmentHeadBytes % kRecordAlignment == 0);
inline constexpr std::size_t kTenantBytes = 64;
inline constexpr std::size_t kFixedHeadBytes = 144;
inline constexpr std::size_t kChecksumBytes = 8;
inline constexpr std::size_t kMaxPayloadBytes = base::limits::kDecodedBytes;
inline constexpr std::size_t kMaxHeadBytes =
    kFixedHeadBytes + kTenantBytes +
    kMaxPayloadBytes / b3::kGroupBytes * b3::ChainingValue::kBytes + kChecksumBytes;
static_assert(kMaxPayloadBytes % b3::kGroupBytes == 0);

constexpr std::uint64_t aligned(std::uint64_t bytes) noexcept {
  return (bytes + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
}

// Known to the volume only; made once with it.
using Seal = std::array<std::byte, 16>;

// Where a record stands.
struct Spot {
  Seal seal{};
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
};

// What a record says, without its payload. A plain value.
struct Record {
  RecordKind kind = RecordKind::Object;
  std::uint64_t sequence = 0;
  std::uint64_t durable_before = 0;
  std::uint64_t origin = 0;  // the lowest segment that may hold a record this one replaces
  std::uint64_t killed = 0;  // Deleted, UploadEnded, HoldRemoved: the highest
  std::uint64_t length = 0;  // of the object or the whole upload
  std::uint64_t part = 0;
  std::int64_t expires_unix_s = 0;
  std::uint32_t payload_bytes = 0;
  std::optional<base::ObjectId> address;
  std::optional<UploadId> upload;
  std::string tenant;
  std::vector<b3::ChainingValue> groups;

  [[nodiscard]] std::size_t head_bytes() const noexcept;
  // On the medium, padding included.
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept {
    return aligned(head_bytes() + payload_bytes);
  }
  friend bool operator==(const Record&, const Record&) = default;
};

// Group values a record of this kind carries for a payload of this length.
std::size_t groups_stored(RecordKind kind, std::uint64_t payload_bytes) noexcept;

// Fills `out`, which has head_bytes().
void encode(const Record& record, const Spot& spot, base::MutableBytes out);

enum class ParseFailure : std::uint8_t { Incomplete, Invalid };
// Incomplete: it may be a record, but more bytes than these are needed to tell; kMaxHeadBytes are
// always enough. Invalid: no record starts here, or it is damaged.
std::expected<Record, ParseFailure> parse_record(base::ByteView bytes, const Spot& spot);
// Cheap: false when no record starts with these bytes.
bool may_be_record(base::ByteView bytes) noexcept;

// The value of a part's subtree from the values of its groups.
b3::ChainingValue part_value(const Record& part) noexcept;
// The values compose to the address; true for objects of one group, which have none.
bool groups_match_address(const base::ObjectId& address, std::uint64_t length,
                          std::span<const b3::ChainingValue> groups);
// The first group of the payload that is not what the record says. `payload` is all of it.
std::optional<std::uint64_t> first_bad_group(const Record& record, base::ByteView payload);

}  // namespace ron::volume
