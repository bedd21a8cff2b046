// LogCheck: a log's entries, one after the other, against every rule there is: the chain of
// hashes, times, changes, the quorum of each version with its signatures, and what signed
// checkpoints say of the chain, the tree and the state.
//
// Nothing is taken for granted but the key of the checkpoints and the genesis. Whoever reads the
// entries, from files or over HTTP, feeds them in; there is no I/O here. It goes on after a
// problem: with the chain of hashes, and with quorums as far as a later checkpoint's summary tells
// who the signers were, until a snapshot allows all of it again.
//
// One thread. Memory: the state as of the entry, the states to go on from (two at most), the
// checkpoints, and the proposals committed in the time one may take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/object_id.h"
#include "chain/checkpoint.h"
#include "chain/snapshot.h"
#include "chain/state.h"
#include "chain/tlog_tree.h"

namespace ron::chain {

// Something that is not as it must be.
struct Problem {
  std::string where;  // `version 17`, `checkpoints/00000000000000000017.note`
  std::string what;
  friend bool operator==(const Problem&, const Problem&) = default;
};
// Must not wait.
using OnProblem = std::function<void(const Problem&)>;

std::string version_name(std::uint64_t version);

// A checkpoint whose signature was checked, and where it was found.
struct NamedCheckpoint {
  std::string where;
  Checkpoint checkpoint;
  bool root_confirmed = false;   // by the entries from the beginning on, or by the tree before them
  bool state_confirmed = false;  // by replaying the log
};

// The proposals that may not be committed again: those of the entries so far whose time is not
// over.
class CommittedProposals {
 public:
  // The version that has committed the entry's proposal before, if one has.
  std::optional<std::uint64_t> add(const Entry& entry);

 private:
  struct Place {
    std::uint64_t version = 0;
    std::int64_t expires_ms = 0;
  };
  static constexpr std::size_t kFewest = 1024;  // below this nothing is tidied up

  std::unordered_map<std::string, Place> by_id_;
  std::size_t tidy_at_ = kFewest;
};

class LogCheck {
 public:
  explicit LogCheck(OnProblem on_problem) : on_problem_(std::move(on_problem)) {}

  // Before the first entry. Any order.
  void add(NamedCheckpoint checkpoint);
  // A state to go on from once its version has been reached: of a snapshot that a signed checkpoint
  // speaks of.
  void add_restart(State state);
  // Who the signers were up to the summary's version; the summary is a signed checkpoint's.
  void set_governance(Summary summary) { governance_ = std::move(summary); }
  // The tree before the first entry, if that is not version 0.
  void set_tree(TreeFrontier tree) { tree_ = std::move(tree); }

  // Entries in order. A version that is left out was lost, and whoever reads the log has said so.
  void take(std::uint64_t version, base::ByteView bytes);
  // No entry follows.
  void finish();

  [[nodiscard]] std::uint64_t problems() const noexcept { return problems_; }
  [[nodiscard]] std::uint64_t entries() const noexcept { return entries_; }
  // Whose change was checked against the state before them; whose signatures make a quorum.
  [[nodiscard]] std::uint64_t replayed() const noexcept { return replayed_; }
  [[nodiscard]] std::uint64_t with_quorum() const noexcept { return with_quorum_; }
  // The last one that was taken.
  [[nodiscard]] const std::optional<Head>& head() const noexcept { return head_; }
  // The log's id, once it is known.
  [[nodiscard]] const std::optional<base::ObjectId>& log() const noexcept { return log_; }
  // Who the signers are as of the last entry; null if a problem has made that unknown.
  [[nodiscard]] const State* state() const noexcept { return state_ ? &*state_ : nullptr; }
  [[nodiscard]] std::vector<NamedCheckpoint>& checkpoints() noexcept { return checkpoints_; }
  void report(std::string where, std::string what);

 private:
  bool replay(std::uint64_t version, base::ByteView bytes);
  void follow(std::uint64_t version, base::ByteView bytes, const base::ObjectId& hash);
  void check_approvals(const Entry& entry, const base::ObjectId& hash);
  void compare(NamedCheckpoint& named, const base::ObjectId& hash);
  void know_log(const base::ObjectId& log);
  void check_proposal(const Entry& entry);
  void check_first(std::uint64_t version);

  const OnProblem on_problem_;
  std::vector<NamedCheckpoint> checkpoints_;  // by version once entries come
  std::size_t next_checkpoint_ = 0;
  std::vector<State> restarts_;
  std::optional<Summary> governance_;
  std::optional<State> state_;
  std::optional<TreeFrontier> tree_;
  std::optional<Head> head_;
  std::optional<base::ObjectId> log_;
  CommittedProposals committed_;
  std::int64_t at_ms_ = 0;
  bool begun_ = false;
  std::uint64_t problems_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t replayed_ = 0;
  std::uint64_t with_quorum_ = 0;
};

}  // namespace ron::chain
