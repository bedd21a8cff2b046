#include "cli/tree_check.h"

#include <utility>

#include "catalog/manifest.h"
#include "catalog/manifest_path.h"
#include "cli/local_sinks.h"
#include "platform/posix/local_files.h"

namespace ron::cli {
namespace {

using base::Code;
using base::Result;
using platform::Task;
using Walked = WalkedFile::Kind;

// As many entries are looked at in one job of the blocking pool.
constexpr std::size_t kBatchEntries = 256;

struct Judged {
  std::string shown;
  std::optional<TreeFault> fault;
};

// Blocks.
std::optional<TreeFault> find_fault_on_disk(const WalkedFile& file) {
  auto fault = find_fault(file);
  if (fault) return fault;
  if (file.kind == Walked::Link) {
    const auto target = platform::posix::read_link(file.path);
    if (!target) return TreeFault{target.error(), false};
    return find_link_fault(file, *target);
  }
  if (file.kind != Walked::File) return std::nullopt;
  const auto readable = platform::posix::check_readable(file.path);
  if (!readable) return TreeFault{readable.error(), false};
  return std::nullopt;
}

Result<std::vector<Judged>> judge(const std::vector<WalkedFile>& files) {
  std::vector<Judged> found;
  for (const WalkedFile& file : files) {
    auto fault = find_fault_on_disk(file);
    if (fault) found.push_back({file.shown, std::move(fault)});
  }
  return found;
}

Task<void> check_batch(Session* session, std::vector<WalkedFile> batch, TreeFaults* faults) {
  auto judged = co_await session->off_loop([files = std::move(batch)] { return judge(files); });
  if (!judged) {
    faults->add("", {judged.error(), false});
    co_return;
  }
  for (Judged& each : *judged) faults->add(std::move(each.shown), std::move(*each.fault));
}

std::string more(std::uint64_t count) {
  return "and " + std::to_string(count) + " more like the above";
}

}  // namespace

std::string count_of(std::uint64_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

std::optional<TreeFault> find_fault(const WalkedFile& file) {
  if (file.kind == Walked::Failed) return TreeFault{file.error, false};
  if (const auto sound = catalog::check_path(file.relative); !sound) {
    return TreeFault{sound.error(), true};
  }
  if (is_part_path(file.relative)) {
    return TreeFault{
        {Code::PreconditionFailed, "ron get has left it unfinished; finish that, or remove it"},
        true};
  }
  if (file.kind == Walked::Skipped) {
    return TreeFault{{Code::Malformed, file.reason}, true};
  }
  return std::nullopt;
}

std::optional<TreeFault> find_link_fault(const WalkedFile& file, std::string_view target) {
  const auto stays = catalog::check_link(file.relative.substr(file.anchor), target);
  if (stays) return std::nullopt;
  return TreeFault{.error = {stays.error().code, "a tree keeps links to places within it only: " +
                                                     stays.error().message},
                   .can_skip = true,
                   .is_link = true};
}

void TreeFaults::add(std::string shown, TreeFault fault) {
  Kind& kind = fault.can_skip ? skippable_ : refused_;
  ++kind.count;
  if (fault.is_link) ++kind.links;
  if (kind.first.size() < kMostListed) {
    kind.first.push_back({std::move(shown), std::move(fault.error)});
  }
}

void TreeFaults::report(Session& session, bool allow_skipped) const {
  for (const Listed& each : skippable_.first) {
    if (allow_skipped) session.note(each.shown, "skipped: " + each.error.message);
    if (!allow_skipped) session.complain(each.shown, each.error);
  }
  const std::uint64_t unlisted = skippable_.count - skippable_.first.size();
  if (unlisted > 0 && allow_skipped) session.note("", more(unlisted));
  if (unlisted > 0 && !allow_skipped) session.complain("", more(unlisted));
  for (const Listed& each : refused_.first) session.complain(each.shown, each.error);
  if (refused_.count > refused_.first.size()) {
    session.complain("", more(refused_.count - refused_.first.size()));
  }
}

std::string TreeFaults::summary(bool allow_skipped) const {
  std::string text;
  if (skippable_.count > 0 && !allow_skipped) {
    text = count_of(skippable_.count, "entry", "entries") + " cannot be in a tree";
    text +=
        " (--allow-skipped leaves " + std::string(skippable_.count == 1 ? "it" : "them") + " out";
    if (skippable_.links > 0) text += ", --follow stores what links outside lead to";
    text += ")";
  }
  if (refused_.count == 0) return text;
  if (!text.empty()) text += " and ";
  return text + count_of(refused_.count, "entry cannot be stored", "entries cannot be stored");
}

Task<TreeFaults> check_tree(Session* session, std::string directory, TreeWalk::Links links) {
  TreeFaults faults;
  TreeWalk walk(*session, {std::move(directory)}, TreeWalk::Find::Everything, links);
  std::vector<WalkedFile> batch;
  for (std::uint64_t entries = 0;; ++entries) {
    auto file = co_await walk.next();
    const bool is_last = !file || entries == catalog::kMaxManifestEntries;
    if (file) batch.push_back(std::move(*file));
    if (is_last || batch.size() == kBatchEntries) {
      co_await check_batch(session, std::exchange(batch, {}), &faults);
    }
    if (is_last && file) {
      faults.add("", {{Code::BodyCap, "a tree has at most " +
                                          std::to_string(catalog::kMaxManifestEntries) +
                                          " entries, and the directory has more"},
                      false});
    }
    if (is_last) co_return std::move(faults);
  }
}

}  // namespace ron::cli
