// Committer: the single writer. Takes what is queued, appends it to the log, synchronises once,
// updates the index, answers.
//
// A lone client pays one synchronisation and no waiting; while one is under way others queue and
// share the next. A batch waits for writes only while some have been announced.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "platform/task.h"
#include "runtime/mpsc.h"
#include "runtime/shutdown.h"
#include "volume/batch.h"
#include "volume/commands.h"
#include "volume/state.h"

namespace ron::volume {

// One run() at a time, on one executor. The state and the channel outlive it.
class Committer {
 public:
  Committer(VolumeState* state, runtime::Mpsc<Command>* commands)
      : state_(state), commands_(commands) {}
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // The log ends at `end`; the next segment is at least `next_segment`. Before run(), or while it
  // is paused. After a failure there may be more in the log than what counts.
  void start_at(LogPosition end, std::uint64_t next_segment, bool after_failure);
  // Until a stop is requested and nothing is queued; flushes the index at the end. An aborted or
  // failed run may be followed by another.
  platform::Task<void> run(runtime::Shutdown shutdown);

 private:
  using Commands = std::vector<Command>;

  platform::Task<std::optional<Command>> first_job(runtime::Shutdown shutdown);
  // Fills `commands`; the command that must run between batches, if one ended the gathering.
  platform::Task<std::optional<Command>> gather(Commands* commands);
  platform::Task<void> commit(Commands commands);
  platform::Task<base::Result<void>> plan_all(Commands* commands, Batch* batch);
  platform::Task<base::Result<void>> write(Batch* batch, bool large);
  platform::Task<base::Result<void>> write_log(Batch* batch, bool large);
  // Makes the changes visible: in the index first, then in the ledger.
  platform::Task<base::Result<void>> write_index(Draft* draft);
  platform::Task<std::vector<base::Buffer>> packed(std::vector<base::Buffer> pieces);
  platform::Task<base::Result<void>> open_segment();
  platform::Task<void> leave_segment();
  platform::Task<void> abandon_segment();
  // The file that was written to.
  std::shared_ptr<platform::File> forget_segment() noexcept;
  platform::Task<base::Result<void>> check_space(std::uint64_t needed);
  platform::Task<void> probe();
  platform::Task<base::Result<void>> close_log();
  base::Error note_failure(const base::Error& error);

  platform::Task<void> between(Command command);
  platform::Task<base::Result<bool>> link(LinkCommand* command);
  platform::Task<base::Result<bool>> drop(DropCommand* command);
  platform::Task<base::Result<void>> remove_void_bytes(SegmentPtr segment);
  platform::Task<base::Result<void>> unlink(std::uint64_t segment);
  platform::Task<base::Result<void>> flush_index();

  VolumeState* state_;
  runtime::Mpsc<Command>* commands_;
  std::vector<Command> deferred_;  // at most a batch of them, and first in the next

  // The segment written to; none when the next write begins one.
  std::shared_ptr<platform::File> file_;
  std::shared_ptr<platform::File> direct_;  // the same past the page cache, where that is possible
  bool page_is_full_ = false;               // the last batch was filled up with zeros to a page
  std::uint64_t segment_ = 0;
  std::uint64_t next_segment_ = 1;
  bool name_is_durable_ = false;
  LogPosition end_;  // of everything acknowledged; synced
  bool writing_ = false;
  bool indexing_ = false;              // the index may be ahead of the ledger and of the log
  bool must_close_ = false;            // what failed lies behind the end of the log
  std::uint64_t unflushed_bytes_ = 0;  // of log since the index was flushed
  std::uint64_t unflushed_records_ = 0;
  std::uint64_t free_bytes_ = 0;  // as measured, less what was written since
  platform::TimePoint free_checked_{};
};

}  // namespace ron::volume
