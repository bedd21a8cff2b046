// For the tests of this folder: a registry's directory on a simulated machine, written as a server
// does it, step by step.
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "chain/checkpoint_files.h"
#include "chain/frame_log.h"
#include "chain/proof.h"
#include "chain/proposal.h"
#include "chain/test_frame_log.h"
#include "chain/test_signers.h"
#include "chain/tree_files.h"
#include "volume/files.h"

namespace ron::chain::testing {

// Three signers with threshold 2, and a key for the checkpoints. One process; destroying it without
// close() is a crash.
class RegistryFiles {
 public:
  static constexpr const char* kDirectory = "/registry";
  static constexpr std::uint8_t kOwnKey = 9;

  explicit RegistryFiles(volume::Machine& machine, std::uint64_t segment_bytes = 64 * base::kKiB)
      : machine_(machine),
        entries_(set_of(2, {1, 2, 3})),
        log_(options("log", segment_bytes)),
        journal_(options("pending", segment_bytes)),
        tree_(&machine.node.disk(), path("tree"), runtime::kTestLocks[1]) {
    good(run(machine_, disk().make_directory(kDirectory)));
    good(run(machine_, disk().make_directory(path("checkpoints"))));
    const FrameVisitor ignore = [](const FrameView&) { return base::Result<void>(); };
    good(run(machine_, log_.open(0, ignore)));
    good(run(machine_, journal_.open(0, ignore)));
    good(run(machine_, tree_.open(0)));
    append(entries_.entries().front());
  }

  void commit(const base::Value& change) {
    good(entries_.add(change, {1, 2}));
    append(entries_.entries().back());
  }
  // The same with a node of this name.
  void commit_node(std::string_view id) { commit(update_value({node_value(id)})); }
  // Whatever it is, for logs that must be refused.
  void force(const std::string& entry) { append(entry); }

  // The note; also on disk, with the snapshot. It announces that versions below `pruned_below` may
  // go.
  std::string checkpoint(std::uint64_t pruned_below = 0) {
    good(run(machine_, tree_.flush()));
    const auto root = run(machine_, tree_root(&tree_, tree_.size()));
    const Snapshot snapshot = take_snapshot(state());
    const auto signer = NoteSigner::make(log_origin(state().log()), key_of(kOwnKey));
    const auto text = print_checkpoint({signer->verifier().name(),
                                        *root,
                                        state().head().version,
                                        state().head().hash,
                                        std::max(pruned_below, log_.first()),
                                        snapshot.hash(),
                                        {}});
    const auto note = signer->sign(*text);
    write(checkpoint_file(state().head().version, kStateSuffix), encode(snapshot));
    write(checkpoint_file(state().head().version, kNoteSuffix), *note);
    return *note;
  }
  void prune(std::uint64_t below) { good(run(machine_, log_.drop_below(below))); }

  // A proposal in the journal, with one approval.
  void propose(const base::Value& change) {
    Entry entry = entries_.draft(change);
    entries_.approve(entry, {3});
    Proposal proposal;
    proposal.approvals = entry.approvals;
    auto what =
        make_proposed(entry.proposal, entry.payload, entry.at_ms, entry.expires_ms, "somebody");
    proposal.what = std::make_shared<const Proposed>(std::move(*what));
    good(run(machine_, journal_.append({journal_proposal(proposal)})));
  }

  void close() {
    good(run(machine_, log_.close()));
    good(run(machine_, journal_.close()));
  }

  [[nodiscard]] TestLog& entries() { return entries_; }
  [[nodiscard]] const State& state() { return entries_.state(); }
  [[nodiscard]] std::uint64_t first() const { return log_.first(); }
  static auth::PublicKey key() { return key_of(kOwnKey).public_key(); }
  static std::string path(std::string_view name) {
    return std::string(kDirectory) + "/" + std::string(name);
  }

 private:
  FrameLogOptions options(std::string_view name, std::uint64_t segment_bytes) {
    return {.disk = &machine_.node.disk(),
            .random = &machine_.node.host().random,
            .lock = &runtime::kTestLocks[0],
            .directory = path(name),
            .segment_bytes = segment_bytes,
            .on_trouble = {}};
  }
  template <class T>
  static void good(const base::Result<T>& result) {
    if (!result) throw std::runtime_error(result.error().message);
  }
  platform::Disk& disk() { return machine_.node.disk(); }

  void append(const std::string& bytes) {
    good(run(machine_, log_.append({bytes})));
    const TreeHash leaf = leaf_hash(base::as_bytes(bytes));
    tree_.append(std::span(&leaf, 1));
  }

  void write(std::string name, const std::string& bytes) {
    good(run(machine_, volume::replace_file(&disk(), path("checkpoints"), std::move(name),
                                            std::string_view(bytes))));
  }

  volume::Machine& machine_;
  TestLog entries_;
  FrameLog log_;
  FrameLog journal_;
  Tree tree_;
};

}  // namespace ron::chain::testing
