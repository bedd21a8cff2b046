#include "cli/tree_walk.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "auth/keyring.h"
#include "config/value.h"
#include "platform/posix/files.h"

namespace ron::cli {
namespace {

using platform::posix::FileKind;
using platform::posix::LocalEntry;
using Kind = WalkedFile::Kind;

WalkedFile failed(std::string shown, base::Error error) {
  return {Kind::Failed, std::move(shown), {}, {}, std::move(error)};
}

std::string below(const std::string& directory, const std::string& name) {
  return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

struct Target {
  std::string path;
  FileKind kind = FileKind::Other;
};

base::Result<Target> target_of(const std::string& path) {
  const auto own = platform::posix::file_facts(path);
  if (!own) return base::fail(own.error());
  if (own->kind != FileKind::Link) return Target{path, own->kind};
  const auto facts = platform::posix::target_facts(path);
  if (!facts) return base::fail(facts.error());
  // The link to a pipe that a shell makes for <(command) leads to no name.
  if (facts->kind == FileKind::Other) return Target{path, FileKind::Other};
  const auto real = platform::posix::real_path(path);
  if (!real) return base::fail(real.error());
  return Target{*real, facts->kind};
}

bool is_root_key(const std::string& path) {
  const auto text = platform::posix::read_small_file(path, auth::kMaxKeyFileBytes);
  return text && auth::parse_key_file(*text);
}

// Whoever puts a whole folder does not mean the data directory that a server has made in it, nor a
// token or a key it was told to use there: what is put may be read by everybody.
base::Result<void> check_no_secrets(const std::string& directory,
                                    const std::vector<LocalEntry>& entries) {
  const auto has = [&entries](std::string_view name) {
    return std::ranges::find(entries, name, &LocalEntry::name) != entries.end();
  };
  if (has("keys") && platform::posix::file_facts(below(directory, "keys/admin.token"))) {
    return base::fail(base::Code::NotAllowed,
                      "it is the data directory of a server, with its keys; move it out of the "
                      "folder, or put a folder that it is not in");
  }
  if (has("admin.token")) {
    return base::fail(base::Code::NotAllowed,
                      "the admin token of a server is in it; move admin.token out of the folder, "
                      "or put a folder that it is not in");
  }
  for (const LocalEntry& entry : entries) {
    if (!entry.name.ends_with(".key") || entry.kind != FileKind::Regular) continue;
    if (!is_root_key(below(directory, entry.name))) continue;
    return base::fail(base::Code::NotAllowed, "a root key of a server is in it; move " +
                                                  config::printable(entry.name) +
                                                  " out of the folder, or put a folder that it is "
                                                  "not in");
  }
  return {};
}

base::Result<std::vector<LocalEntry>> list_public(const std::string& directory) {
  auto entries = platform::posix::list_local(directory);
  if (!entries) return entries;
  const auto is_fine = check_no_secrets(directory, *entries);
  if (!is_fine) return base::fail(is_fine.error());
  return entries;
}

}  // namespace

platform::Task<std::optional<WalkedFile>> TreeWalk::next() {
  for (;;) {
    std::optional<WalkedFile> found;
    if (levels_.empty()) {
      if (argument_ == arguments_.size()) co_return std::nullopt;
      found = co_await next_argument(arguments_[argument_++]);
    } else if (Level& level = levels_.back(); level.at == level.entries.size()) {
      levels_.pop_back();
      continue;
    } else {
      const LocalEntry& entry = level.entries[level.at++];
      std::string path = below(level.path, entry.name);
      std::string shown = below(level.shown, entry.name);
      std::string relative =
          level.relative.empty() ? entry.name : below(level.relative, entry.name);
      const bool link = entry.kind == FileKind::Link;
      if (entry.kind == FileKind::Directory) {
        found = co_await enter(std::move(path), std::move(shown), std::move(relative));
      } else if (entry.kind == FileKind::Regular || (link && find_ == Find::Everything)) {
        found = WalkedFile{link ? Kind::Link : Kind::File,
                           std::move(shown),
                           std::move(path),
                           {},
                           {},
                           std::move(relative)};
      } else {
        found = WalkedFile{Kind::Skipped,
                           std::move(shown),
                           std::move(path),
                           link ? "skipped: a symbolic link" : "skipped: not a regular file",
                           {},
                           std::move(relative)};
      }
    }
    if (found) co_return found;
  }
}

platform::Task<std::optional<WalkedFile>> TreeWalk::next_argument(std::string argument) {
  if (argument == "-") co_return WalkedFile{Kind::Stream, argument, {}, {}, {}};
  const auto target = co_await session_.off_loop([argument] { return target_of(argument); });
  if (!target) co_return failed(argument, target.error());
  if (target->kind == FileKind::Directory) co_return co_await enter(target->path, argument, "");
  const Kind kind = target->kind == FileKind::Regular ? Kind::File : Kind::Stream;
  co_return WalkedFile{kind, argument, target->path, {}, {}};
}

// The directory's first file comes with a later call.
platform::Task<std::optional<WalkedFile>> TreeWalk::enter(std::string path, std::string shown,
                                                          std::string relative) {
  auto entries = co_await session_.off_loop([path] { return list_public(path); });
  if (!entries) co_return failed(std::move(shown), std::move(entries.error()));
  if (entries->empty() && find_ == Find::Everything && !relative.empty()) {
    co_return WalkedFile{Kind::EmptyDirectory, std::move(shown), std::move(path), {}, {},
                         std::move(relative)};
  }
  levels_.push_back(
      {std::move(path), std::move(shown), std::move(relative), std::move(*entries), 0});
  co_return std::nullopt;
}

}  // namespace ron::cli
