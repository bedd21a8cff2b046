// Ring: file reads, writes and syncs of one Loop through io_uring.
//
// Loop thread only. Operations queued in one turn go to the kernel in one call at its end;
// completions come through an eventfd in the loop's epoll set. An operation owns its buffer and a
// share of its file until the kernel is done with it, whatever has become of the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <liburing.h>
#include <sys/uio.h>

#include "base/buffer.h"
#include "base/units.h"
#include "platform/completion.h"
#include "platform/posix/descriptor.h"
#include "platform/posix/loop.h"

namespace ron::platform::posix {

struct FileDone {
  int error = 0;
  std::vector<base::Buffer> pieces;  // of a read: cut to what was there
};

struct FileOp {
  enum class Kind : std::uint8_t { Read, Write, Sync };
  Kind kind = Kind::Read;
  bool direct = false;
  std::shared_ptr<const Descriptor> file;
  std::uint64_t offset = 0;
  std::vector<base::Buffer> pieces;  // one for a read, none for a sync
  std::size_t bytes = 0;             // of all pieces
  std::size_t moved = 0;
  std::vector<iovec> spans;  // what the kernel was last asked for
  std::shared_ptr<Completion<FileDone>> completion = std::make_shared<Completion<FileDone>>();

  // Takes the outcome of one kernel call (bytes, or a negated errno); true when there is nothing
  // left to do and `error` is the result.
  bool advance(std::int64_t outcome, int& error) noexcept;
  [[nodiscard]] std::size_t left() const noexcept { return bytes - moved; }
  void set_pieces(std::vector<base::Buffer> those);
  // Where the next kernel call reads or writes; at least one, as long as something is left.
  std::span<const iovec> next_spans() noexcept;

  // A large write goes to the kernel in steps of kStepBytes, and each step starts on its way to the
  // medium while the next is copied: the sync that follows finds little left to do. Nobody waits
  // for that, and what fails there is reported by the sync.
  static constexpr std::size_t kStepBytes = 2 * base::kMiB;
  [[nodiscard]] bool in_steps() const noexcept { return kind == Kind::Write && !direct; }
};

class Ring final : private IoSource, private Job {
 public:
  // More operations than this in flight are refused.
  static constexpr unsigned kInFlight = 1024;

  // Null when the kernel does not let us have one.
  static std::unique_ptr<Ring> create(Loop& loop);
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  // Waits for what is in flight. The loop must not be running.
  ~Ring();

  // False, leaving the operation untouched, when too many are in flight.
  bool start(std::unique_ptr<FileOp>& op);

 private:
  explicit Ring(Loop& loop) noexcept;
  int open() noexcept;
  bool prepare(FileOp& op) noexcept;
  io_uring_sqe* next_entry() noexcept;  // null when the queue is full
  // Of the `bytes` of `op` that were written last.
  void start_writeback(const FileOp& op, unsigned bytes) noexcept;
  void flush() noexcept;
  void reap() noexcept;
  void completed(FileOp* op, int outcome) noexcept;
  static void on_events(IoSource& source, std::uint32_t events) noexcept;
  static void on_turn(Job& job) noexcept;

  Loop& loop_;
  io_uring ring_{};
  bool opened_ = false;
  Descriptor event_;
  unsigned in_flight_ = 0;
};

}  // namespace ron::platform::posix
