#include "cli/tree_put.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "b3/hash.h"
#include "base/limits.h"
#include "catalog/manifest.h"
#include "catalog/media_type.h"
#include "cli/in_order.h"
#include "cli/index_client.h"
#include "cli/local_sinks.h"
#include "cli/session.h"
#include "cli/store.h"
#include "cli/tree_check.h"
#include "cli/tree_ref.h"
#include "cli/tree_walk.h"
#include "cli/upload.h"
#include "platform/memory_disk.h"
#include "platform/posix/files.h"
#include "platform/posix/local_files.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::limits::kPartBytes;
using catalog::ManifestEntry;
using platform::Task;
using platform::posix::FileKind;

constexpr std::int64_t kSecondNs = 1'000'000'000;
// Up to here asking whether the server has a file costs it as much as sending it.
constexpr std::uint64_t kAskBytes = 4 * base::kKiB;

// A file with its address, and its bytes if it is small.
struct Loaded {
  platform::posix::LoadedFile file;
  base::ObjectId id;
};

Result<base::ObjectId> hash_large(const std::string& path, std::uint64_t length) {
  const auto file = platform::posix::open_input(path);
  if (!file) return fail(file.error());
  b3::Hasher hasher;
  base::Buffer bytes(kPartBytes);
  for (std::uint64_t hashed = 0;; hashed += bytes.size()) {
    bytes.resize(kPartBytes);
    auto read = platform::posix::read_stream(file->get(), std::move(bytes), path);
    if (!read) return fail(std::move(read.error()));
    bytes = std::move(*read);
    if (bytes.size() == 0)
      return hashed == length ? Result<base::ObjectId>(hasher.finish()) : fail(file_changed());
    hasher.update(bytes.view());
  }
}

Result<Loaded> load(const std::string& path) {
  auto file = platform::posix::load_file(path, kPartBytes);
  if (!file) return fail(std::move(file.error()));
  const bool is_large = file->stamp.bytes > kPartBytes;
  const auto id = is_large ? hash_large(path, file->stamp.bytes)
                           : Result<base::ObjectId>(b3::hash(file->bytes.view()));
  if (!id) return fail(id.error());
  return Loaded{std::move(*file), *id};
}

std::int64_t seconds_of(const platform::posix::FileStamp& stamp) noexcept {
  const std::int64_t seconds = stamp.modified_ns / kSecondNs;
  return stamp.modified_ns % kSecondNs < 0 ? seconds - 1 : seconds;
}

// The put of one command, while it runs.
class NamedPut {
 public:
  NamedPut(Session& session, const PutNamed& what, const std::optional<UploadStates>& states)
      : session_(session),
        what_(what),
        storer_(session, what.resume ? states : std::nullopt, what.spool),
        window_(session.tasks(), 2 * session.options().jobs) {}

  Task<int> run() {
    const Result<void> done = co_await put();
    if (!done) session_.complain(what_.name.text(), done.error());
    co_return session_.exit_code();
  }

 private:
  struct Stored {
    WalkedFile file;
    Result<ManifestEntry> entry = fail(Code::Internal, "nothing was done");
    bool can_skip = false;  // a tree has no form for what failed
  };
  struct Facts {
    bool is_directory = false;
    bool is_file = false;
  };

  Task<Result<void>> put() {
    const auto facts = co_await look(what_.path);
    if (!facts) co_return fail(facts.error());
    const auto current = co_await find_name(&session_, {what_.name, std::nullopt});
    if (!current) co_return fail(where_to_put(current.error()));
    current_ = *current;
    if (current_ && what_.if_version && current_->version != *what_.if_version) {
      co_return fail(skew(*what_.if_version, current_->version));
    }
    if (facts->is_directory) co_return co_await put_tree();
    co_return co_await put_object(facts->is_file);
  }

  // An edge by itself has neither names nor objects, and another server's are what it shows.
  [[nodiscard]] base::Error where_to_put(base::Error error) const {
    if (error.code != Code::NotFound) return error;
    error.message =
        "this server stores nothing under names; put it at one that does (--url), for "
        "an edge its origin, and then: ron site add SITE " +
        what_.name.text();
    return error;
  }

  Task<Result<Facts>> look(std::string path) {
    if (path == "-") co_return Facts{};
    const auto facts =
        co_await session_.off_loop([path] { return platform::posix::target_facts(path); });
    if (!facts) co_return fail(facts.error());
    co_return Facts{facts->kind == FileKind::Directory, facts->kind == FileKind::Regular};
  }

  Task<Result<void>> put_object(bool is_file) {
    Result<base::ObjectId> id = fail(Code::Internal, "nothing was done");
    files_ = 1;
    if (is_file) {
      const auto path =
          co_await session_.off_loop([at = what_.path] { return platform::posix::real_path(at); });
      if (!path) co_return fail(path.error());
      const auto entry = co_await store_file(*path, "");
      if (!entry) co_return fail(entry.error());
      id = entry->file()->address;
    } else {
      const std::uint64_t before = session_.progress().bytes();
      id = co_await storer_.store_stream(what_.path == "-" ? "" : what_.path);
      if (!id) co_return fail(id.error());
      count_sent(session_.progress().bytes() - before, true);
    }
    const std::string type =
        what_.type.empty() ? std::string(catalog::media_type_of(what_.path)) : what_.type;
    co_return co_await give_name(*id, type);
  }

  Task<Result<void>> put_tree() {
    if (!what_.type.empty()) {
      co_return fail(Code::Malformed, "--type is for a file, not for a directory");
    }
    const bool sound = co_await check_all();
    if (!sound) co_return Result<void>();
    if (what_.resume) session_.resumes();
    if (current_ && current_->is_tree() && !what_.resend) co_await learn_current();
    TreeWalk walk(session_, {what_.path}, TreeWalk::Find::Everything, what_.links);
    bool going = true;
    while (going) {
      auto file = co_await walk.next();
      if (!file) break;
      if (window_.full()) going = co_await take_one();
      window_.start(store(std::move(*file)));
    }
    session_.progress().expect_all();
    while (going && !window_.empty()) going = co_await take_one();
    if (failed_ > 0) {
      session_.complain("", "the name was left as it is: " +
                                count_of(failed_, "entry was", "entries were") + " not stored");
      co_return Result<void>();
    }
    co_return co_await put_manifest();
  }

  // Whether all of the tree can be stored, or the user has allowed to leave out what cannot.
  Task<bool> check_all() {
    const TreeFaults faults = co_await check_tree(&session_, what_.path, what_.links);
    faults.report(session_, what_.allow_skipped);
    const bool stops = faults.refused() > 0 || (faults.skippable() > 0 && !what_.allow_skipped);
    if (stops) {
      session_.complain("", "nothing was sent and the name was left as it is: " +
                                faults.summary(what_.allow_skipped));
    }
    co_return !stops;
  }

  // What the name's tree has is there: its files are not even asked for.
  Task<void> learn_current() {
    const auto manifest = co_await load_manifest(&session_, *current_->target);
    if (!manifest) {
      session_.note(current_->ref(),
                    "every file is asked for, since its manifest cannot be read: " +
                        describe(manifest.error()));
      co_return;
    }
    there_.insert(*current_->target);
    for (const ManifestEntry& entry : manifest->entries) {
      if (const catalog::TreeFile* file = entry.file()) there_.insert(file->address);
    }
  }

  // Reports the oldest entry; false when there is no point in going on.
  Task<bool> take_one() {
    auto stored = co_await window_.next();
    const std::string& shown = stored.file.shown;
    if (!stored.entry && stored.can_skip && what_.allow_skipped) {
      ++skipped_;  // check_all() has said why
      co_return true;
    }
    if (!stored.entry) {
      ++failed_;
      session_.complain(shown, stored.entry.error());
      co_return !session_.is_unreachable(stored.entry.error());
    }
    session_.progress().add_item();
    manifest_.entries.push_back(std::move(*stored.entry));
    co_return true;
  }

  Task<Stored> store(WalkedFile file) {
    Stored stored{.file = std::move(file)};
    const WalkedFile& what = stored.file;
    if (auto fault = find_fault(what)) {
      stored.entry = fail(std::move(fault->error));
      stored.can_skip = fault->can_skip;
      co_return std::move(stored);
    }
    switch (what.kind) {
      case WalkedFile::Kind::Skipped:
      case WalkedFile::Kind::Failed:  // both are faults
      case WalkedFile::Kind::Stream:  // not in a directory
        break;
      case WalkedFile::Kind::File:
        ++files_;
        stored.entry = co_await store_file(what.path, what.relative);
        break;
      case WalkedFile::Kind::Link:
      case WalkedFile::Kind::EmptyDirectory:
        co_await read_other(&stored);
        break;
    }
    co_return std::move(stored);
  }

  // A link or an empty directory.
  Task<void> read_other(Stored* stored) {
    const WalkedFile& file = stored->file;
    const auto facts = co_await session_.off_loop(
        [path = file.path] { return platform::posix::file_facts(path); });
    if (!facts) {
      stored->entry = fail(facts.error());
      co_return;
    }
    ManifestEntry entry{.path = file.relative, .what = catalog::TreeDirectory{}, .mtime_s = {}};
    if (what_.times) entry.mtime_s = seconds_of(facts->stamp);
    if (facts->kind == FileKind::Link) {
      auto target = co_await session_.off_loop(
          [path = file.path] { return platform::posix::read_link(path); });
      auto fault = target ? find_link_fault(file, *target) : TreeFault{target.error(), false};
      if (fault) {
        stored->entry = fail(std::move(fault->error));
        stored->can_skip = fault->can_skip;
        co_return;
      }
      entry.what = catalog::TreeLink{std::move(*target)};
    }
    stored->entry = std::move(entry);
  }

  Task<Result<ManifestEntry>> store_file(std::string path, std::string relative) {
    auto loaded = co_await session_.off_loop([path] { return load(path); });
    if (!loaded) co_return fail(std::move(loaded.error()));
    const platform::posix::FileStamp stamp = loaded->file.stamp;
    const base::ObjectId id = loaded->id;
    session_.progress().expect_bytes(stamp.bytes);
    // By the name in the tree: a link that is followed may lead to a file with another ending.
    std::string type(catalog::media_type_of(relative.empty() ? path : relative));
    ManifestEntry entry{.path = std::move(relative),
                        .what = catalog::TreeFile{.address = id,
                                                  .length = stamp.bytes,
                                                  .type = std::move(type),
                                                  .exec = loaded->file.executable},
                        .mtime_s = {}};
    if (what_.times) entry.mtime_s = seconds_of(stamp);
    const auto sent = co_await send(id, path, std::move(loaded->file));
    if (!sent) co_return fail(sent.error());
    co_return std::move(entry);
  }

  Task<Result<void>> send(base::ObjectId id, std::string path, platform::posix::LoadedFile file) {
    const std::uint64_t length = file.stamp.bytes;
    const bool asks = !what_.resend && length > kAskBytes;
    const auto needed = co_await is_needed(id, asks);
    if (!needed) co_return fail(needed.error());
    if (!*needed) {
      session_.progress().skip_bytes(length);
      co_return Result<void>();
    }
    if (length > kPartBytes) {
      const auto stored = co_await storer_.store_large(path, file.stamp);
      if (!stored) co_return fail(stored.error());
      if (*stored != id) co_return fail(file_changed());
      count_sent(length, true);
      co_return Result<void>();
    }
    const auto is_new = co_await session_.objects().put(id, file.bytes.view());
    if (!is_new) co_return fail(is_new.error());
    session_.progress().add_bytes(length);
    count_sent(length, *is_new);
    co_return Result<void>();
  }

  // False if the server has it, or is about to get it from another file of the tree.
  Task<Result<bool>> is_needed(base::ObjectId id, bool asks) {
    if (!there_.insert(id).second) co_return false;
    if (!asks) co_return true;
    const auto head = co_await session_.objects().head(id);
    if (head) co_return false;
    if (head.error().code != Code::NotFound) co_return fail(head.error());
    co_return true;
  }

  Task<Result<void>> put_manifest() {
    std::ranges::sort(manifest_.entries, {}, &ManifestEntry::path);
    const auto sound = catalog::check(manifest_);
    if (!sound) co_return fail(sound.error());
    struct Made {
      std::string text;
      base::ObjectId id;
    };
    auto made = co_await session_.off_loop([manifest = std::move(manifest_)]() -> Result<Made> {
      std::string text = catalog::print(manifest);
      const base::ObjectId id = b3::hash(base::as_bytes(text));
      return Made{std::move(text), id};
    });
    if (!made) co_return fail(std::move(made.error()));
    if (made->text.size() > catalog::kMaxManifestBytes) {
      co_return fail(Code::BodyCap, "the tree's manifest would be larger than 1 GiB");
    }
    const auto needed =
        co_await is_needed(made->id, !what_.resend && made->text.size() > kAskBytes);
    if (!needed) co_return fail(needed.error());
    if (*needed) {
      const auto stored = co_await store_text(&made->text, made->id);
      if (!stored) co_return fail(stored.error());
    }
    co_return co_await give_name(made->id, std::string(catalog::kManifestType));
  }

  Task<Result<base::ObjectId>> store_text(const std::string* text, base::ObjectId id) {
    session_.progress().expect_bytes(text->size());
    sent_bytes_ += text->size();
    base::Buffer bytes(text->size());
    std::ranges::copy(base::as_bytes(*text), bytes.data());
    if (text->size() <= kPartBytes) co_return co_await storer_.store_bytes(id, std::move(bytes));
    platform::MemoryDisk disk(bytes.size() + base::kMiB);
    auto file = co_await disk.open("/manifest", {.mode = platform::OpenMode::CreateNew});
    if (!file) co_return fail(std::move(file.error()));
    const auto written = co_await (*file)->write_at(0, std::move(bytes));
    if (!written) co_return fail(written.error());
    co_return co_await storer_.store_private(file->get(), text->size());
  }

  Task<Result<void>> give_name(base::ObjectId id, std::string type) {
    const bool is_same = current_ && current_->target == id && current_->type == type;
    const std::uint64_t expected = what_.if_version.value_or(current_ ? current_->version : 0);
    NameVersion now;
    if (is_same) {
      now = *current_;
    } else {
      const auto set = co_await set_name(&session_, {.name = what_.name,
                                                     .target = id,
                                                     .type = type,
                                                     .meta = current_ ? current_->meta : Meta(),
                                                     .expected_version = expected});
      if (!set && set.error().code == Code::VersionSkew) {
        co_return fail(co_await explain_skew(expected));
      }
      if (!set) co_return fail(set.error());
      now = *set;
    }
    session_.print(now.ref() + "  " + id.text() + "  (" + summary(is_same) + ")\n");
    if (skipped_ > 0) {
      session_.note("", count_of(skipped_, "entry was", "entries were") + " skipped");
    }
    co_return Result<void>();
  }

  using Meta = std::map<std::string, std::string>;

  [[nodiscard]] std::string summary(bool is_same) const {
    std::string text = count_of(files_, "file", "files");
    if (is_same) text += ", unchanged";
    text += ", " + std::to_string(new_files_) + " new, " + human_bytes(sent_bytes_) + " sent";
    return skipped_ == 0 ? text : text + ", " + std::to_string(skipped_) + " skipped";
  }

  Task<base::Error> explain_skew(std::uint64_t expected) {
    const auto now = co_await find_name(&session_, {what_.name, std::nullopt});
    co_return skew(expected, now && *now ? (*now)->version : 0);
  }

  [[nodiscard]] base::Error skew(std::uint64_t expected, std::uint64_t now) const {
    const std::string& name = what_.name.text();
    std::string text = "somebody else has changed it: ";
    if (now == 0) {
      text += "it was at version " + std::to_string(expected) + " and is not there any more";
    } else {
      text += "it is at version " + std::to_string(now) + " and was expected at " +
              (expected == 0 ? "none" : std::to_string(expected));
    }
    text += "; nothing was overwritten";
    if (now > 0 && expected > 0) {
      text += "; ron diff " + name + "@" + std::to_string(expected) + " " + name + "@" +
              std::to_string(now) + " shows what they did";
    }
    return {Code::VersionSkew, text + "; put again to replace it"};
  }

  void count_sent(std::uint64_t bytes, bool is_new) noexcept {
    if (is_new) ++new_files_;
    sent_bytes_ += bytes;
  }

  Session& session_;
  const PutNamed& what_;
  Storer storer_;
  std::optional<NameVersion> current_;
  // What the server has, or will have when all went well.
  std::unordered_set<base::ObjectId, base::ObjectIdHash> there_;
  catalog::Manifest manifest_;
  std::uint64_t files_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t skipped_ = 0;
  std::uint64_t new_files_ = 0;
  std::uint64_t sent_bytes_ = 0;
  InOrder<Stored> window_;
};

Task<int> run_put(Session* session, const PutNamed* what, std::optional<UploadStates> states) {
  NamedPut put(*session, *what, states);
  const int code = co_await put.run();
  co_return code;
}

}  // namespace

int put_named(const ClientOptions& options, const PutNamed& what) {
  const auto states = UploadStates::of_user(platform::posix::environment());
  return run_session("put", options, [&what, &states](Session& session) {
    return run_put(&session, &what, states);
  });
}

}  // namespace ron::cli
