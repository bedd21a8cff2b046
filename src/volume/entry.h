// What the index holds under which key: encode, parse. No I/O.
//
// Values start with a version and are parsed strictly: a value that is anything else than exactly
// what this code writes is damage, and damage in the index is answered by making it anew.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "b3/tree.h"
#include "base/object_id.h"
#include "volume/record.h"
#include "volume/volume.h"

namespace ron::volume {

// Where a record lies.
struct Place {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint32_t head_bytes = 0;
  std::uint32_t payload_bytes = 0;

  [[nodiscard]] std::uint64_t stored_bytes() const noexcept {
    return aligned(std::uint64_t{head_bytes} + payload_bytes);
  }
  friend bool operator==(const Place&, const Place&) = default;
};

struct ObjectEntry {
  // Stored: in one record. Composed: of the parts of its upload. Gone: deleted.
  enum class State : std::uint8_t { Stored = 1, Composed = 2, Gone = 3 };
  State state = State::Stored;
  std::uint64_t sequence = 0;
  Place place;
  std::uint64_t length = 0;
  std::uint64_t origin = 0;
  std::uint64_t killed = 0;
  std::optional<UploadId> upload;
  std::string tenant;

  [[nodiscard]] bool present() const noexcept { return state != State::Gone; }
  friend bool operator==(const ObjectEntry&, const ObjectEntry&) = default;
};

struct UploadEntry {
  // Ended with an address: it was committed as that object.
  enum class State : std::uint8_t { Open = 1, Committed = 2, Ended = 3 };
  State state = State::Open;
  std::uint64_t sequence = 0;
  Place place;
  std::uint64_t length = 0;
  std::uint64_t origin = 0;
  std::uint64_t killed = 0;
  std::int64_t expires_unix_s = 0;
  std::optional<base::ObjectId> address;
  std::string tenant;
  friend bool operator==(const UploadEntry&, const UploadEntry&) = default;
};

struct PartEntry {
  std::uint64_t sequence = 0;
  Place place;
  b3::ChainingValue value;
  friend bool operator==(const PartEntry&, const PartEntry&) = default;
};

// What was recorded last of a tenant's hold on an object, besides the object's own record. It
// counts while that is older: see Draft.
struct HoldEntry {
  enum class State : std::uint8_t { Held = 1, Released = 2 };
  State state = State::Held;
  std::uint64_t sequence = 0;
  Place place;
  std::uint64_t origin = 0;
  std::uint64_t killed = 0;
  friend bool operator==(const HoldEntry&, const HoldEntry&) = default;
};

struct SegmentEntry {
  std::uint64_t bytes = 0;
  std::uint64_t live_bytes = 0;

  // What removing the segment would free.
  [[nodiscard]] std::uint64_t dead_bytes() const noexcept {
    const std::uint64_t used = live_bytes + kSegmentHeadBytes;
    return bytes > used ? bytes - used : 0;
  }
  friend bool operator==(const SegmentEntry&, const SegmentEntry&) = default;
};

struct QuarantineEntry {
  std::uint64_t group = 0;
  std::int64_t found_unix_s = 0;
  friend bool operator==(const QuarantineEntry&, const QuarantineEntry&) = default;
};

// How far the log has been applied, and what the whole of it comes to.
struct MetaEntry {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t next_sequence = 1;
  std::uint64_t open_uploads = 0;
  bool complete = false;  // false while the index is being made
  friend bool operator==(const MetaEntry&, const MetaEntry&) = default;
};

std::string object_key(const base::ObjectId& id);
std::string upload_key(const UploadId& id);
std::string part_key(const UploadId& id, std::uint64_t part);
std::string hold_key(const base::ObjectId& id, std::string_view tenant);
// Is there if any hold of the object is: spares a scan of none.
std::string hold_mark_key(const base::ObjectId& id);
std::string segment_key(std::uint64_t segment);
std::string total_key();
std::string usage_key(std::string_view tenant);
std::string quarantine_key(const base::ObjectId& id);
std::string meta_key();

// All keys of one kind, of one upload's parts or one object's holds: from the prefix to its end.
inline constexpr std::string_view kObjectKeys = "o";
inline constexpr std::string_view kUploadKeys = "u";
inline constexpr std::string_view kPartKeys = "p";
inline constexpr std::string_view kHoldKeys = "h";
inline constexpr std::string_view kHoldMarkKeys = "n";
inline constexpr std::string_view kSegmentKeys = "s";
inline constexpr std::string_view kUsageKeys = "q";
inline constexpr std::string_view kQuarantineKeys = "x";
std::string parts_prefix(const UploadId& id);
std::string holds_prefix(const base::ObjectId& id);
// The first key behind all that start with `prefix`.
std::string end_of(std::string_view prefix);

std::optional<base::ObjectId> parse_object_key(std::string_view key);
std::optional<UploadId> parse_upload_key(std::string_view key);
struct PartKey {
  UploadId upload;
  std::uint64_t part = 0;
};
std::optional<PartKey> parse_part_key(std::string_view key);
struct HoldKey {
  base::ObjectId id;
  std::string tenant;
};
std::optional<HoldKey> parse_hold_key(std::string_view key);
std::optional<base::ObjectId> parse_hold_mark_key(std::string_view key);
std::optional<std::uint64_t> parse_segment_key(std::string_view key);
std::optional<std::string> parse_usage_key(std::string_view key);

std::string encode(const ObjectEntry& entry);
std::string encode(const UploadEntry& entry);
std::string encode(const PartEntry& entry);
std::string encode(const HoldEntry& entry);
std::string encode(const SegmentEntry& entry);
std::string encode(const Usage& usage);
std::string encode(const QuarantineEntry& entry);
std::string encode(const MetaEntry& entry);

// Nothing when the value is damaged. For the entries above.
template <class Entry>
std::optional<Entry> parse_entry(std::string_view value);

}  // namespace ron::volume
