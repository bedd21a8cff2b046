#include "chain/log_verifier.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "chain/checkpoint_files.h"
#include "chain/frame_log.h"
#include "chain/proof.h"
#include "chain/proposal.h"
#include "chain/tree_check.h"

namespace ron::chain {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

class Verification {
 public:
  explicit Verification(const VerifyOptions* options)
      : options_(*options), check_(options->on_problem) {}

  Task<Result<LogVerdict>> run();

 private:
  Task<Result<void>> find_first();
  Task<Result<void>> read_notes();
  Task<Result<void>> read_snapshots();
  Task<Result<void>> begin_tree();
  Task<Result<void>> walk_log();
  Task<Result<void>> walk_tree();
  Task<Result<void>> find_other_leaves(const std::vector<OtherTile>* tiles);
  Task<Result<void>> walk_journal();
  Result<Checkpoint> open(const std::string& note) const;
  void damaged(std::string_view folder, const FrameDamage& damage);
  void check_pending(const Pending& pending);
  [[nodiscard]] std::string path(std::string_view name) const {
    return options_.directory + "/" + std::string(name);
  }

  const VerifyOptions& options_;
  LogCheck check_;
  LogVerdict verdict_;
  std::vector<std::uint64_t> snapshots_;  // versions with a file
  std::uint64_t tree_size_ = 0;           // of the newest checkpoint in the directory
  std::unique_ptr<TreeFilesReader> tree_;
  EntryLeaves leaves_;
};

Task<Result<LogVerdict>> Verification::run() {
  Result<void> done = co_await find_first();
  if (done) done = co_await read_notes();
  if (done) done = co_await read_snapshots();
  if (done) done = co_await begin_tree();
  if (done) done = co_await walk_log();
  if (done) done = co_await walk_tree();
  if (done) done = co_await walk_journal();
  if (!done) co_return fail(std::move(done.error()));
  verdict_.entries = check_.entries();
  verdict_.replayed = check_.replayed();
  verdict_.with_quorum = check_.with_quorum();
  verdict_.checkpoints = check_.checkpoints().size();
  verdict_.problems = check_.problems();
  verdict_.head = check_.head();
  verdict_.log = check_.log();
  co_return verdict_;
}

// By the names of its segments.
Task<Result<void>> Verification::find_first() {
  const auto names = co_await options_.disk->list(path("log/segments"));
  if (!names && names.error().code == Code::NotFound) {
    co_return fail(Code::NotFound, "there is no log in '" + options_.directory + "'");
  }
  if (!names) co_return fail(names.error());
  std::optional<std::uint64_t> first;
  for (const platform::DirectoryEntry& entry : *names) {
    const auto number = parse_segment_name(entry.name);
    if (number && (!first || *number < *first)) first = number;
  }
  verdict_.first = first.value_or(0);
  co_return Result<void>();
}

Result<Checkpoint> Verification::open(const std::string& note) const {
  if (options_.key) return open_checkpoint(note, *options_.key);
  const auto parsed = parse_note(note);
  if (!parsed) return fail(parsed.error());
  return parse_checkpoint(parsed->text);
}

Task<Result<void>> Verification::read_notes() {
  for (const KeptNote& kept : options_.kept) {
    auto checkpoint = open(kept.note);
    if (!checkpoint) {
      check_.report(kept.where, checkpoint.error().message);
    } else {
      check_.add({kept.where, std::move(*checkpoint)});
    }
  }
  const auto names = co_await options_.disk->list(path("checkpoints"));
  if (!names && names.error().code == Code::NotFound) co_return Result<void>();
  if (!names) co_return fail(names.error());
  for (const platform::DirectoryEntry& entry : *names) {
    const auto state = parse_checkpoint_file(entry.name, kStateSuffix);
    if (state) snapshots_.push_back(*state);
    const auto version = parse_checkpoint_file(entry.name, kNoteSuffix);
    if (!version) continue;
    const std::string where = "checkpoints/" + entry.name;
    const auto note = co_await read_whole_file(options_.disk, path(where), kMaxNoteBytes);
    auto checkpoint = note ? open(*note) : fail(note.error());
    if (!checkpoint || checkpoint->version != *version) {
      check_.report(where, checkpoint ? "it is of another version" : checkpoint.error().message);
      continue;
    }
    tree_size_ = std::max(tree_size_, checkpoint->size());
    check_.add({where, std::move(*checkpoint)});
  }
  std::ranges::sort(snapshots_);
  co_return Result<void>();
}

// All are checked; a pruned log begins with the oldest, and the newest says who the signers were.
Task<Result<void>> Verification::read_snapshots() {
  std::optional<State> oldest;
  std::optional<State> newest;
  for (const std::uint64_t version : snapshots_) {
    const auto& all = check_.checkpoints();
    const auto of_directory = [version](const NamedCheckpoint& named) {
      return named.checkpoint.version == version && named.where.starts_with("checkpoints/");
    };
    const auto named = std::ranges::find_if(all, of_directory);
    if (named == all.end()) continue;  // one that never got its note
    const std::string where = "checkpoints/" + checkpoint_file(version, kStateSuffix);
    const auto bytes = co_await read_whole_file(options_.disk, path(where), kMaxSnapshotBytes);
    const auto snapshot = bytes ? decode_snapshot(base::as_bytes(*bytes)) : fail(bytes.error());
    auto state = snapshot ? open_snapshot(*snapshot, named->checkpoint, Signatures::Verify)
                          : fail(snapshot.error());
    if (!state) {
      check_.report(where, state.error().message);
      continue;
    }
    if (!oldest && version >= verdict_.first) oldest = *state;
    newest = std::move(*state);
  }
  if (newest) {
    check_.set_governance(
        {newest->head(), newest->log(), newest->at_ms(), newest->governance_entries(), {}});
    check_.add_restart(std::move(*newest));
  }
  if (verdict_.first == 0) co_return Result<void>();
  if (oldest) {
    check_.add_restart(std::move(*oldest));
  } else {
    check_.report("checkpoints", "no state is left from which a log that begins with version " +
                                     std::to_string(verdict_.first) + " could be verified");
  }
  co_return Result<void>();
}

Task<Result<void>> Verification::begin_tree() {
  auto opened = co_await TreeFilesReader::open(options_.disk, path("tree"));
  if (!opened) co_return fail(std::move(opened.error()));
  tree_ = std::move(*opened);
  if (verdict_.first == 0) co_return Result<void>();
  auto before = co_await tree_frontier(tree_.get(), verdict_.first);
  if (before) check_.set_tree(std::move(*before));
  co_return Result<void>();
}

void Verification::damaged(std::string_view folder, const FrameDamage& damage) {
  const bool is_log = folder == "log";
  const std::string file = damage.file.substr(damage.file.rfind('/') + 1);
  std::string where = std::string(folder) + "/" + file;
  if (is_log && damage.frames != 0) where = version_name(damage.first);
  if (is_log && damage.frames > 1) {
    where = "versions " + std::to_string(damage.first) + " to " +
            std::to_string(damage.first + damage.frames - 1);
  }
  check_.report(where,
                damage.what + " (" + file + " at byte " + std::to_string(damage.offset) + ")");
}

Task<Result<void>> Verification::walk_log() {
  const FrameVisitor visit = [this](const FrameView& frame) -> Result<void> {
    check_.take(frame.number, frame.bytes);
    leaves_.add(frame.number, leaf_hash(frame.bytes));
    if (options_.on_entry) options_.on_entry(frame.number);
    return {};
  };
  const auto inspected =
      co_await FrameLog::inspect(options_.disk, path("log"), visit,
                                 [this](const FrameDamage& damage) { damaged("log", damage); });
  if (!inspected) co_return fail(inspected.error());
  verdict_.torn_bytes = inspected->torn_bytes;
  leaves_.finish();
  check_.finish();
  if (!options_.key && !check_.checkpoints().empty()) {
    check_.report("checkpoints",
                  "nobody said which key signs them: their signatures were not verified");
  }
  co_return Result<void>();
}

Task<Result<void>> Verification::walk_tree() {
  const auto others = co_await check_tree_files(tree_.get(), tree_size_, &leaves_, &check_);
  if (!others) {
    check_.report("tree", others.error().message);
    co_return Result<void>();
  }
  if (others->empty()) co_return Result<void>();
  co_return co_await find_other_leaves(&*others);
}

// Which versions' leaves are others than their entries': the log is read once more.
Task<Result<void>> Verification::find_other_leaves(const std::vector<OtherTile>* tiles) {
  const FrameVisitor visit = [this, tiles](const FrameView& frame) -> Result<void> {
    const auto tile = std::ranges::find(*tiles, frame.number / kTileWidth, &OtherTile::tile);
    const auto index = static_cast<std::size_t>(frame.number % kTileWidth);
    if (tile == tiles->end() || index >= tile->leaves.size()) return {};
    if (tile->leaves[index] != leaf_hash(frame.bytes)) {
      check_.report("tree/0", "the hash of " + version_name(frame.number) + " is not its entry's");
    }
    return {};
  };
  const auto inspected =
      co_await FrameLog::inspect(options_.disk, path("log"), visit, [](const FrameDamage&) {});
  if (!inspected) co_return fail(inspected.error());
  co_return Result<void>();
}

Task<Result<void>> Verification::walk_journal() {
  JournalReplay journal;
  const FrameVisitor visit = [this, &journal](const FrameView& frame) -> Result<void> {
    const auto good = replay(frame.bytes, journal);
    if (!good) {
      check_.report("pending, frame " + std::to_string(frame.number), good.error().message);
    }
    return {};
  };
  const auto inspected =
      co_await FrameLog::inspect(options_.disk, path("pending"), visit,
                                 [this](const FrameDamage& damage) { damaged("pending", damage); });
  // A log that no server has opened yet has none.
  if (!inspected && inspected.error().code == Code::NotFound) co_return Result<void>();
  if (!inspected) co_return fail(inspected.error());
  check_pending(journal.pending);
  co_return Result<void>();
}

// Of signers who are known as of HEAD; others' approvals count for nothing.
void Verification::check_pending(const Pending& pending) {
  verdict_.pending = pending.size();
  const State* const state = check_.state();
  if (state == nullptr || state->is_empty()) return;
  for (const auto& [id, proposal] : pending) {
    const Proposed& what = *proposal.what;
    if (!state->check(what.parsed)) continue;
    const std::string text = approval_text(state->log(), id, what.payload_b3, what.expires_ms);
    for (const Approval& approval : proposal.approvals) {
      const auto signer = state->signer_of(what.parsed.change, approval.signer);
      if (!signer) continue;
      const auto key = auth::VerifyingKey::make(signer->key);
      if (key && key->verify(base::as_bytes(text), approval.signature)) continue;
      check_.report("pending proposal " + id,
                    "the signature of signer " + approval.signer + " does not verify");
    }
  }
}

}  // namespace

Task<Result<LogVerdict>> verify_log(const VerifyOptions* options) {
  Verification verification(options);
  auto verdict = co_await verification.run();
  co_return verdict;
}

}  // namespace ron::chain
