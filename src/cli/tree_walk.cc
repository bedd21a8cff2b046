#include "cli/tree_walk.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/keyring.h"
#include "catalog/manifest_path.h"
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

WalkedFile skipped(std::string shown, std::string path, std::string reason, std::string relative) {
  return {Kind::Skipped,      std::move(shown), std::move(path), std::move(reason), {},
          std::move(relative)};
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

// Whether the path, which has no links, leads into the data directory of a server.
bool is_in_data_directory(std::string_view path) {
  constexpr std::array<std::string_view, 5> kParts{"keys", "storage", "index", "registry", "edge"};
  for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos;
       slash = slash == 0 ? std::string_view::npos : path.rfind('/', slash - 1)) {
    const std::string_view below_it = path.substr(slash + 1);
    const std::string_view part = below_it.substr(0, below_it.find('/'));
    if (std::ranges::find(kParts, part) == kParts.end()) continue;
    const std::string directory(path.substr(0, slash));
    if (platform::posix::file_facts(directory + "/keys/admin.token")) return true;
  }
  return false;
}

// What a link may be replaced by is looked at as closely as what stands in the directory itself.
base::Result<void> check_no_secret(const std::string& real) {
  if (is_in_data_directory(real)) {
    return base::fail(base::Code::NotAllowed,
                      "the link leads into the data directory of a server; remove the link");
  }
  if (real.ends_with("/admin.token")) {
    return base::fail(base::Code::NotAllowed,
                      "the link leads to the admin token of a server; remove the link");
  }
  if (real.ends_with(".key") && is_root_key(real)) {
    return base::fail(base::Code::NotAllowed,
                      "the link leads to a root key of a server; remove the link");
  }
  return {};
}

// A link as a tree may keep it, or what stands at its end.
struct Followed {
  bool stays = false;
  std::string real;
  FileKind kind = FileKind::Other;
};
base::Result<Followed> follow_link(const std::string& path, std::string_view relative) {
  const auto text = platform::posix::read_link(path);
  if (!text) return base::fail(text.error());
  if (!relative.empty() && catalog::check_link(relative, *text))
    return Followed{true, {}, FileKind::Link};
  const auto facts = platform::posix::target_facts(path);
  if (!facts) return base::fail(base::Code::NotFound, "a symbolic link that leads nowhere");
  if (facts->kind == FileKind::Other) return Followed{};
  auto real = platform::posix::real_path(path);
  if (!real) return base::fail(real.error());
  const auto fine = check_no_secret(*real);
  if (!fine) return base::fail(fine.error());
  return Followed{false, std::move(*real), facts->kind};
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
    } else if (levels_.back().at == levels_.back().entries.size()) {
      levels_.pop_back();
    } else {
      found = co_await next_entry();
    }
    if (found) co_return found;
  }
}

platform::Task<std::optional<WalkedFile>> TreeWalk::next_argument(std::string argument) {
  if (argument == "-") co_return WalkedFile{Kind::Stream, argument, {}, {}, {}};
  const auto target = co_await session_.off_loop([argument] { return target_of(argument); });
  if (!target) co_return failed(argument, target.error());
  if (target->kind == FileKind::Directory) {
    co_return co_await enter({target->path, argument, "", 0});
  }
  const Kind kind = target->kind == FileKind::Regular ? Kind::File : Kind::Stream;
  co_return WalkedFile{kind, argument, target->path, {}, {}};
}

platform::Task<std::optional<WalkedFile>> TreeWalk::next_entry() {
  Level& level = levels_.back();
  const LocalEntry& entry = level.entries[level.at++];
  Place place{below(level.path, entry.name), below(level.shown, entry.name),
              level.relative.empty() ? entry.name : below(level.relative, entry.name),
              level.anchor};
  const bool is_link = entry.kind == FileKind::Link;
  if (entry.kind == FileKind::Directory) co_return co_await enter(std::move(place));
  if (is_link && links_ == Links::Follow) co_return co_await follow(std::move(place));
  if (entry.kind == FileKind::Regular || (is_link && find_ == Find::Everything)) {
    co_return WalkedFile{is_link ? Kind::Link : Kind::File,
                         std::move(place.shown),
                         std::move(place.path),
                         {},
                         {},
                         std::move(place.relative),
                         place.anchor};
  }
  std::string reason = is_link ? "a symbolic link" : "not a regular file";
  if (find_ == Find::Everything) {
    reason += "; a tree has files, directories and symbolic links only";
  }
  co_return skipped(std::move(place.shown), std::move(place.path), std::move(reason),
                    std::move(place.relative));
}

// The directory's first file comes with a later call.
platform::Task<std::optional<WalkedFile>> TreeWalk::enter(Place place) {
  // Only behind a link that was followed can a directory be entered from inside itself.
  if (place.anchor > 0 && std::ranges::any_of(levels_, [&place](const Level& level) {
        return platform::posix::is_same_file(level.path, place.path);
      })) {
    co_return skipped(std::move(place.shown), std::move(place.path),
                      "links lead back to a directory that this is in", std::move(place.relative));
  }
  auto entries = co_await session_.off_loop([path = place.path] { return list_public(path); });
  if (!entries) co_return failed(std::move(place.shown), std::move(entries.error()));
  if (entries->empty() && find_ == Find::Everything && !place.relative.empty()) {
    co_return WalkedFile{Kind::EmptyDirectory,
                         std::move(place.shown),
                         std::move(place.path),
                         {},
                         {},
                         std::move(place.relative),
                         place.anchor};
  }
  levels_.push_back({std::move(place.path), std::move(place.shown), std::move(place.relative),
                     std::move(*entries), place.anchor, 0});
  co_return std::nullopt;
}

platform::Task<std::optional<WalkedFile>> TreeWalk::follow(Place place) {
  const std::string inside =
      find_ == Find::Everything ? place.relative.substr(place.anchor) : std::string();
  auto followed =
      co_await session_.off_loop([path = place.path, inside] { return follow_link(path, inside); });
  if (!followed && followed.error().code == base::Code::NotFound) {
    co_return skipped(std::move(place.shown), std::move(place.path), followed.error().message,
                      std::move(place.relative));
  }
  if (!followed) co_return failed(std::move(place.shown), std::move(followed.error()));
  if (followed->stays) {
    co_return WalkedFile{Kind::Link, std::move(place.shown),    std::move(place.path), {},
                         {},         std::move(place.relative), place.anchor};
  }
  if (followed->kind == FileKind::Other) {
    co_return skipped(std::move(place.shown), std::move(place.path),
                      "a symbolic link to a pipe or a device", std::move(place.relative));
  }
  place.path = std::move(followed->real);
  if (followed->kind == FileKind::Directory) {
    place.anchor = place.relative.size() + 1;
    co_return co_await enter(std::move(place));
  }
  co_return WalkedFile{Kind::File, std::move(place.shown),    std::move(place.path), {},
                       {},         std::move(place.relative), place.anchor};
}

}  // namespace ron::cli
