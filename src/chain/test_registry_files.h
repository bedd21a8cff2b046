// For the tests of this folder: a registry's directory on a simulated machine, written as a server
// does it, step by step.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "b3/hash.h"
#include "chain/checkpoint_files.h"
#include "chain/frame_log.h"
#include "chain/genesis.h"
#include "chain/proof.h"
#include "chain/proposal.h"
#include "chain/test_frame_log.h"
#include "chain/tree_files.h"
#include "volume/files.h"

namespace ron::chain::testing {

inline auth::SigningKey test_key(unsigned number) {
  std::array<std::byte, auth::SigningKey::kSeedBytes> seed{};
  seed.fill(static_cast<std::byte>(number));
  return std::move(*auth::SigningKey::from_seed(seed));
}

inline base::Value region(std::string_view id) {
  return base::Value::Map{{"type", "region"}, {"id", id}};
}
inline base::Value update(std::string_view id) {
  return base::Value::Map{{"kind", "update"}, {"set", base::Value::Array{region(id)}}};
}

// One process; destroying it without close() is a crash.
class RegistryFiles {
 public:
  static constexpr const char* kDirectory = "/registry";
  static constexpr unsigned kSigners = 3;
  static constexpr unsigned kOwnKey = 9;  // of the checkpoints

  explicit RegistryFiles(volume::Machine& machine, std::uint64_t segment_bytes = 64 * base::kKiB)
      : machine_(machine),
        log_(options("log", segment_bytes)),
        journal_(options("pending", segment_bytes)),
        tree_(&machine.node.disk(), path("tree"), runtime::kTestLocks[1]) {
    for (unsigned i = 0; i < kSigners; ++i) keys_.push_back(test_key(1 + i));
    good(run(machine_, disk().make_directory(kDirectory)));
    good(run(machine_, disk().make_directory(path("checkpoints"))));
    const FrameVisitor ignore = [](const FrameView&) { return base::Result<void>(); };
    good(run(machine_, log_.open(0, ignore)));
    good(run(machine_, journal_.open(0, ignore)));
    good(run(machine_, tree_.open(0)));
    begin();
  }

  void commit(const base::Value& change, std::vector<unsigned> by = {0, 1}) {
    commit_payload(base::encode_cbor(base::Value::Map{{"change", change}}), std::move(by));
  }
  // Without asking whether it may be: for logs that must be refused.
  void force(Entry entry) { append(encode(entry)); }
  Entry make_entry(std::string payload, const std::vector<unsigned>& by) {
    Entry entry;
    entry.version = state_.head().version + 1;
    entry.prev = state_.head().hash;
    entry.proposal = base::Ulid(kAt, 0, entry.version);
    entry.payload = std::move(payload);
    entry.at_ms = kAt + static_cast<std::int64_t>(entry.version);
    entry.expires_ms = kAt + 86'400'000;
    entry.approvals = approvals(entry.proposal, entry.payload, entry.expires_ms, by);
    return entry;
  }

  // The note; also on disk, with the snapshot.
  std::string checkpoint() {
    good(run(machine_, tree_.flush()));
    const auto root = run(machine_, tree_root(&tree_, tree_.size()));
    const Snapshot snapshot = take_snapshot(state_);
    const auto signer = NoteSigner::make(log_origin(state_.log()), test_key(kOwnKey));
    const auto text = print_checkpoint({signer->verifier().name(),
                                        *root,
                                        state_.head().version,
                                        state_.head().hash,
                                        log_.first(),
                                        snapshot.hash(),
                                        {}});
    const auto note = signer->sign(*text);
    write(checkpoint_file(state_.head().version, kStateSuffix), encode(snapshot));
    write(checkpoint_file(state_.head().version, kNoteSuffix), *note);
    return *note;
  }
  void prune(std::uint64_t below) { good(run(machine_, log_.drop_below(below))); }

  // A proposal in the journal with one approval.
  void propose(const base::Value& change) {
    const base::Ulid id(kAt, 1, log_.next());
    std::string payload = base::encode_cbor(base::Value::Map{{"change", change}});
    Proposal proposal;
    proposal.approvals = approvals(id, payload, kAt + 86'400'000, {2});
    auto what = make_proposed(id, std::move(payload), kAt, kAt + 86'400'000, "");
    proposal.what = std::make_shared<const Proposed>(std::move(*what));
    good(run(machine_, journal_.append({journal_proposal(proposal)})));
  }

  void close() {
    good(run(machine_, log_.close()));
    good(run(machine_, journal_.close()));
  }

  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] std::uint64_t first() const { return log_.first(); }
  static auth::PublicKey key() { return test_key(kOwnKey).public_key(); }
  static std::string path(std::string_view name) {
    return std::string(kDirectory) + "/" + std::string(name);
  }

 private:
  static constexpr std::int64_t kAt = 1'800'000'000'000;

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

  void begin() {
    std::vector<Signer> signers;
    for (unsigned i = 0; i < kSigners; ++i) {
      signers.push_back(make_signer("signer " + std::to_string(i), keys_[i].public_key()));
    }
    const auto set = make_signer_set(2, std::move(signers));
    platform::FastRandom random(1);
    const std::string bytes = genesis_entry(*set, kAt, random);
    good(take_next(state_, base::as_bytes(bytes), Signatures::Verify));
    append(bytes);
  }

  void commit_payload(std::string payload, const std::vector<unsigned>& by) {
    const std::string bytes = encode(make_entry(std::move(payload), by));
    good(take_next(state_, base::as_bytes(bytes), Signatures::Verify));
    append(bytes);
  }

  void append(const std::string& bytes) {
    good(run(machine_, log_.append({bytes})));
    const TreeHash leaf = leaf_hash(base::as_bytes(bytes));
    tree_.append(std::span(&leaf, 1));
  }

  std::vector<Approval> approvals(const base::Ulid& id, std::string_view payload,
                                  std::int64_t expires_ms, const std::vector<unsigned>& by) {
    const std::string text =
        approval_text(state_.log(), id.text(), b3::hash(base::as_bytes(payload)), expires_ms);
    std::vector<Approval> out;
    for (const unsigned index : by) {
      const auto signature = keys_[index].sign(base::as_bytes(text));
      out.push_back({signer_id(keys_[index].public_key()), *signature});
    }
    std::ranges::sort(out, {}, &Approval::signer);
    return out;
  }

  void write(std::string name, const std::string& bytes) {
    good(run(machine_, volume::replace_file(&disk(), path("checkpoints"), std::move(name),
                                            std::string_view(bytes))));
  }

  volume::Machine& machine_;
  std::vector<auth::SigningKey> keys_;
  State state_;
  FrameLog log_;
  FrameLog journal_;
  Tree tree_;
};

}  // namespace ron::chain::testing
