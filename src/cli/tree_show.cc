#include "cli/tree_show.h"

#include <span>
#include <utility>

#include "base/rfc3339.h"
#include "base/value.h"
#include "catalog/manifest_tree.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/tree_ref.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::Value;
using platform::Task;

constexpr int kExitDiffers = 1;
constexpr int kExitCannotTell = 2;
constexpr std::size_t kSizeColumns = 10;
constexpr std::size_t kPrintBytes = 64 * base::kKiB;  // lines are written together

std::string padded(std::string text, std::size_t columns) {
  if (text.size() < columns) text.insert(0, columns - text.size(), ' ');
  return text;
}

// `f` a file, `x` an executable one, `l` a link, `d` a directory.
char letter_of(const catalog::ManifestEntry* entry) {
  if (entry == nullptr) return 'd';
  if (const catalog::TreeFile* file = entry->file()) return file->exec ? 'x' : 'f';
  return entry->link() != nullptr ? 'l' : 'd';
}

Value to_value(const catalog::ManifestEntry& entry) {
  Value::Map map{{"path", entry.path}};
  if (const catalog::TreeFile* file = entry.file()) {
    map.emplace("address", file->address.text());
    map.emplace("length", file->length);
    map.emplace("type", file->type);
    if (file->exec) map.emplace("exec", true);
  } else if (const catalog::TreeLink* link = entry.link()) {
    map.emplace("link", link->target);
  } else {
    map.emplace("dir", true);
  }
  if (entry.mtime_s) map.emplace("mtime", base::print_rfc3339(*entry.mtime_s));
  return map;
}

std::string directory_line(const catalog::TreeChild& child, bool is_long) {
  std::string name = std::string(child.name) + "/\n";
  if (!is_long) return name;
  return "d " + padded(human_bytes(child.length), kSizeColumns) + "  " +
         std::to_string(child.entries) + (child.entries == 1 ? " entry  " : " entries  ") + name;
}

// Printed in few pieces, however many lines there are.
class Printer {
 public:
  explicit Printer(Session& session) noexcept : session_(session) {}
  // False when nobody reads it any more.
  bool add(const std::string& line) {
    pending_ += line;
    return pending_.size() < kPrintBytes || flush();
  }
  bool flush() { return session_.print(std::exchange(pending_, {})); }

 private:
  Session& session_;
  std::string pending_;
};

void print_entries(Session& session, std::span<const catalog::ManifestEntry> entries,
                   std::string_view prefix, const ListTree& what) {
  Printer printer(session);
  const std::size_t skipped = prefix.empty() ? 0 : prefix.size() + 1;
  for (const catalog::ManifestEntry& entry : entries) {
    const std::string_view shown = std::string_view(entry.path).substr(skipped);
    const std::string line = what.json ? base::print_json(to_value(entry)) + "\n"
                                       : entry_line(entry, shown, what.is_long);
    if (!printer.add(line)) return;
  }
  printer.flush();
}

void print_children(Session& session, const catalog::Manifest& manifest, std::string_view path,
                    bool is_long) {
  Printer printer(session);
  for (const catalog::TreeChild& child : catalog::children(manifest, path)) {
    const std::string line = child.entry == nullptr ? directory_line(child, is_long)
                                                    : entry_line(*child.entry, child.name, is_long);
    if (!printer.add(line)) return;
  }
  printer.flush();
}

struct Tree {
  Meant meant;
  catalog::Manifest manifest;
};
Task<Result<Tree>> load_tree(Session* session, std::string text) {
  auto meant = co_await find_meant(session, std::move(text));
  if (!meant) co_return fail(std::move(meant.error()));
  if (!meant->type.empty() && !meant->is_tree()) {
    co_return fail(Code::PreconditionFailed, meant->shown + " is not a tree but " + meant->type +
                                                 ", " + meant->target.text() +
                                                 "; ron name get shows it");
  }
  auto manifest = co_await load_manifest(session, meant->target);
  if (!manifest) co_return fail(std::move(manifest.error()));
  co_return Tree{std::move(*meant), std::move(*manifest)};
}

Result<void> show(Session& session, const Tree& tree, const ListTree& what) {
  const std::string& path = tree.meant.path;
  const catalog::ManifestEntry* const entry = catalog::find(tree.manifest, path);
  const auto below = catalog::entries_below(tree.manifest, path);
  if (entry != nullptr) {
    print_entries(session, {entry, 1}, "", what);
  } else if (below.empty() && !path.empty()) {
    return fail(Code::NotFound, "there is no '" + path + "' in the tree " + tree.meant.shown);
  } else if (what.recursive || what.json) {
    print_entries(session, below, path, what);
  } else {
    print_children(session, tree.manifest, path, what.is_long);
  }
  return {};
}

Task<int> run_list(Session* session, const ListTree* what) {
  const auto tree = co_await load_tree(session, what->what);
  const Result<void> shown = tree ? show(*session, *tree, *what) : fail(tree.error());
  if (!shown) session->complain(what->what, shown.error());
  co_return session->exit_code();
}

// A place in a tree may be compared as well: what stands below it, without its own path.
catalog::Manifest part_of(Tree&& tree) {
  const std::string& path = tree.meant.path;
  if (path.empty()) return std::move(tree.manifest);
  catalog::Manifest part;
  for (const catalog::ManifestEntry& entry : catalog::entries_below(tree.manifest, path)) {
    part.entries.push_back(entry);
    part.entries.back().path.erase(0, path.size() + 1);
  }
  return part;
}

Value to_value(const catalog::TreeChange& change) {
  Value::Map map{{"path", change.path()}, {"change", change_line(change).substr(0, 1)}};
  if (change.before != nullptr) map.emplace("before", to_value(*change.before));
  if (change.after != nullptr) map.emplace("after", to_value(*change.after));
  return map;
}

Task<int> run_diff(Session* session, const DiffTrees* what) {
  auto before = co_await load_tree(session, what->before);
  if (!before) session->complain(what->before, before.error());
  auto after = co_await load_tree(session, what->after);
  if (!after) session->complain(what->after, after.error());
  if (!before || !after) co_return kExitCannotTell;
  const catalog::Manifest old_tree = part_of(std::move(*before));
  const catalog::Manifest new_tree = part_of(std::move(*after));
  const auto changes = catalog::diff(old_tree, new_tree);
  Printer printer(*session);
  for (const catalog::TreeChange& change : changes) {
    const std::string line =
        what->json ? base::print_json(to_value(change)) + "\n" : change_line(change);
    if (!printer.add(line)) break;
  }
  printer.flush();
  if (session->exit_code() != kExitClean) co_return session->exit_code();
  co_return changes.empty() ? kExitClean : kExitDiffers;
}

}  // namespace

std::string entry_line(const catalog::ManifestEntry& entry, std::string_view shown, bool is_long) {
  const catalog::TreeFile* const file = entry.file();
  const catalog::TreeLink* const link = entry.link();
  std::string name(shown);
  if (file == nullptr && link == nullptr) name += '/';
  if (!is_long) return name + "\n";
  std::string line(1, letter_of(&entry));
  line += " " + padded(file != nullptr ? human_bytes(file->length) : "", kSizeColumns) + "  ";
  if (entry.mtime_s) line += base::print_rfc3339(*entry.mtime_s) + "  ";
  if (file != nullptr) line += file->address.text() + "  ";
  line += name;
  if (link != nullptr) line += " -> " + link->target;
  return line + "\n";
}

std::string change_line(const catalog::TreeChange& change) {
  const char letter = change.before == nullptr ? 'A' : change.after == nullptr ? 'D' : 'M';
  return std::string(1, letter) + "  " + change.path() + "\n";
}

int list_tree(const ClientOptions& options, const ListTree& what) {
  return run_session("ls", options,
                     [&what](Session& session) { return run_list(&session, &what); });
}

int diff_trees(const ClientOptions& options, const DiffTrees& what) {
  return run_session("diff", options,
                     [&what](Session& session) { return run_diff(&session, &what); });
}

}  // namespace ron::cli
