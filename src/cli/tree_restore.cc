#include "cli/tree_restore.h"

#include <map>
#include <optional>
#include <utility>

#include "b3/hash.h"
#include "base/limits.h"
#include "catalog/manifest_path.h"
#include "cli/download.h"
#include "cli/local_sinks.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::limits::kPartBytes;
using platform::Task;
using platform::posix::Attributes;
using platform::posix::LocalTree;
using Tree = std::shared_ptr<const LocalTree>;

constexpr std::size_t kWindow = 2;  // pieces in flight per file; files come side by side too
constexpr std::size_t kBatch = 4096;

// Whether the file that was found has the right bytes.
Result<bool> has_content(const LocalTree::Present& present, const catalog::TreeFile& file,
                         const std::string& path) {
  if (present.bytes != file.length) return false;
  b3::Hasher hasher;
  base::Buffer bytes(kPartBytes);
  while (true) {
    bytes.resize(kPartBytes);
    auto read = platform::posix::read_stream(present.file.get(), std::move(bytes), path);
    if (!read) return fail(std::move(read.error()));
    bytes = std::move(*read);
    hasher.update(bytes.view());
    if (bytes.size() < kPartBytes) return hasher.finish() == file.address;
  }
}

constexpr std::string_view kDraftLink = ".ron-link-";  // as LocalTree names them

// The name of the file's draft: the first that neither an entry nor anything else has.
Result<std::string> choose_draft(const LocalTree& to, const std::string& path,
                                 const base::ObjectId& id, const TreeRestore::Taken& taken) {
  for (unsigned number = 0; number < kPartNames; ++number) {
    std::string draft = part_path(path, id, number);
    if (!taken.contains(draft) && to.may_be_draft(draft)) return draft;
  }
  return fail(Code::PreconditionFailed,
              "the name of its unfinished download, '" + part_path(path, id) + "', is taken");
}

struct Found {
  enum class What : std::uint8_t { Nothing, Draft, Whole };
  What what = What::Nothing;
  std::string draft{};  // its name, also when there is nothing yet; empty for a whole file
};

// What an earlier run, or whoever filled the directory, has left of a file.
Result<Found> look(const LocalTree& to, const std::string& path, const catalog::TreeFile& file,
                   const Attributes& attributes, const TreeRestore::Taken& taken) {
  const auto there = to.find(path);
  if (!there) return fail(there.error());
  if (*there) {
    const auto right = has_content(**there, file, path);
    if (!right) return fail(right.error());
    if (*right) {
      if (const auto set = to.set(**there, attributes); !set) return fail(set.error());
      return Found{Found::What::Whole};
    }
  }
  if (const auto free = to.check_free(path); !free) return fail(free.error());
  auto draft = choose_draft(to, path, file.address, taken);
  if (!draft) return fail(std::move(draft.error()));
  const auto waiting = to.find(*draft);
  if (!waiting) return fail(waiting.error());
  const auto right = *waiting ? has_content(**waiting, file, *draft) : Result<bool>(false);
  if (!right) return fail(right.error());
  return Found{*right ? Found::What::Draft : Found::What::Nothing, std::move(*draft)};
}

Attributes attributes_of(const catalog::ManifestEntry& entry) {
  const catalog::TreeFile* const file = entry.file();
  return {.executable = file != nullptr && file->exec, .modified_s = entry.mtime_s};
}

Result<void> check_length(const catalog::TreeFile& file, std::uint64_t length) {
  if (length == file.length) return {};
  return fail(Code::IntegrityFail, "the manifest says that it has " + std::to_string(file.length) +
                                       " bytes, and it has " + std::to_string(length));
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}
std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A directory that is held open, as a path: whatever its names lead to by now, this is it.
std::string held_path(const platform::posix::Descriptor& directory) {
  return "/proc/self/fd/" + std::to_string(directory.get());
}

// Files of the tree in one directory, by name.
struct FilesIn {
  std::string directory;
  std::set<std::string, std::less<>> names;
};

// Drafts of these files: nothing continues them once the files are whole.
void remove_drafts(const LocalTree& to, const FilesIn& files, const TreeRestore::Taken& taken) {
  const auto names = to.names_in(files.directory);
  if (!names) return;
  for (const std::string& name : *names) {
    const std::string_view whole = name_of_whole(name);
    if (whole.empty() || !files.names.contains(whole)) continue;
    const std::string path = files.directory.empty() ? name : files.directory + "/" + name;
    if (!taken.contains(path)) static_cast<void>(to.remove_draft(path));
  }
}

}  // namespace

TreeRestore::TreeRestore(Session& session, Tree to, std::string prefix, bool sync)
    : session_(session),
      to_(std::move(to)),
      prefix_(std::move(prefix)),
      sync_(sync),
      fetching_(session.tasks(), 2 * session.options().jobs),
      publishing_(session.tasks(), 1) {}

Task<TreeRestore::Counts> TreeRestore::run(std::span<const catalog::ManifestEntry> entries) {
  taken_ = std::make_shared<const Taken>(taken_by(entries));
  for (const catalog::ManifestEntry& entry : entries) {
    if (fetching_.full()) co_await take_one();
    if (given_up_) break;
    fetching_.start(restore(&entry));
  }
  session_.progress().expect_all();
  while (!given_up_ && !fetching_.empty()) co_await take_one();
  co_await flush();
  while (!publishing_.empty()) co_await take_published();
  if (!has_failed_) co_await remove_leftovers(entries);
  if (sync_) {
    const auto synced = co_await session_.off_loop([to = to_] { return to->sync(); });
    if (!synced) session_.complain("", synced.error());
  }
  co_return counts_;
}

std::string TreeRestore::path_of(const catalog::ManifestEntry& entry) const {
  return prefix_.empty() ? entry.path : entry.path.substr(prefix_.size() + 1);
}

TreeRestore::Taken TreeRestore::taken_by(std::span<const catalog::ManifestEntry> entries) const {
  Taken taken;
  for (const catalog::ManifestEntry& entry : entries) {
    if (!entry.path.contains(kPartEnding) && !entry.path.contains(kDraftLink)) continue;
    const std::string path = path_of(entry);
    for (std::size_t end = 0; end != std::string::npos;) {
      end = path.find('/', end + 1);
      taken.insert(path.substr(0, end));
    }
  }
  return taken;
}

// A directory at a time, as they come: the paths of a manifest are in order.
Task<void> TreeRestore::remove_leftovers(std::span<const catalog::ManifestEntry> entries) {
  std::map<std::string, FilesIn> directories;
  std::size_t files = 0;
  const auto flush_now = [this, &directories] {
    std::vector<FilesIn> batch;
    for (auto& [directory, in] : directories) batch.push_back(std::move(in));
    directories.clear();
    return session_.off_loop([to = to_, taken = taken_, all = std::move(batch)]() -> Result<bool> {
      for (const FilesIn& one : all) remove_drafts(*to, one, *taken);
      return true;
    });
  };
  for (const catalog::ManifestEntry& entry : entries) {
    if (entry.file() == nullptr) continue;
    const std::string path = path_of(entry);
    FilesIn& in = directories[directory_of(path)];
    in.directory = directory_of(path);
    in.names.insert(name_of(path));
    if (++files % kBatch == 0) co_await flush_now();
  }
  if (!directories.empty()) co_await flush_now();
}

Task<TreeRestore::Fetched> TreeRestore::restore(const catalog::ManifestEntry* entry) {
  Fetched fetched;
  Draft& draft = fetched.draft;
  draft.entry = entry;
  draft.path = path_of(*entry);
  const catalog::TreeFile* const file = entry->file();
  if (file == nullptr) {
    // A link of the whole tree may lead out of a part of it.
    const catalog::TreeLink* const link = entry->link();
    if (link != nullptr) fetched.done = catalog::check_link(draft.path, link->target);
    co_return fetched;
  }
  auto found = co_await session_.off_loop(
      [to = to_, path = draft.path, file = *file, attributes = attributes_of(*entry),
       taken = taken_] { return look(*to, path, file, attributes, *taken); });
  if (found) draft.draft = std::move(found->draft);
  if (!found) {
    fetched.done = fail(found.error());
  } else if (found->what == Found::What::Nothing) {
    fetched.done = co_await fetch(file, &draft);
  } else {
    fetched.kept = true;
    session_.progress().expect_bytes(file->length);
    session_.progress().skip_bytes(file->length);
  }
  co_return fetched;
}

Task<Result<void>> TreeRestore::fetch(const catalog::TreeFile* file, const Draft* draft) {
  if (file->length > kPartBytes) co_return co_await fetch_large(file, draft);
  MemorySink sink(kPartBytes);
  const auto length =
      co_await download(&session_, {.id = file->address, .sink = &sink, .window = 1});
  if (!length) co_return fail(length.error());
  const auto right = check_length(*file, *length);
  if (!right) co_return right;
  co_return co_await session_.off_loop([to = to_, at = draft->draft, text = sink.release()] {
    return to->write(at, base::as_bytes(text));
  });
}

// The part file stays when this is interrupted, and the next run continues it.
Task<Result<void>> TreeRestore::fetch_large(const catalog::TreeFile* file, const Draft* draft) {
  const auto directory =
      co_await session_.off_loop([to = to_, path = draft->path] { return to->parent(path); });
  if (!directory) co_return fail(directory.error());
  const std::string held = held_path(*directory);
  FileSink sink(session_, held + "/" + name_of(draft->path), held + "/" + name_of(draft->draft));
  // Whether the name is free was asked before, and is again when it is given.
  const Result<void> opened = co_await sink.open(std::nullopt, true);
  if (!opened) co_return opened;
  const auto length = co_await fetch_or_continue(&session_, file->address, &sink, kWindow);
  const auto right = length ? check_length(*file, *length) : fail(length.error());
  if (!right) {
    co_await sink.abandon(right.error());
    co_return right;
  }
  co_return co_await sink.finish(*length, false);
}

Task<void> TreeRestore::take_one() {
  auto fetched = co_await fetching_.next();
  const std::string& path = fetched.draft.entry->path;
  if (!fetched.done) {
    has_failed_ = true;
    session_.complain(path, fetched.done.error());
    given_up_ = session_.is_unreachable(fetched.done.error());
    co_return;
  }
  ++counts_.entries;
  session_.progress().add_item();
  const bool is_file = fetched.draft.entry->file() != nullptr;
  if (is_file) ++(fetched.kept ? counts_.kept : counts_.fetched);
  if (is_file && fetched.draft.draft.empty()) co_return;
  batch_.push_back(std::move(fetched.draft));
  if (batch_.size() >= kBatch) co_await flush();
}

Task<void> TreeRestore::flush() {
  if (batch_.empty()) co_return;
  if (publishing_.full()) co_await take_published();
  publishing_.start(session_.off_loop(
      [to = to_, batch = std::exchange(batch_, {}), taken = taken_,
       sync = sync_]() -> Result<Published> { return publish(*to, batch, *taken, sync); }));
}

Task<void> TreeRestore::take_published() {
  const auto published = co_await publishing_.next();
  has_failed_ = has_failed_ || !published || !published->synced || !published->failures.empty();
  if (!published) {
    session_.complain("", published.error());
    co_return;
  }
  if (!published->synced) session_.complain("", published->synced.error());
  for (const auto& [path, error] : published->failures) session_.complain(path, error);
}

// One sync of the file system for all of them costs less than one for each, and no name appears
// before its bytes are on the medium.
TreeRestore::Published TreeRestore::publish(const LocalTree& to, const Batch& batch,
                                            const Taken& taken, bool sync) {
  Published published;
  if (sync) published.synced = to.sync();
  if (!published.synced) return published;
  for (const Draft& draft : batch) {
    const catalog::ManifestEntry& entry = *draft.entry;
    Result<void> done;
    if (const catalog::TreeLink* link = entry.link()) {
      done = to.make_link(draft.path, link->target, entry.mtime_s,
                          [&taken](const std::string& path) { return taken.contains(path); });
    } else if (entry.file() == nullptr) {
      done = to.make_directory(draft.path, entry.mtime_s);
    } else {
      done = to.publish(draft.draft, draft.path, attributes_of(entry));
    }
    if (!done) published.failures.emplace_back(entry.path, done.error());
  }
  return published;
}

}  // namespace ron::cli
