// Recovery: brings a data directory to the state its log says: makes a new one, replays the tail of
// the log after a start, makes the index anew from all segments.
//
// Where the log ends. A segment that a later one closes ends where that says, and everything up to
// there was synced. In the last one, records that end at or below some record's durable_before were
// synced too; behind them lies at most one batch that somebody may have been told about, of which
// the records that check are taken (see tail.h). What is not taken is copied to the folder
// `quarantine` and then cut off or blanked, and what is taken is written again, synced and closed
// by the next segment: so every later start agrees.
//
// What the medium does not give is passed over and reported: a start must not fail because of one
// sector. A segment that cannot even be opened is set aside; should the index not know it, look-ups
// say that they may miss something, and the next start that can open it makes the index anew.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "platform/task.h"
#include "volume/index.h"
#include "volume/segment.h"
#include "volume/state.h"
#include "volume/tail.h"

namespace ron::volume {

// One task at a time, and never together with a batch of the writer. The state outlives it.
class Recovery {
 public:
  explicit Recovery(VolumeState* state) : state_(state) {}

  // Opens or makes the directory. Replays the tail, or reports the index as damaged and leaves the
  // rest to rebuild(). Not cancel-safe: start again from open().
  platform::Task<base::Result<void>> open();
  // Makes the index anew and puts it in place of the old one, while nothing is being written; the
  // caller says when it counts. Not cancel-safe: start again.
  platform::Task<base::Result<void>> rebuild();

  // Applies a volume that no process uses to `index` as a rebuild would, but writes nothing else,
  // and takes what follows the end of the log for part of it: the caller checks every payload.
  // PreconditionFailed while the volume is in use. Cancel-safe in that it changes nothing.
  platform::Task<base::Result<void>> inspect(platform::KeyValue* index, Ledger* ledger);

  // Where the log ends, after any of them.
  [[nodiscard]] LogPosition log_end() const noexcept { return end_; }
  [[nodiscard]] std::uint64_t next_segment() const noexcept { return next_segment_; }

 private:
  // A segment and where its records end, if a later segment says so.
  struct Surveyed {
    SegmentPtr segment;
    std::uint64_t size = 0;
    std::optional<std::uint64_t> end;
    // Behind what counts, or may.
    [[nodiscard]] std::uint64_t limit() const noexcept {
      return std::min(size, end.value_or(size));
    }
  };
  using Survey = std::vector<Surveyed>;
  // What records are applied to, and how.
  struct Target {
    platform::KeyValue* index;
    Ledger* ledger;
    Draft::Mode mode;
  };

  platform::Task<base::Result<void>> find_identity();
  platform::Task<base::Result<void>> read_identity(std::shared_ptr<platform::File> file);
  platform::Task<base::Result<void>> create_identity();
  platform::Task<base::Result<Survey>> survey();
  platform::Task<base::Result<Surveyed>> open_segment(std::uint64_t number);
  platform::Task<base::Result<base::Buffer>> read_head(std::shared_ptr<platform::File> file);
  platform::Task<base::Result<void>> remove_void(Survey* survey);

  [[nodiscard]] static bool ahead_of_log(const Survey& survey, const Ledger& ledger);
  platform::Task<base::Result<void>> open_index(const Survey* survey);
  platform::Task<base::Result<std::vector<std::uint64_t>>> generations();
  platform::Task<base::Result<IndexPtr>> make_index(std::uint64_t generation);
  platform::Task<void> destroy_index(std::uint64_t generation);
  static platform::Task<base::Result<void>> forget_removed(const Survey* survey,
                                                           platform::KeyValue* index,
                                                           Ledger* ledger);

  // Applies every record behind `from`; `end_` is where the log ends then.
  platform::Task<base::Result<void>> apply_log(const Survey* survey, LogPosition from,
                                               Target target);
  platform::Task<base::Result<std::uint64_t>> apply_segment(Surveyed surveyed, std::uint64_t begin,
                                                            Target target);
  platform::Task<base::Result<void>> apply_records(const std::vector<FoundRecord>* records,
                                                   std::uint64_t end, Target target);
  platform::Task<base::Result<std::uint64_t>> apply_tail(SegmentScanner* scanner,
                                                         std::vector<FoundRecord> records,
                                                         Surveyed surveyed, std::uint64_t begin,
                                                         Target target);
  platform::Task<base::Result<void>> draft_tail(Draft* draft, Tail* tail, std::uint64_t begin);
  platform::Task<base::Result<void>> withhold_rotten(Draft* draft, const Tail* tail);
  // Copies what does not count to files; false if that was not possible.
  platform::Task<bool> quarantine_rest(Surveyed surveyed, const Tail* tail, std::uint64_t begin);
  void report_unreadable(std::uint64_t segment, std::uint64_t bytes);
  platform::Task<base::Result<void>> cut_off(const Surveyed* surveyed, std::uint64_t end);

  VolumeState* state_;
  LogPosition end_;
  std::uint64_t next_segment_ = 1;
  bool inspecting_ = false;
};

// Removes parts and holds nobody needs from an index made in Collect mode, and adds everything up.
platform::Task<base::Result<void>> finish_rebuild(platform::KeyValue* index, Ledger* ledger);

}  // namespace ron::volume
