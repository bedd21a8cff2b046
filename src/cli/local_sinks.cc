#include "cli/local_sinks.h"

#include <algorithm>
#include <utility>

namespace ron::cli {
namespace {

using base::Code;
using base::Result;
using platform::Task;
using platform::posix::PathLock;

constexpr std::size_t kLongestName = 255;
constexpr std::uint64_t kSyncBytes = 64 * base::kMiB;
constexpr std::uint64_t kCachedBytes = 64 * base::kMiB;

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The part file, for as long as this process has it.
struct LockedPart {
  PathLock lock;
  std::string path;
};

// The first name that nothing else has: a link there leads nowhere, and a file with other names
// would lose what it holds.
Result<LockedPart> lock_first_free(const std::vector<std::string>& parts) {
  const auto part = std::ranges::find_if(
      parts, [](const std::string& one) { return platform::posix::may_be_draft(one); });
  if (part == parts.end()) {
    return base::fail(Code::PreconditionFailed,
                      "the name of its unfinished download, '" + parts.front() + "', is taken");
  }
  auto locked = PathLock::file(*part);
  if (!locked) return base::fail(std::move(locked.error()));
  return LockedPart{std::move(*locked), *part};
}

Result<LockedPart> lock_part(const std::vector<std::string>& parts, const std::string& path,
                             std::optional<unsigned> directories_for, bool force) {
  const auto free = platform::posix::check_replaceable(path, force);
  if (!free) return base::fail(free.error());
  auto locked = lock_first_free(parts);
  if (locked || locked.error().code != Code::NotFound) return locked;
  if (!directories_for) {
    return base::fail(Code::NotFound, "there is no directory '" + directory_of(path) + "'");
  }
  const auto made = platform::posix::make_public_directories(directory_of(path), *directories_for);
  if (!made) return base::fail(made.error());
  return lock_first_free(parts);
}

std::vector<std::string> part_paths(const std::string& path, const base::ObjectId& id) {
  std::vector<std::string> parts;
  for (unsigned number = 0; number < kPartNames; ++number) {
    parts.push_back(part_path(path, id, number));
  }
  return parts;
}

// The beginning of an address in the name of a part file.
constexpr std::size_t kHexInName = 16;
static_assert(kPartNames <= 10, "the number in a name has one digit");
bool is_hex(std::string_view text) noexcept {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

bool is_binary(base::ByteView bytes) noexcept {
  constexpr std::string_view kBlanks = "\t\n\r\f";
  return std::ranges::any_of(base::as_text(bytes), [kBlanks](char c) {
    const bool control = (c >= 0 && c < ' ') || c == 0x7F;
    return control && !kBlanks.contains(c);
  });
}

Task<Result<void>> StreamSink::open() {
  auto opened =
      co_await session_.off_loop([path = path_] { return platform::posix::open_output(path); });
  if (!opened) co_return base::fail(std::move(opened.error()));
  opened_ = std::make_shared<const platform::posix::Descriptor>(std::move(*opened));
  co_return Result<void>();
}

Task<Result<base::Buffer>> StreamSink::take(std::uint64_t, base::Buffer bytes) {
  if (text_only_ && is_binary(bytes.view())) {
    co_return base::fail(Code::PreconditionFailed,
                         "these bytes are not text and could upset the terminal; -o FILE keeps "
                         "them, -o - prints them all the same");
  }
  auto written = co_await session_.off_loop(
      [to = opened_, path = path_, piece = std::move(bytes)]() mutable -> Result<base::Buffer> {
        const int stream = to ? to->get() : platform::posix::kStandardOutput;
        const auto done = platform::posix::write_stream(stream, piece.view(), path);
        if (!done) return base::fail(done.error());
        return std::move(piece);
      });
  if (!written && written.error().code == Code::Canceled) session_.unread();
  co_return std::move(written);
}

std::string part_path(const std::string& path, const base::ObjectId& id, unsigned number) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string hex = id.text().substr(3);
  const std::string name = "." + path.substr(directory.size()) + "." + hex.substr(0, kHexInName);
  const std::string ending =
      (number == 0 ? "" : "." + std::to_string(number)) + std::string(kPartEnding);
  const bool fits = name.size() + ending.size() <= kLongestName;
  return directory + (fits ? name : "." + hex) + ending;
}

bool is_part_path(std::string_view path) noexcept {
  const std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  return name.starts_with('.') && name.ends_with(kPartEnding);
}

std::string_view name_of_whole(std::string_view part_name) noexcept {
  if (part_name.contains('/') || !is_part_path(part_name)) return {};
  std::string_view rest = part_name.substr(1, part_name.size() - 1 - kPartEnding.size());
  std::size_t dot = rest.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view number = rest.substr(dot + 1);
  if (number.size() == 1 && number[0] >= '1' && number[0] <= '9') {
    rest = rest.substr(0, dot);
    dot = rest.rfind('.');
    if (dot == std::string_view::npos) return {};
  }
  const std::string_view hex = rest.substr(dot + 1);
  return hex.size() == kHexInName && is_hex(hex) ? rest.substr(0, dot) : std::string_view();
}

FileSink::FileSink(Session& session, std::string path, const base::ObjectId& id)
    : session_(session),
      path_(std::move(path)),
      parts_(part_paths(path_, id)),
      syncing_(session.tasks(), 1) {}

FileSink::FileSink(Session& session, std::string path, std::string part)
    : session_(session),
      path_(std::move(path)),
      parts_{std::move(part)},
      syncing_(session.tasks(), 1) {}

Task<Result<void>> FileSink::open(std::optional<unsigned> directories_for, bool force) {
  auto locked = co_await session_.off_loop(
      [parts = std::exchange(parts_, {}), path = path_, directories_for, force] {
        return lock_part(parts, path, directories_for, force);
      });
  if (!locked) co_return base::fail(std::move(locked.error()));
  part_ = std::move(locked->path);
  lock_.emplace(std::move(locked->lock));
  auto opened = co_await session_.host().disk.open(part_, {platform::OpenMode::WriteExisting});
  if (!opened) co_return base::fail(std::move(opened.error()));
  file_ = std::move(*opened);
  const auto size = co_await file_->size();
  if (!size) co_return base::fail(size.error());
  found_bytes_ = *size;
  // The last piece is fetched again: its end tells that the object has no more.
  pieces_ = *size == 0 ? 0 : (*size - 1) / kPieceBytes;
  co_return Result<void>();
}

Task<Result<void>> FileSink::clear() {
  if (found_bytes_ == 0 && written_ == 0) co_return Result<void>();
  pieces_ = found_bytes_ = written_ = 0;
  const Result<void> synced = co_await finish_sync();
  if (!synced) co_return synced;
  co_return co_await file_->truncate(0);
}

// What lies beyond the beginning of a large file goes past the page cache: it is synced soon
// anyhow, and would only push out what others have there.
Task<Result<platform::File*>> FileSink::file_for(std::uint64_t offset, std::size_t bytes) {
  const bool pages = (offset | bytes) % base::Buffer::kPageBytes == 0;
  if (!sync_early_ || offset < kCachedBytes || !pages) co_return file_.get();
  if (!direct_) {
    auto opened =
        co_await session_.host().disk.open(part_, {platform::OpenMode::WriteExisting, true});
    if (!opened) co_return base::fail(std::move(opened.error()));
    direct_ = std::move(*opened);
  }
  co_return direct_.get();
}

Task<Result<base::Buffer>> FileSink::take(std::uint64_t offset, base::Buffer bytes) {
  const auto file = co_await file_for(offset, bytes.size());
  if (!file) co_return base::fail(file.error());
  auto written = co_await (*file)->write_at(offset, std::move(bytes));
  if (!written) co_return base::fail(written.error());
  written_ = std::max(written_, offset + written->size());
  unsynced_bytes_ += written->size();
  if (!sync_early_ || unsynced_bytes_ < kSyncBytes) co_return std::move(written);
  unsynced_bytes_ = 0;
  const Result<void> synced = co_await finish_sync();
  if (!synced) co_return base::fail(synced.error());
  syncing_.start(file_->sync());
  co_return std::move(written);
}

Task<Result<void>> FileSink::finish_sync() {
  if (syncing_.empty()) co_return Result<void>();
  co_return co_await syncing_.next();
}

Task<Result<void>> FileSink::finish(std::uint64_t length, bool sync) {
  const Result<void> before = co_await finish_sync();
  if (!before) co_return before;
  if (found_bytes_ > length) {
    const Result<void> cut = co_await file_->truncate(length);
    if (!cut) co_return cut;
  }
  if (sync) {
    const Result<void> synced = co_await file_->sync();
    if (!synced) co_return synced;
  }
  direct_.reset();
  file_.reset();
  co_return Result<void>();
}

Task<Result<void>> FileSink::publish(unsigned mode, bool sync) {
  const auto published = co_await session_.off_loop([part = part_, path = path_, mode] {
    return platform::posix::publish_file(part, path, mode);
  });
  if (!published || !sync) co_return published;
  co_return co_await session_.host().disk.sync_directory(directory_of(path_));
}

Task<void> FileSink::abandon(base::Error why) {
  co_await finish_sync();
  direct_.reset();
  file_.reset();
  const bool continues = why.code == Code::UpstreamFail || why.code == Code::Timeout ||
                         base::info(why.code).status == 429 || base::info(why.code).status == 503;
  if (continues && (pieces_ > 0 || written_ > kPieceBytes)) co_return;
  co_await session_.host().disk.remove(part_);
}

Task<Result<std::uint64_t>> fetch_or_continue(Session* session, base::ObjectId id, FileSink* sink,
                                              std::size_t window) {
  if (sink->pieces() > 0) {
    const auto length = co_await download(session, {.id = id,
                                                    .sink = sink,
                                                    .window = window,
                                                    .have = sink->file(),
                                                    .have_pieces = sink->pieces()});
    const bool useless = !length && (length.error().code == Code::IntegrityFail ||
                                     length.error().code == Code::RangeNotSatisfiable);
    if (!useless) co_return length;
    session->note(sink->part(), "cannot be continued, starting again");
  }
  const Result<void> cleared = co_await sink->clear();
  if (!cleared) co_return base::fail(cleared.error());
  co_return co_await download(session, {.id = id, .sink = sink, .window = window});
}

}  // namespace ron::cli
