#include "volume/index.h"

#include <algorithm>
#include <utility>

#include "b3/tree.h"

namespace ron::volume {
namespace {

using base::Result;
using platform::KeyValuePair;
using platform::Task;

// The record at `place` replaces what the entry says.
template <class Entry>
bool newer(const std::optional<Entry>& entry, const Record& record, const Place& place) {
  if (!entry || record.sequence > entry->sequence) return true;
  return record.sequence == entry->sequence && place.segment > entry->place.segment;
}

template <class Entry>
std::uint64_t origin_of(const std::optional<Entry>& entry, const Record& record) {
  return entry ? std::min(entry->origin, record.origin) : record.origin;
}

ObjectEntry object_entry(const Record& record, const Place& place) {
  ObjectEntry entry;
  using State = ObjectEntry::State;
  entry.state = record.kind == RecordKind::Object      ? State::Stored
                : record.kind == RecordKind::Committed ? State::Composed
                                                       : State::Gone;
  entry.sequence = record.sequence;
  entry.place = place;
  entry.length = record.length;
  entry.origin = record.origin;
  entry.killed = record.killed;
  entry.upload = record.upload;
  entry.tenant = record.tenant;
  return entry;
}

UploadEntry upload_entry(const Record& record, const Place& place) {
  UploadEntry entry;
  using State = UploadEntry::State;
  entry.state = record.kind == RecordKind::UploadBegun ? State::Open
                : record.kind == RecordKind::Committed ? State::Committed
                                                       : State::Ended;
  entry.sequence = record.sequence;
  entry.place = place;
  entry.length = record.length;
  entry.origin = record.origin;
  entry.killed = record.killed;
  entry.expires_unix_s = record.expires_unix_s;
  entry.address = record.address;
  entry.tenant = record.tenant;
  return entry;
}

bool speaks_of_object(const Record& record) noexcept {
  return record.kind == RecordKind::Object || record.kind == RecordKind::Deleted ||
         record.kind == RecordKind::Committed;
}

bool speaks_of_hold(const Record& record) noexcept {
  return record.kind == RecordKind::HoldAdded || record.kind == RecordKind::HoldRemoved;
}

bool open(const std::optional<UploadEntry>& entry) noexcept {
  return entry && entry->state == UploadEntry::State::Open;
}

std::uint64_t moved_by(std::uint64_t value, std::int64_t change) noexcept {
  return value + static_cast<std::uint64_t>(change);
}
Usage moved_by(Usage usage, std::int64_t bytes, std::int64_t objects) noexcept {
  return {moved_by(usage.bytes, bytes), moved_by(usage.objects, objects)};
}

// Every pair under the prefix.
Task<Result<std::vector<KeyValuePair>>> scan_all(platform::KeyValue* index,
                                                 std::string_view prefix) {
  std::vector<KeyValuePair> all;
  std::string from(prefix);
  const std::string until = end_of(prefix);
  for (;;) {
    auto page = co_await index->scan(from, until, kScanPairs);
    if (!page) co_return base::fail(std::move(page.error()));
    const bool last = page->size() < kScanPairs;
    std::ranges::move(*page, std::back_inserter(all));
    if (last) co_return all;
    from = all.back().first + '\0';
  }
}

// Fills the map with all entries under the prefix.
template <class Map>
Task<Result<void>> load(platform::KeyValue* index, std::string_view prefix,
                        std::optional<typename Map::key_type> (*parse_key)(std::string_view),
                        Map* into) {
  auto pairs = co_await scan_all(index, prefix);
  if (!pairs) co_return base::fail(std::move(pairs.error()));
  for (const auto& [key, value] : *pairs) {
    auto name = parse_key(key);
    const auto entry = parse_entry<typename Map::mapped_type>(value);
    if (!name || !entry) {
      co_return base::fail(damaged_index("an entry under " + std::string(prefix)));
    }
    into->insert_or_assign(std::move(*name), *entry);
  }
  co_return Result<void>();
}

// What is stored in all, as long as every object has one holder: an index from before there could
// be more does not say.
std::optional<Usage> sum_of(const std::map<std::string, Usage, std::less<>>& usage) {
  Usage sum;
  for (const auto& [tenant, one] : usage) {
    sum.bytes += one.bytes;
    sum.objects += one.objects;
  }
  return sum;
}

}  // namespace

base::Error damaged_index(std::string_view what) {
  return {base::Code::IntegrityFail, "the index is damaged: " + std::string(what)};
}

Task<Result<Ledger>> load_ledger(platform::KeyValue* index) {
  Ledger ledger;
  auto meta = co_await index->get(meta_key());
  if (!meta) co_return base::fail(std::move(meta.error()));
  if (*meta) {
    const auto parsed = parse_entry<MetaEntry>(**meta);
    if (!parsed) co_return base::fail(damaged_index("its position"));
    ledger.meta = *parsed;
  }
  auto loaded = co_await load(index, kSegmentKeys, parse_segment_key, &ledger.segments);
  if (loaded) loaded = co_await load(index, kUsageKeys, parse_usage_key, &ledger.usage);
  if (loaded) loaded = co_await load(index, kQuarantineKeys, parse_object_key, &ledger.quarantine);
  if (!loaded) co_return base::fail(std::move(loaded.error()));
  auto total = co_await index->get(total_key());
  if (!total) co_return base::fail(std::move(total.error()));
  const auto parsed = *total ? parse_entry<Usage>(**total) : sum_of(ledger.usage);
  if (!parsed) co_return base::fail(damaged_index("its total"));
  ledger.total = *parsed;
  co_return ledger;
}

Task<Result<std::optional<std::string>>> Draft::lookup(std::string key) {
  const auto slot = slots_.find(key);
  if (slot != slots_.end()) co_return slot->second.value;
  std::string value;
  auto found = index_->try_get(key, value);
  if (!found) co_return base::fail(std::move(found.error()));
  std::optional<std::string> result;
  if (*found == platform::KeyValue::Found::Yes) result = std::move(value);
  if (*found == platform::KeyValue::Found::Unknown) {
    auto got = co_await index_->get(key);
    if (!got) co_return base::fail(std::move(got.error()));
    result = std::move(*got);
  }
  slots_[std::move(key)] = {result, false};
  co_return result;
}

template <class Entry>
Task<Result<std::optional<Entry>>> Draft::find(std::string key) {
  auto value = co_await lookup(std::move(key));
  if (!value) co_return base::fail(std::move(value.error()));
  if (!*value) co_return std::nullopt;
  auto entry = parse_entry<Entry>(**value);
  if (!entry) co_return base::fail(damaged_index("an entry does not parse"));
  co_return entry;
}

Task<Result<std::optional<ObjectEntry>>> Draft::object(base::ObjectId id) {
  return find<ObjectEntry>(object_key(id));
}
Task<Result<std::optional<UploadEntry>>> Draft::upload(UploadId id) {
  return find<UploadEntry>(upload_key(id));
}
Task<Result<std::optional<PartEntry>>> Draft::part(UploadId id, std::uint64_t part) {
  return find<PartEntry>(part_key(id, part));
}

Task<Result<std::vector<KeyValuePair>>> Draft::scan(std::string prefix) {
  auto stored = co_await scan_all(index_, prefix);
  if (!stored) co_return base::fail(std::move(stored.error()));
  for (auto& [key, value] : *stored) slots_.try_emplace(std::move(key), Slot{std::move(value)});
  std::vector<KeyValuePair> pairs;
  const std::string end = end_of(prefix);
  for (auto slot = slots_.lower_bound(prefix); slot != slots_.end(); ++slot) {
    if (slot->first >= end) break;
    if (slot->second.value) pairs.emplace_back(slot->first, *slot->second.value);
  }
  co_return pairs;
}

Task<Result<Draft::Parts>> Draft::parts(UploadId id) {
  auto pairs = co_await scan(parts_prefix(id));
  if (!pairs) co_return base::fail(std::move(pairs.error()));
  Parts parts;
  for (const auto& [name, value] : *pairs) {
    const auto key = parse_part_key(name);
    const auto entry = parse_entry<PartEntry>(value);
    if (!key || !entry) co_return base::fail(damaged_index("a part"));
    parts[key->part] = *entry;
  }
  co_return parts;
}

Task<Result<std::optional<HoldEntry>>> Draft::hold(base::ObjectId id, std::string tenant) {
  return find<HoldEntry>(hold_key(id, tenant));
}

Task<Result<Holds>> Draft::holds(base::ObjectId id) {
  auto marked = co_await lookup(hold_mark_key(id));
  if (!marked) co_return base::fail(std::move(marked.error()));
  if (!*marked) co_return Holds();
  auto pairs = co_await scan(holds_prefix(id));
  if (!pairs) co_return base::fail(std::move(pairs.error()));
  auto holds = parse_holds(*pairs);
  if (!holds) co_return base::fail(damaged_index("a hold"));
  co_return std::move(*holds);
}

bool Draft::quarantined(const base::ObjectId& id) const {
  const auto changed = quarantine_.find(id);
  if (changed != quarantine_.end()) return changed->second.has_value();
  return ledger_->quarantine.contains(id);
}

void Draft::put(std::string key, std::string value) {
  slots_[std::move(key)] = {std::move(value), true};
}
void Draft::erase(std::string key) { slots_[std::move(key)] = {std::nullopt, true}; }

void Draft::count_total(const ObjectEntry& entry, std::int64_t sign) {
  if (!entry.present()) return;
  total_.bytes += sign * static_cast<std::int64_t>(entry.length);
  total_.objects += sign;
}

void Draft::count_held(const std::string& tenant, const ObjectEntry& entry, std::int64_t sign) {
  UsageChange& change = usage_[tenant];
  change.bytes += sign * static_cast<std::int64_t>(entry.length);
  change.objects += sign;
}

void Draft::count_live(const Place& place, std::int64_t sign) {
  if (mode_ == Mode::Collect) return;
  segments_[place.segment].live += sign * static_cast<std::int64_t>(place.stored_bytes());
}

Task<Result<void>> Draft::apply(const Record* record, Place place) {
  meta_.next_sequence = std::max(meta_.next_sequence, record->sequence + 1);
  if (record->kind == RecordKind::Part) {
    auto applied = co_await apply_part(record, place);
    co_return applied;
  }
  if (speaks_of_hold(*record)) {
    auto applied = co_await apply_hold(record, place);
    co_return applied;
  }
  std::optional<ObjectEntry> old_object;
  std::optional<UploadEntry> old_upload;
  bool object_wins = false;
  bool upload_wins = false;
  if (speaks_of_object(*record)) {
    auto found = co_await object(*record->address);
    if (!found) co_return base::fail(std::move(found.error()));
    old_object = std::move(*found);
    object_wins = newer(old_object, *record, place);
  }
  if (record->upload) {
    auto found = co_await upload(*record->upload);
    if (!found) co_return base::fail(std::move(found.error()));
    old_upload = std::move(*found);
    upload_wins = newer(old_upload, *record, place);
  }
  if (object_wins) {
    ObjectEntry entry = object_entry(*record, place);
    entry.origin = origin_of(old_object, *record);
    put(object_key(*record->address), encode(entry));
    const bool fresh = !old_object || old_object->sequence != record->sequence;
    if (fresh && quarantined(*record->address)) quarantine_[*record->address] = std::nullopt;
    if (fresh) {
      auto replaced = co_await replace_holders(*record->address, old_object, std::move(entry));
      if (!replaced) co_return replaced;
    }
  }
  if (upload_wins) {
    UploadEntry entry = upload_entry(*record, place);
    entry.origin = origin_of(old_upload, *record);
    put(upload_key(*record->upload), encode(entry));
    if (mode_ == Mode::Apply) {
      meta_.open_uploads += open(entry) ? 1U : 0U;
      meta_.open_uploads -= open(old_upload) ? 1U : 0U;
    }
    if (entry.state == UploadEntry::State::Ended && mode_ == Mode::Apply) {
      auto erased = co_await erase_parts(*record->upload);
      if (!erased) co_return erased;
    }
  }
  if (!object_wins && !upload_wins) co_return Result<void>();
  count_live(place, 1);
  if (!object_wins) old_object.reset();
  if (!upload_wins) old_upload.reset();
  auto released = co_await release(std::move(old_object), std::move(old_upload), place);
  co_return released;
}

// The entries were replaced; the records they referred to are dead unless the other kind of entry
// still refers to them.
Task<Result<void>> Draft::release(std::optional<ObjectEntry> object,
                                  std::optional<UploadEntry> upload, Place instead) {
  if (mode_ == Mode::Collect) co_return Result<void>();
  if (object && upload && object->place == upload->place) upload.reset();
  if (object && object->place != instead) {
    std::optional<UploadEntry> other;
    if (object->upload) {
      auto found = co_await this->upload(*object->upload);
      if (!found) co_return base::fail(std::move(found.error()));
      other = std::move(*found);
    }
    if (!other || other->place != object->place) count_live(object->place, -1);
  }
  if (upload && upload->place != instead) {
    std::optional<ObjectEntry> other;
    if (upload->address) {
      auto found = co_await this->object(*upload->address);
      if (!found) co_return base::fail(std::move(found.error()));
      other = std::move(*found);
    }
    if (!other || other->place != upload->place) count_live(upload->place, -1);
  }
  co_return Result<void>();
}

Task<Result<void>> Draft::apply_part(const Record* record, Place place) {
  auto of = co_await upload(*record->upload);
  if (!of) co_return base::fail(std::move(of.error()));
  auto old = co_await part(*record->upload, record->part);
  if (!old) co_return base::fail(std::move(old.error()));
  if (!newer(*old, *record, place)) co_return Result<void>();
  const bool copied = *old && (*old)->sequence == record->sequence;
  if (mode_ == Mode::Apply && !copied && !open(*of)) co_return Result<void>();
  put(part_key(*record->upload, record->part),
      encode(PartEntry{record->sequence, place, part_value(*record)}));
  count_live(place, 1);
  if (*old) count_live((*old)->place, -1);
  co_return Result<void>();
}

Task<Result<void>> Draft::apply_hold(const Record* record, Place place) {
  const base::ObjectId id = *record->address;
  auto old = co_await hold(id, record->tenant);
  if (!old) co_return base::fail(std::move(old.error()));
  if (!newer(*old, *record, place)) co_return Result<void>();
  using State = HoldEntry::State;
  const HoldEntry entry{record->kind == RecordKind::HoldAdded ? State::Held : State::Released,
                        record->sequence, place, origin_of(*old, *record), record->killed};
  if (mode_ == Mode::Apply) {
    auto of = co_await object(id);
    if (!of) co_return base::fail(std::move(of.error()));
    if (!*of || !counts(**of, entry)) co_return Result<void>();
    const bool was_held = is_held(**of, record->tenant, *old);
    const bool now_held = entry.state == State::Held;
    if (was_held != now_held) count_held(record->tenant, **of, now_held ? 1 : -1);
  }
  put(hold_key(id, record->tenant), encode(entry));
  put(hold_mark_key(id), std::string());
  count_live(place, 1);
  if (*old) count_live((*old)->place, -1);
  co_return Result<void>();
}

Task<Result<void>> Draft::replace_holders(base::ObjectId id, std::optional<ObjectEntry> before,
                                          ObjectEntry after) {
  if (mode_ == Mode::Collect) co_return Result<void>();
  Holds holds;
  if (before && before->present()) {
    auto found = co_await this->holds(id);
    if (!found) co_return base::fail(std::move(found.error()));
    holds = std::move(*found);
    count_total(*before, -1);
    for (const std::string& tenant : holders(*before, holds)) count_held(tenant, *before, -1);
  }
  bool any_left = false;
  for (const auto& [tenant, hold] : holds) {
    any_left = any_left || counts(after, hold);
    if (counts(after, hold)) continue;
    count_live(hold.place, -1);
    erase(hold_key(id, tenant));
  }
  if (!holds.empty() && !any_left) erase(hold_mark_key(id));
  count_total(after, 1);
  for (const std::string& tenant : holders(after, holds)) count_held(tenant, after, 1);
  co_return Result<void>();
}

Task<Result<void>> Draft::erase_parts(UploadId id) {
  auto there = co_await parts(id);
  if (!there) co_return base::fail(std::move(there.error()));
  for (const auto& [number, entry] : *there) {
    count_live(entry.place, -1);
    erase(part_key(id, number));
  }
  co_return Result<void>();
}

Task<Result<bool>> Draft::refers(const Record* record, Place place) {
  if (record->kind == RecordKind::Part) {
    auto found = co_await part(*record->upload, record->part);
    if (!found) co_return base::fail(std::move(found.error()));
    co_return *found && (*found)->place == place;
  }
  if (speaks_of_hold(*record)) {
    auto found = co_await hold(*record->address, record->tenant);
    if (!found) co_return base::fail(std::move(found.error()));
    co_return *found && (*found)->place == place;
  }
  if (speaks_of_object(*record)) {
    auto found = co_await object(*record->address);
    if (!found) co_return base::fail(std::move(found.error()));
    if (*found && (*found)->place == place) co_return true;
  }
  if (record->upload) {
    auto found = co_await upload(*record->upload);
    if (!found) co_return base::fail(std::move(found.error()));
    if (*found && (*found)->place == place) co_return true;
  }
  co_return false;
}

Task<Result<void>> Draft::forget(const Record* record, Place place) {
  bool referred = false;
  if (speaks_of_hold(*record)) {
    auto found = co_await hold(*record->address, record->tenant);
    if (!found) co_return base::fail(std::move(found.error()));
    referred = *found && (*found)->place == place;
    if (referred) erase(hold_key(*record->address, record->tenant));
  }
  if (speaks_of_object(*record)) {
    auto found = co_await object(*record->address);
    if (!found) co_return base::fail(std::move(found.error()));
    if (*found && (*found)->place == place) {
      erase(object_key(*record->address));
      referred = true;
    }
  }
  if (record->upload) {
    auto found = co_await upload(*record->upload);
    if (!found) co_return base::fail(std::move(found.error()));
    if (*found && (*found)->place == place) {
      erase(upload_key(*record->upload));
      referred = true;
    }
  }
  if (referred) count_live(place, -1);
  co_return Result<void>();
}

void Draft::set_quarantine(const base::ObjectId& id, QuarantineEntry entry) {
  quarantine_[id] = entry;
}

std::uint64_t Draft::live_bytes(std::uint64_t segment) const {
  const auto change = segments_.find(segment);
  return changed_segment(segment, change != segments_.end() ? change->second : SegmentChange{})
      .live_bytes;
}

void Draft::drop_segment(std::uint64_t segment) { segments_[segment].dropped = true; }

void Draft::set_position(std::uint64_t segment, std::uint64_t offset) {
  meta_.segment = segment;
  meta_.offset = offset;
  moved_ = true;
  segments_[segment].end = offset;
}

bool Draft::empty() const noexcept {
  const auto changed = [](const auto& slot) { return slot.second.changed; };
  return !moved_ && segments_.empty() && quarantine_.empty() &&
         std::ranges::none_of(slots_, changed);
}

SegmentEntry Draft::changed_segment(std::uint64_t segment, const SegmentChange& change) const {
  SegmentEntry entry;
  const auto before = ledger_->segments.find(segment);
  if (before != ledger_->segments.end()) entry = before->second;
  if (change.end != 0) entry.bytes = change.end;
  entry.live_bytes = moved_by(entry.live_bytes, change.live);
  return entry;
}

Usage Draft::changed_usage(const std::string& tenant, const UsageChange& change) const {
  const auto before = ledger_->usage.find(tenant);
  return moved_by(before != ledger_->usage.end() ? before->second : Usage{}, change.bytes,
                  change.objects);
}

Usage Draft::changed_total() const {
  return moved_by(ledger_->total, total_.bytes, total_.objects);
}

platform::KeyValueBatch Draft::take_batch() {
  platform::KeyValueBatch batch;
  batch.changes.reserve(slots_.size() + segments_.size() + usage_.size() + quarantine_.size() + 2);
  while (!slots_.empty()) {
    auto slot = slots_.extract(slots_.begin());
    if (slot.mapped().changed)
      batch.changes.push_back({std::move(slot.key()), std::move(slot.mapped().value)});
  }
  for (const auto& [segment, change] : segments_) {
    if (change.dropped) {
      batch.erase(segment_key(segment));
    } else {
      batch.put(segment_key(segment), encode(changed_segment(segment, change)));
    }
  }
  for (const auto& [tenant, change] : usage_) {
    const Usage usage = changed_usage(tenant, change);
    if (usage.objects == 0) {
      batch.erase(usage_key(tenant));
    } else {
      batch.put(usage_key(tenant), encode(usage));
    }
  }
  for (const auto& [id, entry] : quarantine_) {
    if (entry) {
      batch.put(quarantine_key(id), encode(*entry));
    } else {
      batch.erase(quarantine_key(id));
    }
  }
  batch.put(total_key(), encode(changed_total()));
  batch.put(meta_key(), encode(meta_));
  return batch;
}

void Draft::commit(Ledger& ledger) const {
  for (const auto& [segment, change] : segments_) {
    if (change.dropped) {
      ledger.segments.erase(segment);
    } else {
      ledger.segments[segment] = changed_segment(segment, change);
    }
  }
  for (const auto& [tenant, change] : usage_) {
    const Usage usage = changed_usage(tenant, change);
    if (usage.objects == 0) {
      ledger.usage.erase(tenant);
    } else {
      ledger.usage[tenant] = usage;
    }
  }
  for (const auto& [id, entry] : quarantine_) {
    if (entry) {
      ledger.quarantine[id] = *entry;
    } else {
      ledger.quarantine.erase(id);
    }
  }
  ledger.total = changed_total();
  ledger.meta = meta_;
}

Task<Result<bool>> composes(Draft* look, base::ObjectId id, std::uint64_t length, UploadId upload) {
  auto composer = b3::RootComposer::create(length, kPartBytes);
  if (!composer) co_return false;
  auto parts = co_await look->parts(upload);
  if (!parts) co_return base::fail(std::move(parts.error()));
  std::uint64_t next = 0;
  for (const auto& [number, part] : *parts) {
    if (number != next++ || !composer->append(part.value)) co_return false;
  }
  const auto root = composer->finish();
  co_return root && *root == id;
}

}  // namespace ron::volume
