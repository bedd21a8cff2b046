#include "volume/entry.h"

#include <cassert>

#include "volume/codec.h"

namespace ron::volume {
namespace {

constexpr std::uint8_t kVersion = 1;

void big_endian(FieldWriter& out, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out.u8(static_cast<std::uint8_t>(value >> shift));
}
std::uint64_t big_endian(FieldReader& in) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | in.u8();
  return value;
}

std::string number_key(std::string_view prefix, std::uint64_t number) {
  FieldWriter out;
  out.text(prefix);
  big_endian(out, number);
  return std::move(out).take();
}

std::string id_key(std::string_view prefix, const base::ObjectId& id) {
  FieldWriter out;
  out.text(prefix);
  out.id(id);
  return std::move(out).take();
}

void put(FieldWriter& out, const Place& place) {
  out.u64(place.segment);
  out.u64(place.offset);
  out.u32(place.head_bytes);
  out.u32(place.payload_bytes);
}
void get(FieldReader& in, Place& place) {
  place.segment = in.u64();
  place.offset = in.u64();
  place.head_bytes = in.u32();
  place.payload_bytes = in.u32();
}

void put_tenant(FieldWriter& out, std::string_view tenant) {
  assert(tenant.size() <= kTenantBytes);
  out.u8(static_cast<std::uint8_t>(tenant.size()));
  out.text(tenant);
}
bool get_tenant(FieldReader& in, std::string& tenant) {
  const std::size_t length = in.u8();
  tenant = in.text(length);
  return length <= kTenantBytes;
}

bool sound(const Place& place) noexcept {
  return place.head_bytes >= kFixedHeadBytes + kChecksumBytes &&
         place.head_bytes <= kMaxHeadBytes && place.payload_bytes <= kMaxPayloadBytes &&
         place.offset <= UINT64_MAX - place.stored_bytes();
}

// The text after the kind, if the key is of that kind.
std::optional<FieldReader> body(std::string_view key, std::string_view kind) {
  if (!key.starts_with(kind)) return std::nullopt;
  return FieldReader(key.substr(kind.size()));
}

}  // namespace

std::string object_key(const base::ObjectId& id) { return id_key(kObjectKeys, id); }
std::string quarantine_key(const base::ObjectId& id) { return id_key(kQuarantineKeys, id); }
std::string upload_key(const UploadId& id) { return std::string(kUploadKeys).append(id.text()); }
std::string parts_prefix(const UploadId& id) { return std::string(kPartKeys).append(id.text()); }
std::string part_key(const UploadId& id, std::uint64_t part) {
  return number_key(parts_prefix(id), part);
}
std::string segment_key(std::uint64_t segment) { return number_key(kSegmentKeys, segment); }
std::string usage_key(std::string_view tenant) { return std::string(kUsageKeys).append(tenant); }
std::string meta_key() { return "m"; }

std::string end_of(std::string_view prefix) {
  assert(!prefix.empty() && static_cast<unsigned char>(prefix.back()) < 0xFF);
  std::string end(prefix);
  end.back() = static_cast<char>(end.back() + 1);
  return end;
}

std::optional<base::ObjectId> parse_object_key(std::string_view key) {
  auto in = body(key, key.starts_with(kQuarantineKeys) ? kQuarantineKeys : kObjectKeys);
  if (!in) return std::nullopt;
  const base::ObjectId id = in->id();
  return in->complete() ? std::optional(id) : std::nullopt;
}

std::optional<UploadId> parse_upload_key(std::string_view key) {
  auto in = body(key, kUploadKeys);
  if (!in) return std::nullopt;
  const UploadId id = in->ulid();
  return in->complete() ? std::optional(id) : std::nullopt;
}

std::optional<PartKey> parse_part_key(std::string_view key) {
  auto in = body(key, kPartKeys);
  if (!in) return std::nullopt;
  PartKey parsed;
  parsed.upload = in->ulid();
  parsed.part = big_endian(*in);
  return in->complete() ? std::optional(parsed) : std::nullopt;
}

std::optional<std::uint64_t> parse_segment_key(std::string_view key) {
  auto in = body(key, kSegmentKeys);
  if (!in) return std::nullopt;
  const std::uint64_t segment = big_endian(*in);
  return in->complete() ? std::optional(segment) : std::nullopt;
}

std::string encode(const ObjectEntry& entry) {
  FieldWriter out;
  out.u8(kVersion);
  out.u8(static_cast<std::uint8_t>(entry.state));
  out.u64(entry.sequence);
  put(out, entry.place);
  out.u64(entry.length);
  out.u64(entry.origin);
  out.u64(entry.killed);
  out.u8(entry.upload ? 1 : 0);
  if (entry.upload) out.ulid(*entry.upload);
  put_tenant(out, entry.tenant);
  return std::move(out).take();
}

template <>
std::optional<ObjectEntry> parse_entry<ObjectEntry>(std::string_view value) {
  FieldReader in(value);
  ObjectEntry entry;
  if (in.u8() != kVersion) return std::nullopt;
  const std::uint8_t state = in.u8();
  if (state < 1 || state > 3) return std::nullopt;
  entry.state = static_cast<ObjectEntry::State>(state);
  entry.sequence = in.u64();
  get(in, entry.place);
  entry.length = in.u64();
  entry.origin = in.u64();
  entry.killed = in.u64();
  if (in.flag()) entry.upload = in.ulid();
  if (!get_tenant(in, entry.tenant) || !in.complete() || !sound(entry.place)) return std::nullopt;
  if (entry.state == ObjectEntry::State::Stored && entry.length != entry.place.payload_bytes) {
    return std::nullopt;
  }
  if (entry.state == ObjectEntry::State::Composed && !entry.upload) return std::nullopt;
  return entry;
}

std::string encode(const UploadEntry& entry) {
  FieldWriter out;
  out.u8(kVersion);
  out.u8(static_cast<std::uint8_t>(entry.state));
  out.u64(entry.sequence);
  put(out, entry.place);
  out.u64(entry.length);
  out.u64(entry.origin);
  out.u64(entry.killed);
  out.i64(entry.expires_unix_s);
  out.u8(entry.address ? 1 : 0);
  if (entry.address) out.id(*entry.address);
  put_tenant(out, entry.tenant);
  return std::move(out).take();
}

template <>
std::optional<UploadEntry> parse_entry<UploadEntry>(std::string_view value) {
  FieldReader in(value);
  UploadEntry entry;
  if (in.u8() != kVersion) return std::nullopt;
  const std::uint8_t state = in.u8();
  if (state < 1 || state > 3) return std::nullopt;
  entry.state = static_cast<UploadEntry::State>(state);
  entry.sequence = in.u64();
  get(in, entry.place);
  entry.length = in.u64();
  entry.origin = in.u64();
  entry.killed = in.u64();
  entry.expires_unix_s = in.i64();
  if (in.flag()) entry.address = in.id();
  if (!get_tenant(in, entry.tenant) || !in.complete() || !sound(entry.place)) return std::nullopt;
  if (entry.state == UploadEntry::State::Committed && !entry.address) return std::nullopt;
  return entry;
}

std::string encode(const PartEntry& entry) {
  FieldWriter out;
  out.u8(kVersion);
  out.u64(entry.sequence);
  put(out, entry.place);
  out.value(entry.value);
  return std::move(out).take();
}

template <>
std::optional<PartEntry> parse_entry<PartEntry>(std::string_view value) {
  FieldReader in(value);
  PartEntry entry;
  if (in.u8() != kVersion) return std::nullopt;
  entry.sequence = in.u64();
  get(in, entry.place);
  entry.value = in.value();
  const bool sized = entry.place.payload_bytes > 0 && entry.place.payload_bytes <= kPartBytes;
  if (!in.complete() || !sound(entry.place) || !sized) return std::nullopt;
  return entry;
}

std::string encode(const SegmentEntry& entry) {
  FieldWriter out;
  out.u8(kVersion);
  out.u64(entry.bytes);
  out.u64(entry.live_bytes);
  return std::move(out).take();
}

template <>
std::optional<SegmentEntry> parse_entry<SegmentEntry>(std::string_view value) {
  FieldReader in(value);
  SegmentEntry entry;
  if (in.u8() != kVersion) return std::nullopt;
  entry.bytes = in.u64();
  entry.live_bytes = in.u64();
  if (!in.complete() || entry.live_bytes > entry.bytes) return std::nullopt;
  return entry;
}

std::string encode(const Usage& usage) {
  FieldWriter out;
  out.u8(kVersion);
  out.u64(usage.bytes);
  out.u64(usage.objects);
  return std::move(out).take();
}

template <>
std::optional<Usage> parse_entry<Usage>(std::string_view value) {
  FieldReader in(value);
  Usage usage;
  if (in.u8() != kVersion) return std::nullopt;
  usage.bytes = in.u64();
  usage.objects = in.u64();
  return in.complete() ? std::optional(usage) : std::nullopt;
}

std::string encode(const QuarantineEntry& entry) {
  FieldWriter out;
  out.u8(kVersion);
  out.u64(entry.group);
  out.i64(entry.found_unix_s);
  return std::move(out).take();
}

template <>
std::optional<QuarantineEntry> parse_entry<QuarantineEntry>(std::string_view value) {
  FieldReader in(value);
  QuarantineEntry entry;
  if (in.u8() != kVersion) return std::nullopt;
  entry.group = in.u64();
  entry.found_unix_s = in.i64();
  return in.complete() ? std::optional(entry) : std::nullopt;
}

std::string encode(const MetaEntry& entry) {
  FieldWriter out;
  out.u8(kVersion);
  out.u64(entry.segment);
  out.u64(entry.offset);
  out.u64(entry.next_sequence);
  out.u64(entry.open_uploads);
  out.u8(entry.complete ? 1 : 0);
  return std::move(out).take();
}

template <>
std::optional<MetaEntry> parse_entry<MetaEntry>(std::string_view value) {
  FieldReader in(value);
  MetaEntry entry;
  if (in.u8() != kVersion) return std::nullopt;
  entry.segment = in.u64();
  entry.offset = in.u64();
  entry.next_sequence = in.u64();
  entry.open_uploads = in.u64();
  entry.complete = in.flag();
  return in.complete() ? std::optional(entry) : std::nullopt;
}

}  // namespace ron::volume
