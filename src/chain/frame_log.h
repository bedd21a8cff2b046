// FrameLog: an append-only log of numbered frames in checksummed segment files. See README.md for
// the files and their rules.
//
// One task at a time opens, appends, repairs and closes, and another one of the same executor may
// drop beside it; reads come from any executor meanwhile, and first() and next() from any thread.
// Memory: the offsets of the segment that is written to and of RecentTables::kTables others, four
// bytes for each frame, and what a call reads or writes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "chain/frame.h"
#include "chain/segment_table.h"
#include "chain/segment_walk.h"
#include "platform/disk.h"
#include "platform/random.h"
#include "platform/task.h"
#include "runtime/lock.h"
#include "runtime/permit.h"
#include "volume/claim.h"

namespace ron::chain {

// What one append may come to on the medium.
inline constexpr std::uint64_t kMaxBatchBytes = 16 * base::kMiB;
static_assert(kMaxBatchBytes >= kMaxStoredFrameBytes);
static_assert(kMaxSegmentBytes + kMaxBatchBytes <= UINT32_MAX);

struct FrameLogOptions {
  platform::Disk* disk = nullptr;                 // outlives the log
  platform::Random* random = nullptr;             // used when the log is made
  const runtime::LockDecl* lock = nullptr;        // the owner's declaration: of what readers share
  std::string directory;                          // made if it is not there; its parent is
  std::uint64_t segment_bytes = 64 * base::kMiB;  // a new one is begun beyond this
  // Called with what was found at the end of the log and taken out of it; must not wait.
  std::function<void(std::string_view text)> on_trouble;
};

// A place where a log is damaged.
struct FrameDamage {
  std::uint64_t first = 0;   // the first frame that is there or behind it
  std::uint64_t frames = 0;  // how many cannot be read; none if only a segment's head is damaged
  std::string file;
  std::uint64_t offset = 0;
  std::string what;
};

struct LogInspection {
  std::uint64_t first = 0;  // as FrameLog has them
  std::uint64_t next = 0;
  std::uint64_t frames = 0;      // that are sound
  std::uint64_t damaged = 0;     // how often damage was reported
  std::uint64_t torn_bytes = 0;  // of a last batch that was never acknowledged
};

class FrameLog {
 public:
  explicit FrameLog(FrameLogOptions options);

  // Opens or makes the directory, claims it, finds where the log ends and makes that last; writing
  // goes on in a new segment. Visits every frame numbered `from` or higher in order; only the
  // segments that hold them are read, and the last. PreconditionFailed when another process has the
  // directory; IntegrityFail when a frame that may have been acknowledged is damaged: then nothing
  // was changed. An error of `visit` ends it. Once. Cancel-safe in that a log whose open failed or
  // was aborted can only be destroyed.
  platform::Task<base::Result<void>> open(std::uint64_t from, FrameVisitor visit);

  // Frames first() .. next() - 1 exist. Any thread.
  [[nodiscard]] std::uint64_t first() const noexcept {
    return first_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t next() const noexcept {
    return next_.load(std::memory_order_acquire);
  }

  // Adds frames numbered next(), next() + 1, …, which are durable when it returns: one write and
  // one sync for all of them. Malformed, and nothing has happened, when a frame is larger than
  // kMaxFrameBytes or all of them than kMaxBatchBytes. After any other error none of them counts,
  // and the log takes no more until repair() has succeeded; the same holds for an aborted call. If
  // the process ends before that, they may count or not. Cancel-safe in that sense.
  platform::Task<base::Result<void>> append(std::vector<std::string> frames);
  [[nodiscard]] bool needs_repair() const noexcept { return in_doubt_; }
  // After a failure: makes the log end, durably, where it was last synced, so that what failed
  // stays undone. Fine if nothing has failed. Cancel-safe: it can be done again.
  platform::Task<base::Result<void>> repair();

  // Frames [first, first + count), or fewer, but at least one: those before the end of the log, and
  // of at most `max_bytes` on the medium, and before one that is damaged. IntegrityFail when frame
  // `first` is; NotFound when it is not one of first() .. next() - 1. Any executor. Cancel-safe.
  platform::Task<base::Result<std::vector<std::string>>> read(std::uint64_t first,
                                                              std::size_t count,
                                                              std::size_t max_bytes);
  // Removes whole segments all of whose frames are below `number`, oldest first, never the one that
  // is written to; the new first(). After an error it can be tried again. One task at a time.
  // Cancel-safe in that sense.
  platform::Task<base::Result<std::uint64_t>> drop_below(std::uint64_t number);

  // Repairs if that is due, puts the end of the log on record and gives the directory back. Nothing
  // can be read or written then. Cancel-safe: it can be done again.
  platform::Task<base::Result<void>> close();

  // Reads all of a log that no process uses, without changing it: visits what is sound in order and
  // reports the rest. PreconditionFailed while a process has it; NotFound if there is none; an
  // error of `visit`. Cancel-safe.
  static platform::Task<base::Result<LogInspection>> inspect(
      platform::Disk* disk, std::string directory, FrameVisitor visit,
      std::function<void(const FrameDamage&)> on_damage);

 private:
  platform::Task<base::Result<void>> find_identity();
  platform::Task<base::Result<void>> recover(std::uint64_t from, const FrameVisitor* visit);
  platform::Task<base::Result<void>> accept_end(const OpenSegment* segment, std::uint64_t from,
                                                const FrameVisitor* visit);
  platform::Task<base::Result<void>> cut_off(const OpenSegment* segment, std::uint64_t end);
  platform::Task<base::Result<void>> begin_segment(std::uint64_t first, LogEnd closes);
  platform::Task<base::Result<void>> write(std::vector<std::string> frames, std::uint64_t bytes);
  platform::Task<base::Result<void>> write_ahead(std::uint64_t end);
  platform::Task<base::Result<FrameRun>> find_run(std::uint64_t number, std::size_t count,
                                                  std::size_t max_bytes);
  platform::Task<base::Result<TablePtr>> load_table(std::uint64_t segment, std::uint64_t until);
  [[nodiscard]] std::string path_of(std::uint64_t segment) const;

  const FrameLogOptions options_;
  const std::string folder_;  // of the segments
  LogIdentity identity_{};
  volume::Claim claim_;
  std::atomic<std::uint64_t> first_ = 0;
  std::atomic<std::uint64_t> next_ = 0;
  LogEnd closes_;                  // what the head of the current segment says
  std::uint64_t ahead_ = 0;        // up to where it was written, zeros included
  bool in_doubt_ = true;           // bytes of unknown state may lie behind the end of the log
  runtime::Semaphore loading_{1};  // one table is read at a time

  mutable runtime::Lock lock_;           // of what is below; only the writer changes the first two
  std::vector<std::uint64_t> segments_;  // the first frames of all, ascending
  SegmentTable current_;                 // the last of them: what is written to
  RecentTables tables_;
};

}  // namespace ron::chain
