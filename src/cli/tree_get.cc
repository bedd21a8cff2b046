#include "cli/tree_get.h"

#include <memory>
#include <optional>
#include <utility>

#include "catalog/manifest_tree.h"
#include "cli/get.h"
#include "cli/session.h"
#include "cli/tree_ref.h"
#include "cli/tree_restore.h"
#include "platform/posix/local_files.h"
#include "platform/posix/local_tree.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;
using platform::posix::LocalTree;

Task<Result<void>> restore(Session* session, const GetNamed* what, const Meant* meant,
                           const catalog::Manifest* manifest, unsigned mode) {
  const auto entries = catalog::entries_below(*manifest, meant->path);
  if (what->out.empty() || what->out == "-") {
    co_return fail(Code::PreconditionFailed, "this is a tree of " + std::to_string(entries.size()) +
                                                 (entries.size() == 1 ? " entry" : " entries") +
                                                 ": say with -o DIR where it is to go; ron ls " +
                                                 meant->place() + " shows it");
  }
  auto opened = co_await session->off_loop(
      [path = what->out, mode, force = what->force]() -> Result<std::shared_ptr<LocalTree>> {
        auto tree = LocalTree::open(path, {.mode = mode, .force = force});
        if (!tree) return fail(std::move(tree.error()));
        return std::make_shared<LocalTree>(std::move(*tree));
      });
  if (!opened) co_return fail(std::move(opened.error()));
  session->resumes();
  TreeRestore work(*session, std::move(*opened), meant->path, what->sync);
  const auto counts = co_await work.run(entries);
  session->note(meant->place(), std::to_string(counts.entries) + " of " +
                                    std::to_string(entries.size()) + " entries in " + what->out +
                                    ": " + std::to_string(counts.fetched) + " files fetched, " +
                                    std::to_string(counts.kept) + " were there already");
  co_return Result<void>();
}

// What the path leads to in the tree: a file, or a directory to be restored.
Task<Result<std::optional<base::ObjectId>>> choose(Session* session, const GetNamed* what,
                                                   const Meant* meant, unsigned mode) {
  using Chosen = std::optional<base::ObjectId>;
  const bool is_object = meant->path.empty() && !meant->is_tree();
  if (is_object) co_return Chosen(meant->target);
  const auto manifest = co_await load_manifest(session, meant->target);
  if (!manifest) co_return fail(manifest.error());
  const catalog::ManifestEntry* const entry = catalog::find(*manifest, meant->path);
  if (entry != nullptr && entry->file() != nullptr) co_return Chosen(entry->file()->address);
  if (entry != nullptr && entry->link() != nullptr) {
    co_return fail(Code::PreconditionFailed,
                   "this is a symbolic link to '" + entry->link()->target + "' in its tree");
  }
  const bool is_there = entry != nullptr || meant->path.empty() ||
                        !catalog::entries_below(*manifest, meant->path).empty();
  if (!is_there) {
    co_return fail(Code::NotFound, "there is no '" + meant->path + "' in the tree " + meant->shown +
                                       "; ron ls " + meant->shown + " shows it");
  }
  const Result<void> restored = co_await restore(session, what, meant, &*manifest, mode);
  if (!restored) co_return fail(restored.error());
  co_return Chosen();
}

Task<int> run_get(Session* session, const GetNamed* what, unsigned mode) {
  const auto meant = co_await find_meant(session, what->what);
  if (!meant) {
    session->complain(what->what, meant.error());
    co_return session->exit_code();
  }
  const auto chosen = co_await choose(session, what, &*meant, mode);
  if (!chosen) session->complain(meant->place(), chosen.error());
  if (!chosen || !*chosen) co_return session->exit_code();
  const GetObject object{
      .id = **chosen, .out = what->out, .range = {}, .sync = what->sync, .force = what->force};
  co_return co_await get_one(session, &object, mode);
}

}  // namespace

int get_named(const ClientOptions& options, const GetNamed& what) {
  const unsigned mode = platform::posix::public_file_mode();
  return run_session("get", options,
                     [&what, mode](Session& session) { return run_get(&session, &what, mode); });
}

}  // namespace ron::cli
