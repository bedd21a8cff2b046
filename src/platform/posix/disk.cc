#include "platform/posix/disk.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "platform/disk_error.h"
#include "platform/posix/names.h"

namespace ron::platform::posix {
namespace {

constexpr std::uint64_t kLargestOffset = INT64_MAX;
// One operation of a file each, bounded by its buffers. It is done whole, whoever asks to stop.
constexpr BlockingKind kFileTransfer{"file_transfer", std::chrono::seconds(30)};
// One or a few system calls about a name.
constexpr BlockingKind kFileName{"file_name", std::chrono::seconds(30)};

std::unexpected<base::Error> failed(std::string_view what, std::string_view path, int error) {
  return base::fail(disk_error(what, path, error));
}

bool uring_permitted() noexcept {
  io_uring probe{};
  if (io_uring_queue_init(2, &probe, 0) != 0) return false;
  io_uring_queue_exit(&probe);
  return true;
}

// Does all of the operation with plain system calls.
FileDone perform_blocking(FileOp& op) {
  int error = 0;
  for (;;) {
    const int fd = op.file->get();
    const auto at = static_cast<off_t>(op.offset + op.moved);
    const std::span<const iovec> spans = op.next_spans();
    const auto count = static_cast<int>(spans.size());
    std::int64_t outcome = 0;
    switch (op.kind) {
      case FileOp::Kind::Read:
        outcome = preadv(fd, spans.data(), count, at);
        break;
      case FileOp::Kind::Write:
        outcome = pwritev(fd, spans.data(), count, at);
        break;
      case FileOp::Kind::Sync:
        outcome = fdatasync(fd);
        break;
    }
    if (op.advance(outcome < 0 ? -errno : outcome, error)) break;
    if (op.in_steps() && outcome > 0) {
      static_cast<void>(sync_file_range(fd, at, outcome, SYNC_FILE_RANGE_WRITE));
    }
  }
  return {error, std::move(op.pieces)};
}

// Runs a call that returns an errno on the pool; a stuck pool is EAGAIN.
Task<int> on_pool(BlockingPool* pool, std::move_only_function<int()> call) {
  base::Result<int> done = co_await pool->run(kFileName, std::move(call));
  co_return done ? *done : EAGAIN;
}

base::Result<void> outcome_of(int error, std::string_view what, std::string_view path) {
  if (error != 0) return failed(what, path, error);
  return {};
}

}  // namespace

std::string_view name(DiskEngine engine) noexcept {
  return engine == DiskEngine::Uring ? "io_uring" : "blocking pool";
}

class PosixFile final : public File {
 public:
  PosixFile(PosixDisk& disk, Descriptor file, bool direct, std::string path)
      : disk_(disk),
        file_(std::make_shared<const Descriptor>(std::move(file))),
        direct_(direct),
        path_(std::move(path)) {}

  Task<base::Result<base::Buffer>> read_at(std::uint64_t offset, base::Buffer into) override {
    std::vector<base::Buffer> one;
    one.push_back(std::move(into));
    FileDone done = co_await disk_.perform(make(FileOp::Kind::Read, offset, std::move(one)));
    if (done.error != 0) co_return failed("cannot read", path_, done.error);
    co_return std::move(done.pieces.front());
  }

  std::optional<std::size_t> try_read_at(std::uint64_t offset,
                                         base::MutableBytes into) noexcept override {
    if (direct_ || into.size() > kLargestOffset || offset > kLargestOffset - into.size()) {
      return std::nullopt;
    }
    const iovec span{into.data(), into.size()};
    const ssize_t got = preadv2(file_->get(), &span, 1, static_cast<off_t>(offset), RWF_NOWAIT);
    if (got < 0) return std::nullopt;
    const auto bytes = static_cast<std::size_t>(got);
    if (bytes == into.size()) return bytes;
    // The rest is either not in memory or past the end, which only the size can tell.
    struct stat status{};
    const bool known = fstat(file_->get(), &status) == 0;
    if (!known || offset + bytes < static_cast<std::uint64_t>(status.st_size)) return std::nullopt;
    return bytes;
  }

  base::Result<std::size_t> read_blocking(std::uint64_t offset, base::MutableBytes into) override {
    std::size_t done = 0;
    while (done < into.size() && offset <= kLargestOffset - into.size()) {
      const ssize_t got = pread(file_->get(), into.data() + done, into.size() - done,
                                static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failed("cannot read", path_, errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Task<base::Result<std::vector<base::Buffer>>> write_gather(
      std::uint64_t offset, std::vector<base::Buffer> pieces) override {
    FileDone done = co_await disk_.perform(make(FileOp::Kind::Write, offset, std::move(pieces)));
    if (done.error != 0) co_return failed("cannot write", path_, done.error);
    co_return std::move(done.pieces);
  }

  Task<base::Result<void>> sync() override {
    const FileDone done = co_await disk_.perform(make(FileOp::Kind::Sync, 0, {}));
    co_return outcome_of(done.error, "cannot sync", path_);
  }

  // The kernel has the size of an open file in memory.
  Task<base::Result<std::uint64_t>> size() override {
    struct stat status{};
    if (fstat(file_->get(), &status) != 0) co_return failed("cannot stat", path_, errno);
    co_return static_cast<std::uint64_t>(status.st_size);
  }

  Task<base::Result<void>> truncate(std::uint64_t length) override {
    const int error = co_await on_pool(&disk_.pool_, [file = file_, length] {
      return ftruncate(file->get(), static_cast<off_t>(length)) == 0 ? 0 : errno;
    });
    co_return outcome_of(error, "cannot truncate", path_);
  }

  base::Result<bool> try_lock(FileLock lock) override {
    const int how = lock == FileLock::Shared ? LOCK_SH : LOCK_EX;
    if (flock(file_->get(), how | LOCK_NB) == 0) return true;
    if (errno == EWOULDBLOCK) return false;
    return failed("cannot lock", path_, errno);
  }

 private:
  std::unique_ptr<FileOp> make(FileOp::Kind kind, std::uint64_t offset,
                               std::vector<base::Buffer> pieces) const {
    auto op = std::make_unique<FileOp>();
    op->kind = kind;
    op->direct = direct_;
    op->file = file_;
    op->offset = offset;
    op->set_pieces(std::move(pieces));
    return op;
  }

  PosixDisk& disk_;
  std::shared_ptr<const Descriptor> file_;
  bool direct_;
  std::string path_;
};

PosixDisk::PosixDisk(BlockingPool& pool, DiskEngine wanted)
    : pool_(pool),
      engine_(wanted == DiskEngine::Uring && uring_permitted() ? DiskEngine::Uring
                                                               : DiskEngine::Pool) {
  static std::atomic<std::uint64_t> made{0};
  number_ = ++made;
}

PosixDisk::~PosixDisk() = default;

// The ring of the loop this runs on, made when it is first needed.
Ring* PosixDisk::current_ring() {
  struct Cache {
    std::uint64_t disk = 0;
    Loop* loop = nullptr;
    Ring* ring = nullptr;
  };
  static thread_local Cache cache;
  if (engine_ != DiskEngine::Uring) return nullptr;
  auto* const loop = static_cast<Loop*>(Executor::current());
  if (cache.disk == number_ && cache.loop == loop) return cache.ring;
  const std::lock_guard lock(mutex_);
  auto found = std::ranges::find(rings_, loop, &LoopRing::loop);
  if (found == rings_.end()) {
    rings_.push_back({loop, Ring::create(*loop)});
    found = rings_.end() - 1;
  }
  cache = {number_, loop, found->ring.get()};
  return cache.ring;
}

Task<FileDone> PosixDisk::perform(std::unique_ptr<FileOp> op) {
  // An empty read or write has nothing to ask of the kernel, and one past the largest offset must
  // not: io_uring takes -1 for "the current position".
  if (op->kind != FileOp::Kind::Sync && op->bytes == 0) {
    co_return FileDone{0, std::move(op->pieces)};
  }
  if (op->offset > kLargestOffset - op->bytes) {
    if (op->kind == FileOp::Kind::Write) co_return FileDone{EFBIG, {}};
    op->pieces.front().resize(0);
    co_return FileDone{0, std::move(op->pieces)};
  }
  if (Ring* const ring = current_ring(); ring != nullptr) {
    const std::shared_ptr<Completion<FileDone>> completion = op->completion;
    if (ring->start(op)) {
      FileDone done = co_await Completion<FileDone>::wait(completion);
      co_return done;
    }
  }
  // Without a ring, or with one that has all it may have in flight.
  base::Result<FileDone> done = co_await pool_.run(
      kFileTransfer, [work = std::move(op)]() mutable { return perform_blocking(*work); });
  co_return done ? std::move(*done) : FileDone{EAGAIN, {}};
}

Task<base::Result<std::unique_ptr<File>>> PosixDisk::open(std::string path, OpenOptions options) {
  // The pool's closure owns the descriptor until it is handed over, so an aborted open leaks none.
  struct Handed {
    int error = 0;
    bool direct = false;
    Descriptor file;
  };
  base::Result<std::shared_ptr<Handed>> opened = co_await pool_.run(kFileName, [path, options] {
    const names::Opened result = names::open(path, options);
    return std::shared_ptr<Handed>(new Handed{result.error, result.direct, Descriptor(result.fd)});
  });
  if (!opened) co_return failed("cannot open", path, EAGAIN);
  Handed& handed = **opened;
  if (handed.error != 0) co_return failed("cannot open", path, handed.error);
  co_return std::make_unique<PosixFile>(*this, std::move(handed.file), handed.direct, path);
}

Task<base::Result<void>> PosixDisk::make_directory(std::string path) {
  const int error = co_await on_pool(&pool_, [path] { return names::make_directory(path); });
  co_return outcome_of(error, "cannot make directory", path);
}

Task<base::Result<std::vector<DirectoryEntry>>> PosixDisk::list(std::string path) {
  auto entries = std::make_shared<std::vector<DirectoryEntry>>();
  const int error =
      co_await on_pool(&pool_, [path, entries] { return names::list(path, *entries); });
  if (error != 0) co_return failed("cannot list", path, error);
  co_return std::move(*entries);
}

Task<base::Result<FileVersion>> PosixDisk::version(std::string path) {
  auto version = std::make_shared<FileVersion>();
  const int error =
      co_await on_pool(&pool_, [path, version] { return names::version(path, *version); });
  if (error != 0) co_return failed("cannot look at", path, error);
  co_return *version;
}

Task<base::Result<void>> PosixDisk::rename(std::string from, std::string to) {
  const int error = co_await on_pool(&pool_, [from, to] { return names::rename(from, to); });
  co_return outcome_of(error, "cannot rename", from);
}

Task<base::Result<void>> PosixDisk::link(std::string from, std::string to) {
  const int error = co_await on_pool(&pool_, [from, to] { return names::link(from, to); });
  co_return outcome_of(error, "cannot link", from);
}

Task<base::Result<void>> PosixDisk::remove(std::string path) {
  const int error = co_await on_pool(&pool_, [path] { return names::remove(path); });
  co_return outcome_of(error, "cannot remove", path);
}

Task<base::Result<void>> PosixDisk::sync_directory(std::string path) {
  const int error = co_await on_pool(&pool_, [path] { return names::sync_directory(path); });
  co_return outcome_of(error, "cannot sync directory", path);
}

Task<base::Result<std::uint64_t>> PosixDisk::free_bytes(std::string path) {
  auto bytes = std::make_shared<std::uint64_t>(0);
  const int error =
      co_await on_pool(&pool_, [path, bytes] { return names::free_bytes(path, *bytes); });
  if (error != 0) co_return failed("cannot ask for free space of", path, error);
  co_return *bytes;
}

}  // namespace ron::platform::posix
