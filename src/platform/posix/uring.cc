#include "platform/posix/uring.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include <sys/eventfd.h>

namespace ron::platform::posix {
namespace {

constexpr unsigned kEntries = 256;
constexpr unsigned kReapAtOnce = 64;
constexpr std::size_t kBytesPerCall = std::size_t{1} << 30;
constexpr std::size_t kSector = 512;

}  // namespace

bool FileOp::advance(std::int64_t outcome, int& error) noexcept {
  error = 0;
  if (outcome == -EINTR || outcome == -EAGAIN) return false;
  if (outcome < 0) {
    error = static_cast<int>(-outcome);
    return true;
  }
  if (kind == Kind::Sync) return true;
  moved += static_cast<std::size_t>(outcome);
  if (left() == 0) return true;
  if (kind == Kind::Write) {
    if (outcome == 0) error = EIO;  // no progress and no reason given
    return outcome == 0;
  }
  // Nothing more is the end of the file. A direct read that stopped inside a sector is there too,
  // and asking again at an odd place would fail.
  const bool odd = direct && (offset + moved) % kSector != 0;
  if (outcome != 0 && !odd) return false;
  pieces.front().resize(moved);
  return true;
}

void FileOp::set_pieces(std::vector<base::Buffer> those) {
  pieces = std::move(those);
  bytes = 0;
  for (const base::Buffer& piece : pieces) bytes += piece.size();
  spans.reserve(std::min<std::size_t>(pieces.size(), IOV_MAX));
}

std::span<const iovec> FileOp::next_spans() noexcept {
  spans.clear();
  std::size_t skip = moved;
  std::size_t room = in_steps() ? kStepBytes : kBytesPerCall;
  for (base::Buffer& piece : pieces) {
    if (room == 0 || spans.size() == IOV_MAX) break;
    const std::size_t skipped = std::min(skip, piece.size());
    const std::size_t length = std::min(piece.size() - skipped, room);
    skip -= skipped;
    room -= length;
    if (length != 0) spans.push_back({piece.data() + skipped, length});
  }
  return spans;
}

Ring::Ring(Loop& loop) noexcept
    : IoSource(&Ring::on_events),
      Job(&Ring::on_turn),
      loop_(loop),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

std::unique_ptr<Ring> Ring::create(Loop& loop) {
  std::unique_ptr<Ring> ring(new Ring(loop));
  return ring->open() == 0 ? std::move(ring) : nullptr;
}

int Ring::open() noexcept {
  if (!event_.valid()) return errno;
  const int made = io_uring_queue_init(kEntries, &ring_, 0);
  if (made != 0) return -made;
  opened_ = true;
  const int registered = io_uring_register_eventfd(&ring_, event_.get());
  return registered != 0 ? -registered : loop_.add(event_.get(), *this);
}

Ring::~Ring() {
  if (!opened_) return;
  loop_.unpost(*this);
  while (in_flight_ > 0) {
    const int submitted = io_uring_submit_and_wait(&ring_, 1);
    if (submitted < 0 && submitted != -EINTR && submitted != -EAGAIN && submitted != -EBUSY) break;
    reap();
  }
  loop_.unpost(*this);
  io_uring_queue_exit(&ring_);
}

bool Ring::start(std::unique_ptr<FileOp>& op) {
  if (in_flight_ == kInFlight || !prepare(*op)) return false;
  ++in_flight_;
  op.release();  // NOLINT: the ring has it until completed()
  loop_.post(*this);
  return true;
}

io_uring_sqe* Ring::next_entry() noexcept {
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
  if (entry != nullptr) return entry;
  flush();
  return io_uring_get_sqe(&ring_);
}

// Before the next step of the operation is queued, which keeps the file open until both are with
// the kernel.
void Ring::start_writeback(const FileOp& op, unsigned bytes) noexcept {
  io_uring_sqe* const entry = next_entry();
  if (entry == nullptr) return;
  io_uring_prep_sync_file_range(entry, op.file->get(), bytes, op.offset + op.moved - bytes,
                                SYNC_FILE_RANGE_WRITE);
  io_uring_sqe_set_data(entry, nullptr);
}

bool Ring::prepare(FileOp& op) noexcept {
  io_uring_sqe* const entry = next_entry();
  if (entry == nullptr) return false;
  const int fd = op.file->get();
  const std::span<const iovec> spans = op.next_spans();
  const auto count = static_cast<unsigned>(spans.size());
  switch (op.kind) {
    case FileOp::Kind::Read:
      io_uring_prep_readv(entry, fd, spans.data(), count, op.offset + op.moved);
      break;
    case FileOp::Kind::Write:
      io_uring_prep_writev(entry, fd, spans.data(), count, op.offset + op.moved);
      break;
    case FileOp::Kind::Sync:
      io_uring_prep_fsync(entry, fd, IORING_FSYNC_DATASYNC);
      break;
  }
  io_uring_sqe_set_data(entry, &op);
  return true;
}

// What the kernel does not take now stays in the queue and is offered again next turn.
void Ring::flush() noexcept {
  const int submitted = io_uring_submit(&ring_);
  if (submitted < 0 || io_uring_sq_ready(&ring_) != 0) loop_.post(*this);
}

void Ring::reap() noexcept {
  std::array<io_uring_cqe*, kReapAtOnce> ready{};
  std::array<std::pair<FileOp*, int>, kReapAtOnce> outcomes;  // NOLINT: filled below
  for (;;) {
    const unsigned count = io_uring_peek_batch_cqe(&ring_, ready.data(), kReapAtOnce);
    if (count == 0) return;
    for (unsigned i = 0; i < count; ++i) {
      outcomes[i] = {static_cast<FileOp*>(io_uring_cqe_get_data(ready[i])), ready[i]->res};
    }
    io_uring_cq_advance(&ring_, count);
    for (unsigned i = 0; i < count; ++i) completed(outcomes[i].first, outcomes[i].second);
  }
}

void Ring::completed(FileOp* op, int outcome) noexcept {
  if (op == nullptr) return;  // writeback was started
  std::unique_ptr<FileOp> owned(op);
  int error = 0;
  if (!owned->advance(outcome, error)) {
    if (owned->in_steps() && outcome > 0) start_writeback(*owned, static_cast<unsigned>(outcome));
    if (prepare(*owned)) {
      owned.release();  // NOLINT: in flight again
      loop_.post(*this);
      return;
    }
    error = EBUSY;
  }
  --in_flight_;
  owned->completion->finish({error, std::move(owned->pieces)});
}

void Ring::on_events(IoSource& source, std::uint32_t) noexcept {
  static_cast<Ring&>(source).reap();
}

void Ring::on_turn(Job& job) noexcept { static_cast<Ring&>(job).flush(); }

}  // namespace ron::platform::posix
