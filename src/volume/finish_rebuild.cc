// The second half of a rebuild: the newest record of every key is known; what it comes to is not.
#include <optional>
#include <utility>

#include "volume/recovery.h"

namespace ron::volume {
namespace {

using base::Result;
using platform::KeyValuePair;
using platform::Task;

template <class Entry>
Task<Result<std::optional<Entry>>> fetch(platform::KeyValue* index, std::string key) {
  auto value = co_await index->get(std::move(key));
  if (!value) co_return base::fail(std::move(value.error()));
  if (!*value) co_return std::nullopt;
  auto entry = parse_entry<Entry>(**value);
  if (!entry) co_return base::fail(damaged_index("an entry does not parse"));
  co_return entry;
}

void count_live(Ledger& ledger, const Place& place) {
  ledger.segments[place.segment].live_bytes += place.stored_bytes();
}

void count(Usage& usage, const ObjectEntry& object) {
  usage.bytes += object.length;
  ++usage.objects;
}

// The tenant of its own record holds it, unless something newer is recorded of that.
Task<Result<bool>> tally_object(platform::KeyValue* index, KeyValuePair pair, Ledger* ledger) {
  const auto id = parse_object_key(pair.first);
  const auto entry = parse_entry<ObjectEntry>(pair.second);
  if (!id || !entry) co_return base::fail(damaged_index("an object"));
  count_live(*ledger, entry->place);
  if (!entry->present()) co_return true;
  count(ledger->total, *entry);
  auto hold = co_await fetch<HoldEntry>(index, hold_key(*id, entry->tenant));
  if (!hold) co_return base::fail(std::move(hold.error()));
  const bool spoken_for = *hold && counts(*entry, **hold);
  if (!spoken_for) count(ledger->usage[entry->tenant], *entry);
  co_return true;
}

// What was recorded of an object that had the address before does not count.
Task<Result<bool>> tally_hold(platform::KeyValue* index, KeyValuePair pair, Ledger* ledger) {
  const auto key = parse_hold_key(pair.first);
  const auto hold = parse_entry<HoldEntry>(pair.second);
  if (!key || !hold) co_return base::fail(damaged_index("a hold"));
  auto object = co_await fetch<ObjectEntry>(index, object_key(key->id));
  if (!object) co_return base::fail(std::move(object.error()));
  if (!*object || !counts(**object, *hold)) co_return false;
  count_live(*ledger, hold->place);
  if (hold->state == HoldEntry::State::Held) count(ledger->usage[key->tenant], **object);
  co_return true;
}

Task<Result<bool>> tally_hold_mark(platform::KeyValue* index, KeyValuePair pair, Ledger*) {
  const auto id = parse_hold_mark_key(pair.first);
  if (!id) co_return base::fail(damaged_index("a mark of holds"));
  auto object = co_await fetch<ObjectEntry>(index, object_key(*id));
  if (!object) co_return base::fail(std::move(object.error()));
  co_return *object && (*object)->present();
}

Task<Result<bool>> tally_upload(platform::KeyValue* index, KeyValuePair pair, Ledger* ledger) {
  const auto entry = parse_entry<UploadEntry>(pair.second);
  if (!entry) co_return base::fail(damaged_index("an upload"));
  if (entry->state == UploadEntry::State::Open) ++ledger->meta.open_uploads;
  std::optional<ObjectEntry> object;
  if (entry->address) {
    auto found = co_await fetch<ObjectEntry>(index, object_key(*entry->address));
    if (!found) co_return base::fail(std::move(found.error()));
    object = std::move(*found);
  }
  const bool counted = object && object->place == entry->place;
  if (!counted) count_live(*ledger, entry->place);
  co_return true;
}

// A part counts as long as its upload is open or is an object.
Task<Result<bool>> tally_part(platform::KeyValue* index, KeyValuePair pair, Ledger* ledger) {
  const auto key = parse_part_key(pair.first);
  const auto part = parse_entry<PartEntry>(pair.second);
  if (!key || !part) co_return base::fail(damaged_index("a part"));
  auto upload = co_await fetch<UploadEntry>(index, upload_key(key->upload));
  if (!upload) co_return base::fail(std::move(upload.error()));
  const bool counts = *upload && (*upload)->state != UploadEntry::State::Ended;
  if (counts) count_live(*ledger, part->place);
  co_return counts;
}

using Visit = Task<Result<bool>> (*)(platform::KeyValue*, KeyValuePair, Ledger*);

// Calls for every pair under the prefix; those for which it says no are erased.
Task<Result<void>> for_each(platform::KeyValue* index, std::string_view prefix, Visit call,
                            Ledger* ledger) {
  std::string from(prefix);
  const std::string until = end_of(prefix);
  for (;;) {
    auto page = co_await index->scan(from, until, kScanPairs);
    if (!page) co_return base::fail(std::move(page.error()));
    platform::KeyValueBatch erased;
    for (const KeyValuePair& pair : *page) {
      auto keep = co_await call(index, pair, ledger);
      if (!keep) co_return base::fail(std::move(keep.error()));
      if (!*keep) erased.erase(pair.first);
    }
    const bool last = page->size() < kScanPairs;
    if (!page->empty()) from = page->back().first + '\0';
    if (!erased.empty()) {
      auto written = co_await index->write(std::move(erased));
      if (!written) co_return written;
    }
    if (last) co_return Result<void>();
  }
}

}  // namespace

Task<Result<void>> finish_rebuild(platform::KeyValue* index, Ledger* ledger) {
  auto objects = co_await for_each(index, kObjectKeys, &tally_object, ledger);
  if (!objects) co_return objects;
  auto holds = co_await for_each(index, kHoldKeys, &tally_hold, ledger);
  if (!holds) co_return holds;
  auto marks = co_await for_each(index, kHoldMarkKeys, &tally_hold_mark, ledger);
  if (!marks) co_return marks;
  auto uploads = co_await for_each(index, kUploadKeys, &tally_upload, ledger);
  if (!uploads) co_return uploads;
  auto parts = co_await for_each(index, kPartKeys, &tally_part, ledger);
  if (!parts) co_return parts;
  platform::KeyValueBatch sums;
  for (const auto& [number, entry] : ledger->segments) {
    sums.put(segment_key(number), encode(entry));
  }
  for (const auto& [tenant, usage] : ledger->usage) sums.put(usage_key(tenant), encode(usage));
  sums.put(total_key(), encode(ledger->total));
  ledger->meta.complete = true;
  sums.put(meta_key(), encode(ledger->meta));
  auto written = co_await index->write(std::move(sums));
  if (!written) co_return written;
  auto flushed = co_await index->flush();
  co_return flushed;
}

}  // namespace ron::volume
