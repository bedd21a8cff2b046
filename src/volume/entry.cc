#include "volume/entry.h"

#include <cassert>
#include <type_traits>
#include <utility>

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

// Writes the fields it is shown.
class EntryWriter {
 public:
  template <class Entry>
  using Shown = const Entry&;

  EntryWriter() { out_.u8(kVersion); }
  template <class... Fields>
  void operator()(const Fields&... fields) {
    (field(fields), ...);
  }
  [[nodiscard]] std::string take() && noexcept { return std::move(out_).take(); }

 private:
  void field(std::uint32_t number) { out_.u32(number); }
  void field(std::uint64_t number) { out_.u64(number); }
  void field(std::int64_t number) { out_.i64(number); }
  void field(bool flag) { out_.u8(flag ? 1 : 0); }
  void field(const b3::ChainingValue& value) { out_.value(value); }
  void field(const base::ObjectId& id) { out_.id(id); }
  void field(const UploadId& id) { out_.ulid(id); }
  void field(const std::string& tenant) {
    assert(tenant.size() <= kTenantBytes);
    out_.u8(static_cast<std::uint8_t>(tenant.size()));
    out_.text(tenant);
  }
  template <class Value>
  void field(const std::optional<Value>& value) {
    field(value.has_value());
    if (value) field(*value);
  }
  template <class State>
    requires std::is_enum_v<State>
  void field(State state) {
    out_.u8(static_cast<std::uint8_t>(state));
  }
  void field(const Place& place);

  FieldWriter out_;
};

// Reads the fields it is shown. Nothing read is to be believed before complete() is asked.
class EntryReader {
 public:
  template <class Entry>
  using Shown = Entry&;

  explicit EntryReader(std::string_view value) : in_(value) { ok_ = in_.u8() == kVersion; }
  template <class... Fields>
  void operator()(Fields&... fields) {
    (field(fields), ...);
  }
  [[nodiscard]] bool complete() const noexcept { return ok_ && in_.complete(); }

 private:
  void field(std::uint32_t& number) { number = in_.u32(); }
  void field(std::uint64_t& number) { number = in_.u64(); }
  void field(std::int64_t& number) { number = in_.i64(); }
  void field(bool& flag) { flag = in_.flag(); }
  void field(b3::ChainingValue& value) { value = in_.value(); }
  void field(base::ObjectId& id) { id = in_.id(); }
  void field(UploadId& id) { id = in_.ulid(); }
  void field(std::string& tenant) {
    const std::size_t length = in_.u8();
    ok_ = ok_ && length <= kTenantBytes;
    tenant = in_.text(length);
  }
  template <class Value>
  void field(std::optional<Value>& value) {
    if (in_.flag()) field(value.emplace());
  }
  template <class State>
    requires std::is_enum_v<State>
  void field(State& state) {
    const std::uint8_t number = in_.u8();
    ok_ = ok_ && number >= 1 && number <= 3;
    state = static_cast<State>(number);
  }
  void field(Place& place);

  FieldReader in_;
  bool ok_;
};

// The fields of each entry, in the order of their bytes: written and read by the same list.
template <class Visit>
void show(Visit& visit, typename Visit::template Shown<Place> place) {
  visit(place.segment, place.offset, place.head_bytes, place.payload_bytes);
}
template <class Visit>
void show(Visit& visit, typename Visit::template Shown<ObjectEntry> entry) {
  visit(entry.state, entry.sequence, entry.place, entry.length, entry.origin, entry.killed,
        entry.upload, entry.tenant);
}
template <class Visit>
void show(Visit& visit, typename Visit::template Shown<UploadEntry> entry) {
  visit(entry.state, entry.sequence, entry.place, entry.length, entry.origin, entry.killed,
        entry.expires_unix_s, entry.address, entry.tenant);
}
template <class Visit>
void show(Visit& visit, typename Visit::template Shown<PartEntry> entry) {
  visit(entry.sequence, entry.place, entry.value);
}
template <class Visit>
void show(Visit& visit, typename Visit::template Shown<HoldEntry> entry) {
  visit(entry.state, entry.sequence, entry.place, entry.origin, entry.killed);
}
template <class Visit>
void show(Visit& visit, typename Visit::template Shown<SegmentEntry> entry) {
  visit(entry.bytes, entry.live_bytes);
}
template <class Visit>
void show(Visit& visit, typename Visit::template Shown<Usage> usage) {
  visit(usage.bytes, usage.objects);
}
template <class Visit>
void show(Visit& visit, typename Visit::template Shown<QuarantineEntry> entry) {
  visit(entry.group, entry.found_unix_s);
}
template <class Visit>
void show(Visit& visit, typename Visit::template Shown<MetaEntry> entry) {
  visit(entry.segment, entry.offset, entry.next_sequence, entry.open_uploads, entry.complete);
}

void EntryWriter::field(const Place& place) { show(*this, place); }
void EntryReader::field(Place& place) { show(*this, place); }

// What the fields alone do not say: values that this code never writes.
bool sound(const Place& place) noexcept {
  return place.head_bytes >= kFixedHeadBytes + kChecksumBytes &&
         place.head_bytes <= kMaxHeadBytes && place.payload_bytes <= kMaxPayloadBytes &&
         place.offset <= UINT64_MAX - place.stored_bytes();
}
bool sound(const ObjectEntry& entry) noexcept {
  using State = ObjectEntry::State;
  if (entry.state == State::Stored && entry.length != entry.place.payload_bytes) return false;
  if (entry.state == State::Composed && !entry.upload) return false;
  return sound(entry.place);
}
bool sound(const UploadEntry& entry) noexcept {
  const bool committed = entry.state == UploadEntry::State::Committed;
  return sound(entry.place) && (!committed || entry.address);
}
bool sound(const PartEntry& entry) noexcept {
  const std::uint32_t bytes = entry.place.payload_bytes;
  return sound(entry.place) && bytes > 0 && bytes <= kPartBytes;
}
bool sound(const HoldEntry& entry) noexcept {
  return sound(entry.place) && entry.state <= HoldEntry::State::Released;
}
bool sound(const SegmentEntry& entry) noexcept { return entry.live_bytes <= entry.bytes; }
bool sound(const Usage&) noexcept { return true; }
bool sound(const QuarantineEntry&) noexcept { return true; }
bool sound(const MetaEntry&) noexcept { return true; }

template <class Entry>
std::string encode_entry(const Entry& entry) {
  EntryWriter out;
  show(out, entry);
  return std::move(out).take();
}

// The text after the kind, if the key is of that kind.
std::optional<FieldReader> body(std::string_view key, std::string_view kind) {
  if (!key.starts_with(kind)) return std::nullopt;
  return FieldReader(key.substr(kind.size()));
}

std::optional<base::ObjectId> parse_id_key(std::string_view key, std::string_view kind) {
  auto in = body(key, kind);
  if (!in) return std::nullopt;
  const base::ObjectId id = in->id();
  return in->complete() ? std::optional(id) : std::nullopt;
}

}  // namespace

std::string object_key(const base::ObjectId& id) { return id_key(kObjectKeys, id); }
std::string quarantine_key(const base::ObjectId& id) { return id_key(kQuarantineKeys, id); }
std::string upload_key(const UploadId& id) { return std::string(kUploadKeys).append(id.text()); }
std::string parts_prefix(const UploadId& id) { return std::string(kPartKeys).append(id.text()); }
std::string part_key(const UploadId& id, std::uint64_t part) {
  return number_key(parts_prefix(id), part);
}
std::string holds_prefix(const base::ObjectId& id) { return id_key(kHoldKeys, id); }
std::string hold_key(const base::ObjectId& id, std::string_view tenant) {
  return holds_prefix(id).append(tenant);
}
std::string hold_mark_key(const base::ObjectId& id) { return id_key(kHoldMarkKeys, id); }
std::string segment_key(std::uint64_t segment) { return number_key(kSegmentKeys, segment); }
std::string usage_key(std::string_view tenant) { return std::string(kUsageKeys).append(tenant); }
std::string meta_key() { return "m"; }
std::string total_key() { return "t"; }

std::string end_of(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xFF) end.pop_back();
  assert(!end.empty());
  end.back() = static_cast<char>(end.back() + 1);
  return end;
}

std::optional<base::ObjectId> parse_object_key(std::string_view key) {
  return parse_id_key(key, key.starts_with(kQuarantineKeys) ? kQuarantineKeys : kObjectKeys);
}
std::optional<base::ObjectId> parse_hold_mark_key(std::string_view key) {
  return parse_id_key(key, kHoldMarkKeys);
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

std::optional<HoldKey> parse_hold_key(std::string_view key) {
  const std::size_t names_from = kHoldKeys.size() + base::ObjectId::kBytes;
  if (key.size() < names_from || key.size() > names_from + kTenantBytes) return std::nullopt;
  const auto id = parse_id_key(key.substr(0, names_from), kHoldKeys);
  if (!id) return std::nullopt;
  return HoldKey{*id, std::string(key.substr(names_from))};
}

std::optional<std::uint64_t> parse_segment_key(std::string_view key) {
  auto in = body(key, kSegmentKeys);
  if (!in) return std::nullopt;
  const std::uint64_t segment = big_endian(*in);
  return in->complete() ? std::optional(segment) : std::nullopt;
}

std::optional<std::string> parse_usage_key(std::string_view key) {
  if (!key.starts_with(kUsageKeys)) return std::nullopt;
  return std::string(key.substr(kUsageKeys.size()));
}

std::string encode(const ObjectEntry& entry) { return encode_entry(entry); }
std::string encode(const UploadEntry& entry) { return encode_entry(entry); }
std::string encode(const PartEntry& entry) { return encode_entry(entry); }
std::string encode(const HoldEntry& entry) { return encode_entry(entry); }
std::string encode(const SegmentEntry& entry) { return encode_entry(entry); }
std::string encode(const Usage& usage) { return encode_entry(usage); }
std::string encode(const QuarantineEntry& entry) { return encode_entry(entry); }
std::string encode(const MetaEntry& entry) { return encode_entry(entry); }

template <class Entry>
std::optional<Entry> parse_entry(std::string_view value) {
  EntryReader in(value);
  std::optional<Entry> entry(std::in_place);
  show(in, *entry);
  if (!in.complete() || !sound(*entry)) entry.reset();
  return entry;
}

template std::optional<ObjectEntry> parse_entry(std::string_view value);
template std::optional<UploadEntry> parse_entry(std::string_view value);
template std::optional<PartEntry> parse_entry(std::string_view value);
template std::optional<HoldEntry> parse_entry(std::string_view value);
template std::optional<SegmentEntry> parse_entry(std::string_view value);
template std::optional<Usage> parse_entry(std::string_view value);
template std::optional<QuarantineEntry> parse_entry(std::string_view value);
template std::optional<MetaEntry> parse_entry(std::string_view value);

}  // namespace ron::volume
