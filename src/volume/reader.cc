#include "volume/reader.h"

#include <algorithm>
#include <atomic>
#include <ranges>
#include <utility>

#include "b3/hash.h"

namespace ron::volume {
namespace {

using base::Code;
using base::Result;
using platform::Task;

using Values = std::vector<b3::ChainingValue>;

constexpr std::uint64_t kGroupsPerPart = kPartBytes / b3::kGroupBytes;
// A read starts at the values in front of the payload when that costs at most this much more.
constexpr std::uint64_t kLeadBytes = 2 * b3::kGroupBytes;
// Compaction may move an object between two looks; it does not do so again and again.
constexpr int kLocateTries = 4;

base::Error damaged(const base::ObjectId& id) {
  return {Code::IntegrityFail, "stored bytes of " + id.text() + " do not match it"};
}

Values values_of(base::ByteView bytes) {
  Values values(bytes.size() / b3::ChainingValue::kBytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::ranges::copy(bytes.subspan(i * b3::ChainingValue::kBytes, b3::ChainingValue::kBytes),
                      values[i].bytes.begin());
  }
  return values;
}

// `length` is at least one.
auto cells_covering(std::uint64_t offset, std::uint64_t length) {
  return std::views::iota(offset / kCellBytes, (offset + length - 1) / kCellBytes + 1);
}

Piece piece_of(base::Buffer buffer, std::uint64_t offset, std::uint64_t length) {
  Piece piece;
  piece.buffer = std::move(buffer);
  piece.bytes = piece.buffer.view().subspan(static_cast<std::size_t>(offset),
                                            static_cast<std::size_t>(length));
  return piece;
}

}  // namespace

// What a handle keeps. The values of an object of several groups are remembered once they were
// composed to its address.
struct Reader::HandleState {
  base::ObjectId id;
  std::uint64_t length = 0;
  Place place;         // of the record the index refers to
  SegmentPtr segment;  // stored in one record
  PartTablePtr parts;  // composed of parts
  mutable std::atomic<const Values*> values = nullptr;

  HandleState() = default;
  HandleState(const HandleState&) = delete;
  HandleState& operator=(const HandleState&) = delete;
  ~HandleState() { delete values.load(std::memory_order_acquire); }

  void remember(Values verified) const {
    auto mine = std::make_unique<const Values>(std::move(verified));
    const Values* none = nullptr;
    if (values.compare_exchange_strong(none, mine.get(), std::memory_order_acq_rel)) {
      static_cast<void>(mine.release());
    }
  }
};

Task<Result<std::optional<std::string>>> Reader::lookup(std::string key) {
  const IndexPtr index = state_->index();
  if (!index) co_return base::fail(Code::Degraded, "the volume has no index yet");
  std::string value;
  auto found = index->try_get(key, value);
  Result<std::optional<std::string>> result;
  if (!found) {
    result = base::fail(std::move(found.error()));
  } else if (*found == platform::KeyValue::Found::Unknown) {
    result = co_await index->get(std::move(key));
  } else if (*found == platform::KeyValue::Found::Yes) {
    result = std::move(value);
  }
  if (!result && result.error().code == Code::IntegrityFail) {
    state_->report_damaged_index();
    co_return base::fail(Code::Degraded, "the volume's index is damaged and will be rebuilt");
  }
  if (!result) co_return base::fail(state_->for_client(result.error()));
  co_return result;
}

// Nothing when the object is not there.
Task<Result<std::optional<ObjectEntry>>> Reader::entry(base::ObjectId id) {
  auto value = co_await lookup(object_key(id));
  if (!value) co_return base::fail(std::move(value.error()));
  if (!*value) co_return std::nullopt;
  auto parsed = parse_entry<ObjectEntry>(**value);
  if (!parsed) {
    state_->report_damaged_index();
    co_return base::fail(Code::Degraded, "the volume's index is damaged and will be rebuilt");
  }
  if (!parsed->present()) co_return std::nullopt;
  co_return parsed;
}

Task<Result<ObjectHandle>> Reader::locate(base::ObjectId id) {
  if (state_->quarantined(id)) co_return base::fail(damaged(id));
  ObjectEntry last;
  for (int i = 0; i < kLocateTries; ++i) {
    auto found = co_await entry(id);
    if (!found) co_return base::fail(std::move(found.error()));
    if (!*found) {
      if (state_->recovering() || state_->incomplete()) {
        co_return base::fail(Code::Degraded, "the index is incomplete");
      }
      co_return base::fail(Code::NotFound, "no such object");
    }
    last = **found;
    auto placed = co_await place(id, std::move(**found));
    if (!placed) co_return base::fail(std::move(placed.error()));
    if (*placed) co_return std::move(**placed);
  }
  report_corrupt(id, 0, last.place);
  co_return base::fail(damaged(id));
}

Task<Result<std::optional<ObjectHandle>>> Reader::place(base::ObjectId id, ObjectEntry entry) {
  auto object = std::make_shared<HandleState>();
  object->id = id;
  object->length = entry.length;
  object->place = entry.place;
  if (entry.state == ObjectEntry::State::Stored) {
    // Nothing of it will ever be read, so nothing else would tell.
    if (entry.length == 0 && id != b3::hash({})) co_return std::nullopt;
    object->segment = state_->segment(entry.place.segment);
    if (object->segment == nullptr) co_return std::nullopt;
  } else {
    object->parts = tables_.find(id, entry.sequence);
    if (object->parts == nullptr) {
      auto table = co_await part_table(id, std::move(entry));
      if (!table) co_return base::fail(std::move(table.error()));
      if (*table == nullptr) co_return std::nullopt;
      tables_.add(id, *table);
      object->parts = std::move(*table);
    }
  }
  const std::uint64_t length = object->length;
  co_return ObjectHandle{id, length, std::move(object)};
}

Task<Result<PartTablePtr>> Reader::part_table(base::ObjectId id, ObjectEntry entry) {
  const IndexPtr index = state_->index();
  auto composer = b3::RootComposer::create(entry.length, kPartBytes);
  if (!index || !composer) co_return nullptr;
  auto table = std::make_shared<PartTable>();
  table->sequence = entry.sequence;
  std::string from = parts_prefix(*entry.upload);
  const std::string until = end_of(from);
  for (;;) {
    auto page = co_await index->scan(from, until, kScanPairs);
    if (!page) co_return base::fail(state_->for_client(page.error()));
    for (const auto& [key, value] : *page) {
      const auto number = parse_part_key(key);
      const auto part = parse_entry<PartEntry>(value);
      if (!number || !part || number->part != table->parts.size()) co_return nullptr;
      const std::uint64_t before = number->part * kPartBytes;
      const bool fits = before < entry.length &&
                        part->place.payload_bytes == std::min(kPartBytes, entry.length - before);
      if (!fits) co_return nullptr;
      auto slot = std::ranges::find(table->segments, part->place.segment,
                                    [](const SegmentPtr& s) { return s->number; });
      if (slot == table->segments.end()) {
        SegmentPtr segment = state_->segment(part->place.segment);
        if (segment == nullptr) co_return nullptr;
        slot = table->segments.insert(slot, std::move(segment));
      }
      table->parts.push_back({part->value, part->place.offset, part->place.head_bytes,
                              part->place.payload_bytes,
                              static_cast<std::uint32_t>(slot - table->segments.begin())});
      if (!composer->append(part->value)) co_return nullptr;
    }
    if (page->size() < kScanPairs) break;
    from = page->back().first + '\0';
  }
  const auto root = composer->finish();
  if (!root || *root != id) co_return nullptr;
  co_return table;
}

Task<Result<Piece>> Reader::read(ObjectHandle object, std::uint64_t offset, std::uint64_t length) {
  if (offset >= object.length || length == 0) {
    co_return base::fail(Code::RangeNotSatisfiable, "nothing to read there");
  }
  auto where = std::static_pointer_cast<const HandleState>(object.state);
  Extent extent;
  std::uint64_t from = offset;
  if (where->parts != nullptr) {
    const std::uint64_t number = offset / kPartBytes;
    const PartTable::Part& part = where->parts->parts[static_cast<std::size_t>(number)];
    extent = {where->parts->segments[part.segment],
              part.offset,
              part.head_bytes,
              part.payload_bytes,
              number * kGroupsPerPart,
              RecordKind::Part,
              part.value};
    from = offset % kPartBytes;
  } else {
    extent = {where->segment,
              where->place.offset,
              where->place.head_bytes,
              where->place.payload_bytes,
              0,
              RecordKind::Object,
              {}};
  }
  if (from >= extent.payload_bytes) co_return base::fail(damaged(where->id));
  const std::uint64_t most =
      std::min<std::uint64_t>({length, kPartBytes, extent.payload_bytes - from});
  if (was_hashed(*where, extent, from, most)) {
    auto piece = co_await read_again(where.get(), &extent, from, most);
    if (!piece) co_return base::fail(std::move(piece.error()));
    if (*piece) co_return std::move(**piece);
  }
  auto piece = co_await read_hashed(where.get(), &extent, from, most);
  co_return piece;
}

CellName Reader::cell_name(const HandleState& object, const Extent& extent, std::uint64_t cell) {
  const bool is_part = extent.kind == RecordKind::Part;
  return {.hash = is_part ? extent.value.bytes : object.id.digest(),
          .length = extent.payload_bytes,
          .cell = cell};
}

bool Reader::was_hashed(const HandleState& object, const Extent& extent, std::uint64_t offset,
                        std::uint64_t length) const {
  return std::ranges::all_of(cells_covering(offset, length), [&](std::uint64_t cell) {
    return proven_.knows(cell_name(object, extent, cell));
  });
}

Task<Result<std::optional<Piece>>> Reader::read_again(const HandleState* object,
                                                      const Extent* extent, std::uint64_t offset,
                                                      std::uint64_t length) {
  const auto cells = cells_covering(offset, length);
  const std::uint64_t first = cells.front() * kCellBytes;
  const std::uint64_t end =
      std::min<std::uint64_t>(extent->payload_bytes, (cells.back() + 1) * kCellBytes);
  auto bytes = co_await read_bytes(extent->segment, extent->offset + extent->head_bytes + first,
                                   static_cast<std::size_t>(end - first));
  if (!bytes) co_return base::fail(state_->for_client(bytes.error()));
  if (bytes->size() != end - first) co_return std::nullopt;
  base::ByteView left = bytes->view();
  for (const std::uint64_t cell : cells) {
    const base::ByteView part = left.first(std::min<std::size_t>(left.size(), kCellBytes));
    if (!proven_.proves(cell_name(*object, *extent, cell), part)) co_return std::nullopt;
    left = left.subspan(part.size());
  }
  co_return piece_of(std::move(*bytes), offset - first, length);
}

void Reader::add_proven(const HandleState& object, const Extent& extent, std::uint64_t offset,
                        base::ByteView groups) {
  for (std::uint64_t cell = offset / kCellBytes; !groups.empty(); ++cell) {
    const base::ByteView part = groups.first(std::min<std::size_t>(groups.size(), kCellBytes));
    proven_.add(cell_name(object, extent, cell), part);
    groups = groups.subspan(part.size());
  }
}

Task<Result<Piece>> Reader::read_hashed(const HandleState* object, const Extent* extent,
                                        std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t payload = extent->payload_bytes;
  const std::size_t stored = groups_stored(extent->kind, payload);
  const b3::GroupRange range = b3::groups_covering(payload, offset, length);
  const std::uint64_t first_byte = b3::group_offset(range.first);
  const std::uint64_t end_byte = std::min(payload, b3::group_offset(range.first + range.count));
  const std::uint64_t payload_at = extent->offset + extent->head_bytes;
  const std::uint64_t values_at = payload_at - kChecksumBytes - stored * b3::ChainingValue::kBytes;
  const Values* known = object->values.load(std::memory_order_acquire);
  const bool needs_values = stored != 0 && known == nullptr;
  const bool together = needs_values && first_byte <= kLeadBytes;
  Values values;
  std::uint64_t read_from = payload_at + first_byte;
  if (needs_values && !together) {
    auto bytes = co_await read_bytes(extent->segment, values_at, stored * 32);
    if (!bytes) co_return base::fail(state_->for_client(bytes.error()));
    values = values_of(bytes->view());
  }
  if (together) read_from = values_at;
  auto bytes = co_await read_bytes(extent->segment, read_from,
                                   static_cast<std::size_t>(payload_at + end_byte - read_from));
  if (!bytes) co_return base::fail(state_->for_client(bytes.error()));
  const bool whole = bytes->size() == payload_at + end_byte - read_from;
  if (together && whole) values = values_of(bytes->view().first(stored * 32));
  bool sound = whole;
  if (sound && needs_values) {
    sound = values.size() == stored &&
            (extent->kind == RecordKind::Part ? b3::combine(values) == extent->value
                                              : groups_match_address(object->id, payload, values));
  }
  std::uint64_t bad_group = extent->first_group + range.first;
  const auto lead = static_cast<std::size_t>(payload_at + first_byte - read_from);
  if (sound && stored == 0) sound = b3::hash(bytes->view()) == object->id;
  const Values& trusted = known != nullptr ? *known : values;
  for (std::uint64_t i = 0; sound && stored != 0 && i < range.count; ++i) {
    const std::uint64_t group = range.first + i;
    const base::ByteView part = bytes->view().subspan(
        lead + static_cast<std::size_t>(b3::group_offset(i)), b3::group_length(payload, group));
    bad_group = extent->first_group + group;
    sound =
        b3::subtree(part, bad_group * b3::kGroupChunks) == trusted[static_cast<std::size_t>(group)];
  }
  if (!sound) {
    report_corrupt(object->id, bad_group, object->place);
    co_return base::fail(damaged(object->id));
  }
  add_proven(*object, *extent, first_byte, bytes->view().subspan(lead));
  if (needs_values && extent->kind == RecordKind::Object) object->remember(std::move(values));
  co_return piece_of(std::move(*bytes), lead + (offset - first_byte), length);
}

void Reader::report_corrupt(const base::ObjectId& id, std::uint64_t group, const Place& place) {
  if (state_->on_corrupt) state_->on_corrupt(id, group);
  // A full queue loses it: whoever reads the object next, or the next scrub, finds it again.
  static_cast<void>(commands_->try_send(QuarantineCommand{id, group, place}));
}

Task<Result<std::uint64_t>> Reader::report_record(const Record* record, Place place,
                                                  std::uint64_t group) {
  std::optional<base::ObjectId> id = record->address;
  if (record->kind == RecordKind::Part) {
    auto value = co_await lookup(upload_key(*record->upload));
    if (!value) co_return base::fail(std::move(value.error()));
    std::optional<UploadEntry> upload;
    if (*value) upload = parse_entry<UploadEntry>(**value);
    id.reset();
    if (upload && upload->state == UploadEntry::State::Committed) id = upload->address;
  }
  if (!id) co_return 0;
  auto object = co_await entry(*id);
  if (!object) co_return base::fail(std::move(object.error()));
  const bool same = *object && (record->kind == RecordKind::Part || (*object)->place == place);
  if (!same || state_->quarantined(*id)) co_return 0;
  report_corrupt(*id, group, (*object)->place);
  co_return 1;
}

Task<Result<bool>> Reader::holds(base::ObjectId id, std::string tenant) {
  auto object = co_await entry(id);
  if (!object) co_return base::fail(std::move(object.error()));
  if (!*object) co_return false;
  auto value = co_await lookup(hold_key(id, tenant));
  if (!value) co_return base::fail(std::move(value.error()));
  std::optional<HoldEntry> hold;
  if (*value) hold = parse_entry<HoldEntry>(**value);
  co_return is_held(**object, tenant, hold);
}

// The object may be removed or stored anew while its holds are read: they are of some moment then.
Task<Result<Holders>> Reader::holders(base::ObjectId id, std::size_t most) {
  auto object = co_await entry(id);
  if (!object) co_return base::fail(std::move(object.error()));
  if (!*object) co_return base::fail(Code::NotFound, "no such object");
  const ObjectEntry& of = **object;
  auto own = co_await holds(id, of.tenant);
  if (!own) co_return base::fail(std::move(own.error()));
  Holders found;
  if (*own) found.tenants.push_back(of.tenant);
  const IndexPtr index = state_->index();
  auto mark = co_await lookup(hold_mark_key(id));
  if (!mark) co_return base::fail(std::move(mark.error()));
  std::string from = holds_prefix(id);
  const std::string until = end_of(from);
  while (*mark && index && found.tenants.size() <= most) {
    auto page = co_await index->scan(from, until, kScanPairs);
    if (!page) co_return base::fail(state_->for_client(page.error()));
    for (const auto& [key, value] : *page) {
      auto name = parse_hold_key(key);
      const auto hold = parse_entry<HoldEntry>(value);
      const bool other = name && hold && name->tenant != of.tenant;
      if (other && is_held(of, name->tenant, hold)) found.tenants.push_back(name->tenant);
    }
    if (page->size() < kScanPairs) break;
    from = page->back().first + '\0';
  }
  std::ranges::sort(found.tenants);
  found.more = found.tenants.size() > most;
  if (found.more) found.tenants.resize(most);
  co_return found;
}

Task<Result<UploadState>> Reader::find_upload(UploadId id) {
  auto value = co_await lookup(upload_key(id));
  if (!value) co_return base::fail(std::move(value.error()));
  std::optional<UploadEntry> entry;
  if (*value) entry = parse_entry<UploadEntry>(**value);
  const bool is_open = entry && entry->state == UploadEntry::State::Open;
  if (!entry || (!is_open && !entry->address)) {
    if (state_->recovering() || state_->incomplete()) {
      co_return base::fail(Code::Degraded, "the index is incomplete");
    }
    co_return base::fail(Code::NotFound, "no such upload");
  }
  UploadState found;
  found.upload = {id, entry->length, entry->address, entry->tenant, entry->expires_unix_s};
  if (!is_open) {
    found.committed = entry->address;
    co_return found;
  }
  const IndexPtr index = state_->index();
  std::string from = parts_prefix(id);
  const std::string until = end_of(from);
  for (;;) {
    auto page = co_await index->scan(from, until, kScanPairs);
    if (!page) co_return base::fail(state_->for_client(page.error()));
    for (const auto& [key, part] : *page) {
      const auto number = parse_part_key(key);
      if (!number) continue;
      if (!found.arrived.empty() && found.arrived.back().last + 1 == number->part) {
        found.arrived.back().last = number->part;
      } else {
        found.arrived.push_back({number->part, number->part});
      }
    }
    if (page->size() < kScanPairs) break;
    from = page->back().first + '\0';
  }
  // What ends an upload takes its parts away: they are told of only if it was open all the while.
  auto after = co_await lookup(upload_key(id));
  if (!after) co_return base::fail(std::move(after.error()));
  if (*after == *value) co_return found;
  auto again = co_await find_upload(id);
  co_return again;
}

Task<Result<std::vector<Volume::Listed>>> Reader::list(std::optional<base::ObjectId> after,
                                                       std::size_t limit) {
  std::vector<Volume::Listed> listed;
  const IndexPtr index = state_->index();
  if (!index || state_->recovering()) {
    co_return base::fail(Code::Degraded, "the index is incomplete");
  }
  std::string from = after ? object_key(*after) + '\0' : std::string(kObjectKeys);
  const std::string until = end_of(kObjectKeys);
  while (listed.size() < limit) {
    auto page = co_await index->scan(from, until, kScanPairs);
    if (!page) co_return base::fail(state_->for_client(page.error()));
    for (const auto& [key, value] : *page) {
      const auto id = parse_object_key(key);
      const auto entry = parse_entry<ObjectEntry>(value);
      if (id && entry && entry->present() && listed.size() < limit) {
        listed.push_back({*id, entry->length});
      }
    }
    if (page->size() < kScanPairs) break;
    from = page->back().first + '\0';
  }
  co_return listed;
}

}  // namespace ron::volume
