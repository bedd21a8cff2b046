// State: what the log says as of one version: who may approve, and every descriptor.
//
// A copy costs a few pointers and shares the rest, whatever the state holds: a reader keeps the one
// it began with, on any thread, while the next version is applied to another.
//
// The rules of what may follow are here and nowhere else: the committer asks them before it writes,
// and a verifier asks the same ones of what it reads. No I/O; one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "chain/change.h"
#include "chain/descriptor_map.h"
#include "chain/entry.h"
#include "chain/signers.h"

namespace ron::chain {

// Beyond this an update is refused; a replica must be able to hold all of them in memory.
inline constexpr std::size_t kMaxDescriptors = 100'000;
// Bounds of what a server adds to a state, so that a snapshot of it can always be read back. They
// are no rules of the log: a log that went beyond them before they were there is read all the same.
inline constexpr std::size_t kMaxDescriptorsBytes = 128 * base::kMiB;
inline constexpr std::size_t kMaxReplaced = 8192;  // descriptors that a supersede may have to undo
inline constexpr std::size_t kMaxGovernanceBytes = 64 * base::kMiB;  // entries about signers
struct StateBounds {
  std::size_t descriptors = kMaxDescriptors;
  std::size_t descriptors_bytes = kMaxDescriptorsBytes;
  std::size_t replaced = kMaxReplaced;
  std::size_t governance_bytes = kMaxGovernanceBytes;
};

// How far a proposal is.
struct Tally {
  std::uint64_t have = 0;  // of those who decide now
  std::uint64_t need = 0;
  std::uint64_t have_new = 0;  // of those who will decide, if the change makes it others
  std::uint64_t need_new = 0;

  [[nodiscard]] bool is_quorum() const noexcept { return have >= need && have_new >= need_new; }
  friend bool operator==(const Tally&, const Tally&) = default;
};

// Whether signatures are checked, which takes most of the time, or were before.
enum class Signatures : std::uint8_t { Verify, Trust };

class State {
 public:
  using Descriptors = DescriptorMap;  // by type/id

  [[nodiscard]] bool is_empty() const noexcept { return !head_; }
  // Not of an empty one.
  [[nodiscard]] const Head& head() const noexcept { return *head_; }
  [[nodiscard]] const base::ObjectId& log() const noexcept { return log_; }
  [[nodiscard]] std::int64_t at_ms() const noexcept { return at_ms_; }
  [[nodiscard]] const Governance& governance() const noexcept { return *governance_; }
  [[nodiscard]] const Descriptors& descriptors() const noexcept { return descriptors_; }
  // Of all descriptors together, as deterministic CBOR.
  [[nodiscard]] std::size_t descriptors_bytes() const noexcept { return descriptors_bytes_; }
  // A copy of the entries, in order, that made the signers what they are; the first is version 0.
  [[nodiscard]] std::vector<std::string> governance_entries() const;

  // Whether the change may follow HEAD, approvals aside. ChainMismatch: it wants another HEAD;
  // VersionSkew: what it speaks of is not so any more; Malformed, RevokedKey, Quota.
  [[nodiscard]] base::Result<void> check(const Payload& payload) const;
  // Whether a server has room for the state that the change leaves: Quota if it is beyond the
  // bounds. A change that makes nothing larger always fits, and so does a revocation.
  // `payload` passed check().
  [[nodiscard]] base::Result<void> check_room(const Payload& payload,
                                              const StateBounds& bounds = {}) const;
  // The signers as the change leaves them. `payload` passed check().
  [[nodiscard]] Governance governance_after(const Change& change) const;
  // Those of `approvals` that count at `at_ms`, whatever their signatures.
  [[nodiscard]] Tally tally(const Change& change, std::span<const Approval> approvals,
                            std::int64_t at_ms) const;
  // Why an approval by this signer does not count: NotAllowed, RevokedKey; nothing if it does.
  [[nodiscard]] std::optional<base::Error> refusal_of(const Change& change, std::string_view signer,
                                                      std::int64_t at_ms) const;
  // Whom the signer is: one of those who decide now, or of those who will.
  [[nodiscard]] std::optional<Signer> signer_of(const Change& change, std::string_view id) const;

  // The next version. `entry` is of `payload`, which passed check(), and `bytes` are its encoding.
  void apply(const Entry& entry, const Payload& payload, base::ByteView bytes,
             const base::ObjectId& hash);

  // What HEAD's change replaced, for a snapshot: (type/id, what was there).
  using Replaced = std::vector<std::pair<std::string, DescriptorPtr>>;
  [[nodiscard]] const Replaced& replaced() const noexcept { return undo_->descriptors; }
  // A state as a snapshot says it is: the governance is made from its entries again. An error if
  // they do not make one.
  static base::Result<State> restore(Head head, std::int64_t at_ms,
                                     std::span<const std::string> governance_entries,
                                     Descriptors descriptors, Replaced replaced,
                                     Signatures signatures);

 private:
  using Entries = std::vector<std::shared_ptr<const std::string>>;
  // The way back to the version before HEAD.
  struct Undo {
    Replaced descriptors;                          // the last one first
    std::shared_ptr<const Governance> governance;  // if the change was about signers
  };

  [[nodiscard]] base::Result<void> check_change(const Change& change,
                                                const Governance& current) const;
  [[nodiscard]] Governance governance_from(const Change& change, Governance current) const;
  // The signers before HEAD's change, on which one that supersedes it builds.
  [[nodiscard]] const Governance& governance_before() const noexcept {
    return undo_->governance ? *undo_->governance : *governance_;
  }
  // Each descriptor that the change sets, or null for one that it removes, in order; those that a
  // supersede brings back come first.
  template <class Put>
  void for_each_put(const Change& change, const Put& put) const;
  base::Result<void> restore_governance(std::string_view bytes, Signatures signatures);

  std::optional<Head> head_;
  base::ObjectId log_;
  std::int64_t at_ms_ = 0;
  // Immutable, and shared by the copies.
  std::shared_ptr<const Governance> governance_ = std::make_shared<const Governance>();
  std::shared_ptr<const Entries> governance_entries_ = std::make_shared<const Entries>();
  std::size_t governance_bytes_ = 0;  // of those entries
  Descriptors descriptors_;
  std::size_t descriptors_bytes_ = 0;
  std::shared_ptr<const Undo> undo_ = std::make_shared<const Undo>();
};

// ChainMismatch unless the entry is no older than what was before it, and its proposal had not
// expired.
base::Result<void> check_times(std::int64_t before_ms, const Entry& entry);
// InvalidSig, NotAllowed or RevokedKey unless every approval of the entry is one of `change` by
// somebody who may give it.
base::Result<void> check_signatures(const State& state, const Entry& entry, const Change& change);

// Whether the entry with these bytes may be the next version of `state`: its place in the chain,
// its times, its change and that enough of those who decide approved it. Errors say what is wrong.
struct CheckedEntry {
  Entry entry;
  Payload payload;
  base::ObjectId hash;
};
base::Result<CheckedEntry> check_next(const State& state, base::ByteView bytes,
                                      Signatures signatures);
// The same, and applies it.
base::Result<Entry> take_next(State& state, base::ByteView bytes, Signatures signatures);

}  // namespace ron::chain
