#include "volume/record.h"

#include <algorithm>
#include <cassert>

#include "b3/hash.h"
#include "volume/codec.h"

namespace ron::volume {
namespace {

constexpr std::string_view kMagic = "RONr";
constexpr std::size_t kGroupsPerPart = kPartBytes / b3::kGroupBytes;

enum Flags : std::uint8_t { kHasAddress = 1, kHasUpload = 2, kAllFlags = 3 };

using Checksum = std::array<std::byte, kChecksumBytes>;

Checksum checksum_of(base::ByteView head, const Spot& spot) {
  FieldWriter place;
  place.bytes(spot.seal);
  place.u64(spot.segment);
  place.u64(spot.offset);
  const base::ObjectId hash =
      b3::Hasher().update(base::as_bytes(place.view())).update(head).finish();
  Checksum checksum{};
  std::copy_n(hash.digest().begin(), kChecksumBytes, checksum.begin());
  return checksum;
}

bool known(std::uint8_t kind) noexcept {
  return kind >= static_cast<std::uint8_t>(RecordKind::Object) &&
         kind <= static_cast<std::uint8_t>(RecordKind::HoldRemoved);
}

std::uint64_t first_group(const Record& record) noexcept {
  return record.kind == RecordKind::Part ? record.part * kGroupsPerPart : 0;
}

// What a record of this kind must and must not carry.
bool coherent(const Record& record, std::size_t groups) {
  const bool addressed = record.address.has_value();
  const bool of_upload = record.upload.has_value();
  if (record.tenant.size() > kTenantBytes) return false;
  if (groups != groups_stored(record.kind, record.payload_bytes)) return false;
  switch (record.kind) {
    case RecordKind::Object:
      return addressed && record.payload_bytes == record.length &&
             record.payload_bytes <= kMaxPayloadBytes;
    case RecordKind::Part:
      return of_upload && record.payload_bytes > 0 && record.payload_bytes <= kPartBytes &&
             record.part < b3::kMaxGroups / kGroupsPerPart;
    case RecordKind::Committed:
      return addressed && of_upload && record.payload_bytes == 0;
    case RecordKind::Deleted:
      return addressed && record.payload_bytes == 0;
    case RecordKind::UploadBegun:
    case RecordKind::UploadEnded:
      return of_upload && record.payload_bytes == 0;
    case RecordKind::HoldAdded:
    case RecordKind::HoldRemoved:
      return addressed && !of_upload && record.payload_bytes == 0;
  }
  return false;
}

}  // namespace

std::size_t groups_stored(RecordKind kind, std::uint64_t payload_bytes) noexcept {
  const bool always = kind == RecordKind::Part;
  const bool when_many = kind == RecordKind::Object && payload_bytes > b3::kGroupBytes;
  return always || when_many ? static_cast<std::size_t>(b3::group_count(payload_bytes)) : 0;
}

std::size_t Record::head_bytes() const noexcept {
  return kFixedHeadBytes + tenant.size() + groups.size() * b3::ChainingValue::kBytes +
         kChecksumBytes;
}

void encode(const Record& record, const Spot& spot, base::MutableBytes out) {
  assert(out.size() == record.head_bytes());
  assert(coherent(record, record.groups.size()));
  FieldWriter head(out.size());
  head.text(kMagic);
  head.u8(static_cast<std::uint8_t>(record.kind));
  head.u8(static_cast<std::uint8_t>((record.address ? kHasAddress : 0) |
                                    (record.upload ? kHasUpload : 0)));
  head.u16(static_cast<std::uint16_t>(record.tenant.size()));
  head.u32(static_cast<std::uint32_t>(record.head_bytes()));
  head.u32(record.payload_bytes);
  head.u64(record.sequence);
  head.u64(record.durable_before);
  head.u64(record.origin);
  head.u64(record.killed);
  head.u64(record.length);
  head.u64(record.part);
  head.i64(record.expires_unix_s);
  head.u32(static_cast<std::uint32_t>(record.groups.size()));
  head.id(record.address.value_or(base::ObjectId()));
  head.ulid(record.upload.value_or(UploadId()));
  head.zeros(kFixedHeadBytes - head.view().size());
  head.text(record.tenant);
  for (const b3::ChainingValue& group : record.groups) head.value(group);
  const base::ByteView covered = base::as_bytes(head.view());
  std::ranges::copy(covered, out.begin());
  std::ranges::copy(checksum_of(covered, spot), out.begin() + std::ssize(covered));
}

bool may_be_record(base::ByteView bytes) noexcept {
  return base::as_text(bytes).starts_with(kMagic);
}

std::expected<Record, ParseFailure> parse_record(base::ByteView bytes, const Spot& spot) {
  const auto invalid = std::unexpected(ParseFailure::Invalid);
  if (bytes.size() < kFixedHeadBytes) return std::unexpected(ParseFailure::Incomplete);
  if (!may_be_record(bytes)) return invalid;
  FieldReader in(bytes.subspan(kMagic.size()));
  Record record;
  const std::uint8_t kind = in.u8();
  const std::uint8_t flags = in.u8();
  if (!known(kind) || (flags & ~kAllFlags) != 0) return invalid;
  record.kind = static_cast<RecordKind>(kind);
  const std::size_t tenant_bytes = in.u16();
  const std::size_t head_bytes = in.u32();
  record.payload_bytes = in.u32();
  record.sequence = in.u64();
  record.durable_before = in.u64();
  record.origin = in.u64();
  record.killed = in.u64();
  record.length = in.u64();
  record.part = in.u64();
  record.expires_unix_s = in.i64();
  const std::size_t groups = in.u32();
  const base::ObjectId address = in.id();
  const UploadId upload = in.ulid();
  if ((flags & kHasAddress) != 0) record.address = address;
  if ((flags & kHasUpload) != 0) record.upload = upload;
  // Before any length is used: the counts have to be those of this kind and payload.
  if (!in.ok() || tenant_bytes > kTenantBytes || !coherent(record, groups)) return invalid;
  const std::size_t covered = kFixedHeadBytes + tenant_bytes + groups * b3::ChainingValue::kBytes;
  if (head_bytes != covered + kChecksumBytes) return invalid;
  if (bytes.size() < head_bytes) return std::unexpected(ParseFailure::Incomplete);
  if (!std::ranges::equal(checksum_of(bytes.first(covered), spot),
                          bytes.subspan(covered, kChecksumBytes))) {
    return invalid;
  }
  FieldReader rest(bytes.subspan(kFixedHeadBytes));
  record.tenant = rest.text(tenant_bytes);
  record.groups.reserve(groups);
  for (std::size_t i = 0; i < groups; ++i) record.groups.push_back(rest.value());
  return record;
}

b3::ChainingValue part_value(const Record& part) noexcept { return b3::combine(part.groups); }

bool groups_match_address(const base::ObjectId& address, std::uint64_t length,
                          std::span<const b3::ChainingValue> groups) {
  if (length <= b3::kGroupBytes) return groups.empty();
  const base::Result<base::ObjectId> root = b3::root_of(length, b3::kGroupBytes, groups);
  return root && *root == address;
}

std::optional<std::uint64_t> first_bad_group(const Record& record, base::ByteView payload) {
  if (payload.size() != record.payload_bytes) return 0;
  if (record.kind == RecordKind::Object) {
    if (!groups_match_address(*record.address, record.length, record.groups)) return 0;
    if (record.groups.empty()) {
      if (b3::hash(payload) != *record.address) return 0;
      return std::nullopt;
    }
  }
  const std::uint64_t first = first_group(record);
  for (std::size_t i = 0; i < record.groups.size(); ++i) {
    const auto at = static_cast<std::size_t>(b3::group_offset(i));
    const base::ByteView group = payload.subspan(at, b3::group_length(payload.size(), i));
    if (b3::subtree(group, (first + i) * b3::kGroupChunks) != record.groups[i]) return first + i;
  }
  return std::nullopt;
}

}  // namespace ron::volume
