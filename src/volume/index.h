// The index: entries over platform::KeyValue, and how a record changes them.
//
// Whatever changes the index does it through a Draft: the writer for a batch, replay for the tail
// of the log, a rebuild for all of it. So there is one place that knows what a record means.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "platform/key_value.h"
#include "platform/task.h"
#include "volume/entry.h"
#include "volume/holds.h"
#include "volume/record.h"

namespace ron::volume {

// What the whole log comes to: a copy in memory of the entries of segments, tenants, quarantine and
// position. Bounded by what is stored: an element per segment, tenant and damaged object.
struct Ledger {
  std::map<std::uint64_t, SegmentEntry> segments;
  Usage total;                                      // every object once, however many hold it
  std::map<std::string, Usage, std::less<>> usage;  // what each tenant holds
  std::unordered_map<base::ObjectId, QuarantineEntry, base::ObjectIdHash> quarantine;
  MetaEntry meta;
};

// Reads the ledger's entries. IntegrityFail when one is damaged. Cancel-safe.
platform::Task<base::Result<Ledger>> load_ledger(platform::KeyValue* index);

// How many pairs a scan of the index asks for at a time.
inline constexpr std::size_t kScanPairs = 512;

base::Error damaged_index(std::string_view what);

// Changes to the index that happen together, on top of what it holds. Looks like the index with the
// changes made; nothing is written before somebody writes batch(). One task at a time; the index
// and the ledger outlive it and are not changed by anyone else meanwhile.
class Draft {
 public:
  // Collect: keeps the newest record of every key and leaves sums and parts to finish_rebuild(), so
  // that records may come in any order.
  enum class Mode : std::uint8_t { Apply, Collect };

  Draft(platform::KeyValue* index, const Ledger* ledger, Mode mode = Mode::Apply)
      : index_(index), ledger_(ledger), mode_(mode), meta_(ledger->meta) {}
  Draft(Draft&&) = default;
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  platform::Task<base::Result<std::optional<ObjectEntry>>> object(base::ObjectId id);
  platform::Task<base::Result<std::optional<UploadEntry>>> upload(UploadId id);
  platform::Task<base::Result<std::optional<PartEntry>>> part(UploadId id, std::uint64_t part);
  // All parts of the upload, by number.
  using Parts = std::map<std::uint64_t, PartEntry>;
  platform::Task<base::Result<Parts>> parts(UploadId id);
  platform::Task<base::Result<std::optional<HoldEntry>>> hold(base::ObjectId id,
                                                              std::string tenant);
  // All that is recorded of the object's holds.
  platform::Task<base::Result<Holds>> holds(base::ObjectId id);
  [[nodiscard]] bool quarantined(const base::ObjectId& id) const;

  // The record stands at `place`: what it says holds from now on, unless something newer does.
  // After an error the draft is worth nothing.
  platform::Task<base::Result<void>> apply(const Record* record, Place place);
  // True if an entry refers to the record at `place`.
  platform::Task<base::Result<bool>> refers(const Record* record, Place place);

  void set_quarantine(const base::ObjectId& id, QuarantineEntry entry);
  // Removes what refers to a tombstone that nobody needs any more.
  platform::Task<base::Result<void>> forget(const Record* record, Place place);
  // Bytes of the segment that entries refer to.
  [[nodiscard]] std::uint64_t live_bytes(std::uint64_t segment) const;
  void drop_segment(std::uint64_t segment);
  // The log has been applied up to here.
  void set_position(std::uint64_t segment, std::uint64_t offset);

  [[nodiscard]] const MetaEntry& meta() const noexcept { return meta_; }
  [[nodiscard]] std::uint64_t take_sequence() noexcept { return meta_.next_sequence++; }
  [[nodiscard]] bool empty() const noexcept;
  // The changes for the index, sums included. To be asked once: what was looked up goes with them.
  [[nodiscard]] platform::KeyValueBatch take_batch();
  // The same changes, for the ledger.
  void commit(Ledger& ledger) const;

 private:
  struct Slot {
    std::optional<std::string> value;
    bool changed = false;
  };
  struct SegmentChange {
    std::uint64_t end = 0;  // 0: as it was
    std::int64_t live = 0;
    bool dropped = false;
  };
  struct UsageChange {
    std::int64_t bytes = 0;
    std::int64_t objects = 0;
  };

  platform::Task<base::Result<std::optional<std::string>>> lookup(std::string key);
  // Every pair under the prefix, as changed.
  platform::Task<base::Result<std::vector<platform::KeyValuePair>>> scan(std::string prefix);
  template <class Entry>
  platform::Task<base::Result<std::optional<Entry>>> find(std::string key);
  void put(std::string key, std::string value);
  void erase(std::string key);

  platform::Task<base::Result<void>> apply_part(const Record* record, Place place);
  platform::Task<base::Result<void>> apply_hold(const Record* record, Place place);
  // The object's record says something new: what was recorded of its holds before is dead.
  platform::Task<base::Result<void>> replace_holders(base::ObjectId id,
                                                     std::optional<ObjectEntry> before,
                                                     ObjectEntry after);
  platform::Task<base::Result<void>> release(std::optional<ObjectEntry> object,
                                             std::optional<UploadEntry> upload, Place instead);
  platform::Task<base::Result<void>> erase_parts(UploadId id);
  void count_total(const ObjectEntry& entry, std::int64_t sign);
  void count_held(const std::string& tenant, const ObjectEntry& entry, std::int64_t sign);
  void count_live(const Place& place, std::int64_t sign);
  [[nodiscard]] SegmentEntry changed_segment(std::uint64_t segment,
                                             const SegmentChange& change) const;
  [[nodiscard]] Usage changed_usage(const std::string& tenant, const UsageChange& change) const;
  [[nodiscard]] Usage changed_total() const;

  platform::KeyValue* index_;
  const Ledger* ledger_;
  Mode mode_;
  MetaEntry meta_;
  bool moved_ = false;  // the position changed
  std::map<std::string, Slot, std::less<>> slots_;
  std::map<std::uint64_t, SegmentChange> segments_;
  UsageChange total_;
  std::map<std::string, UsageChange, std::less<>> usage_;
  std::map<base::ObjectId, std::optional<QuarantineEntry>> quarantine_;  // nothing: lifted
};

// The parts of the upload are all there and come to the object. Cancel-safe.
platform::Task<base::Result<bool>> composes(Draft* look, base::ObjectId id, std::uint64_t length,
                                            UploadId upload);

}  // namespace ron::volume
