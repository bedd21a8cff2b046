#include "cli/put.h"

#include <memory>
#include <utility>

#include "b3/hash.h"
#include "base/limits.h"
#include "cli/in_order.h"
#include "cli/local_sinks.h"
#include "cli/name_list.h"
#include "cli/session.h"
#include "cli/store.h"
#include "cli/tree_walk.h"
#include "cli/upload_state.h"
#include "platform/posix/files.h"
#include "platform/posix/local_files.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::limits::kPartBytes;
using platform::Task;

// A file in memory with its address, or only its size when it is large.
struct Loaded {
  platform::posix::LoadedFile file;
  base::ObjectId id;
};
Result<Loaded> load(const std::string& path) {
  auto file = platform::posix::load_file(path, kPartBytes);
  if (!file) return fail(std::move(file.error()));
  const base::ObjectId id = b3::hash(file->bytes.view());
  return Loaded{std::move(*file), id};
}

Result<platform::posix::OutputTarget> target_of_list(const std::string& path) {
  auto target = platform::posix::output_target(path);
  if (!target || target->is_stream) return target;
  const auto free = platform::posix::check_replaceable(target->path, true);
  if (!free) return fail(free.error());
  return target;
}

// The lines of results: to standard output, to a stream, or to a file that appears when all are
// written.
class Lines {
 public:
  Lines(Session& session, std::string path) : session_(session), path_(std::move(path)) {}

  Task<Result<void>> open() {
    if (path_.empty()) co_return Result<void>();
    auto target = co_await session_.off_loop([path = path_] { return target_of_list(path); });
    if (!target) co_return fail(std::move(target.error()));
    path_ = std::move(target->path);
    if (target->is_stream) {
      stream_.emplace(session_, path_);
      co_return co_await stream_->open();
    }
    auto file =
        co_await session_.host().disk.open(draft(), {.mode = platform::OpenMode::CreateOrOpen});
    if (!file) co_return fail(std::move(file.error()));
    file_ = std::move(*file);
    co_return co_await file_->truncate(0);
  }
  // False when there is no point in going on.
  Task<bool> add(base::ObjectId id, std::string shown) {
    if (path_.empty()) co_return session_.print(list_line({id, shown}));
    const std::string name = shown == "-" ? "stdin" : portable_name(shown);
    pending_ += list_line({id, name});
    if (pending_.size() < kFlushBytes) co_return true;
    co_return co_await flush();
  }
  Task<bool> close(unsigned mode) {
    if (path_.empty()) co_return true;
    const bool flushed = co_await flush();
    if (!flushed || stream_) co_return flushed;
    file_.reset();
    const auto published = co_await session_.off_loop([from = draft(), to = path_, mode] {
      return platform::posix::publish_file(from, to, mode);
    });
    if (!published) session_.complain("", published.error());
    co_return published.has_value();
  }

 private:
  static constexpr std::size_t kFlushBytes = 64 * 1024;

  [[nodiscard]] std::string draft() const { return path_ + ".new"; }

  Task<bool> flush() {
    base::Buffer bytes(pending_.size());
    std::ranges::copy(base::as_bytes(std::exchange(pending_, {})), bytes.data());
    auto writing = stream_ ? stream_->take(offset_, std::move(bytes))
                           : file_->write_at(offset_, std::move(bytes));
    const auto written = co_await writing;
    if (!written) session_.complain("", written.error());
    if (written) offset_ += written->size();
    co_return written.has_value();
  }

  Session& session_;
  std::string path_;
  std::unique_ptr<platform::File> file_;
  std::optional<StreamSink> stream_;  // instead of the file
  std::string pending_;
  std::uint64_t offset_ = 0;
};

// The put of one command, while it runs.
class Put {
 public:
  Put(Session& session, const PutFiles& what, const std::optional<UploadStates>& states,
      unsigned mode)
      : session_(session),
        what_(what),
        mode_(mode),
        storer_(session, what.resume ? states : std::nullopt, what.spool),
        lines_(session, what.list),
        window_(session.tasks(), 2 * session.options().jobs) {}

  Task<int> run() {
    const auto opened = co_await lines_.open();
    if (!opened) {
      session_.complain("", opened.error());
      co_return session_.exit_code();
    }
    TreeWalk walk(session_, what_.arguments, TreeWalk::Find::FilesOnly,
                  what_.follow ? TreeWalk::Links::Follow : TreeWalk::Links::Keep);
    bool going = true;
    while (going) {
      auto file = co_await walk.next();
      if (!file) break;
      if (window_.full()) going = co_await take_one();
      window_.start(store(std::move(*file)));
    }
    session_.progress().expect_all();
    while (going && !window_.empty()) going = co_await take_one();
    if (going) co_await lines_.close(mode_);
    if (skipped_ > 0) report_skipped();
    co_return session_.exit_code();
  }

 private:
  struct Stored {
    WalkedFile file;
    Result<base::ObjectId> id = fail(Code::Internal, "nothing was done");
  };

  // Reports the oldest file; false when nothing more can be reported.
  Task<bool> take_one() {
    auto stored = co_await window_.next();
    const std::string& shown = stored.file.shown;
    if (stored.file.kind == WalkedFile::Kind::Skipped) {
      ++skipped_;
      const std::string what = "skipped: " + stored.file.reason;
      if (what_.allow_skipped) session_.note(shown, what);
      if (!what_.allow_skipped) session_.complain(shown, what);
      co_return true;
    }
    if (!stored.id) {
      session_.complain(shown, stored.id.error());
      co_return !session_.is_unreachable(stored.id.error());
    }
    session_.progress().add_item();
    co_return co_await lines_.add(*stored.id, shown);
  }

  // Last, so that it is not lost among many lines.
  void report_skipped() {
    const std::string entries = std::to_string(skipped_) + (skipped_ == 1 ? " entry" : " entries");
    const std::string what = entries + " skipped: only files and directories are stored";
    if (what_.allow_skipped) session_.note("", what);
    if (!what_.allow_skipped)
      session_.complain("", what + "; --allow-skipped makes that no failure");
  }

  Task<Stored> store(WalkedFile file) {
    Stored stored{.file = std::move(file)};
    switch (stored.file.kind) {
      case WalkedFile::Kind::Skipped:
      case WalkedFile::Kind::Link:
      case WalkedFile::Kind::EmptyDirectory:  // neither is found where only files are
        break;
      case WalkedFile::Kind::Failed:
        stored.id = fail(stored.file.error);
        break;
      case WalkedFile::Kind::File:
        stored.id = co_await store_file(stored.file.path);
        break;
      case WalkedFile::Kind::Stream:
        stored.id = co_await storer_.store_stream(stored.file.path);
        break;
    }
    co_return std::move(stored);
  }

  Task<Result<base::ObjectId>> store_file(std::string path) {
    auto loaded = co_await session_.off_loop([path] { return load(path); });
    if (!loaded) co_return fail(std::move(loaded.error()));
    const platform::posix::FileStamp stamp = loaded->file.stamp;
    session_.progress().expect_bytes(stamp.bytes);
    if (stamp.bytes > kPartBytes) co_return co_await storer_.store_large(path, stamp);
    co_return co_await storer_.store_bytes(loaded->id, std::move(loaded->file.bytes));
  }

  Session& session_;
  const PutFiles& what_;
  const unsigned mode_;
  Storer storer_;
  Lines lines_;
  std::size_t skipped_ = 0;
  InOrder<Stored> window_;
};

Task<int> run_put(Session* session, const PutFiles* what, std::optional<UploadStates> states,
                  unsigned mode) {
  Put put(*session, *what, states, mode);
  const int code = co_await put.run();
  co_return code;
}

}  // namespace

int put_files(const ClientOptions& options, const PutFiles& what) {
  const unsigned mode = platform::posix::public_file_mode();
  const auto states = UploadStates::of_user(platform::posix::environment());
  return run_session("put", options, [&what, &states, mode](Session& session) {
    return run_put(&session, &what, states, mode);
  });
}

}  // namespace ron::cli
