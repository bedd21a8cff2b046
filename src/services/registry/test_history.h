// For tests and simulations: the property the registry exists for. Whatever clients send and
// wherever a machine stops, no version is without the quorum of its moment, none is there twice or
// missing, and nothing that was acknowledged is lost.
//
// A history sends random proposals, approvals and commits, good and bad, through the real planner,
// views, journal frames and log frames, in batches that are synced, refused by the disk or cut off
// by a crash. LogJudge judges every version as soon as it is planned, and says of each request what
// must come of it. Single-threaded, no I/O.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "auth/ed25519.h"
#include "base/value.h"
#include "platform/random.h"
#include "services/registry/planner.h"
#include "services/registry/test_log_judge.h"
#include "services/registry/views.h"

namespace ron::registry {

// Known mistakes, to show that a history finds them.
enum class HistoryPlant : std::uint8_t {
  None,
  SkipQuorum,      // a commit does not ask how many have approved
  CountTwice,      // an approval counts twice
  CountAnybody,    // approvals count whoever gave them, revoked and expired ones too
  WideThreshold,   // a threshold may be the number of signers
  SkipSignature,   // nobody looks at signatures
  ForgetCommits,   // a start does not remember what was committed
  KeepCommitted,   // nor takes it out of what is pending
  LoseJournal,     // nor reads the journal
  LoseWithdrawal,  // nor what it says was withdrawn
  AnswerEarly,     // answers come before the sync
  KeepSuperseded,  // a supersede does not undo what HEAD changed
};
struct HistoryPlantName {
  std::string_view name;
  HistoryPlant plant;
  std::string_view help;
};
extern const std::array<HistoryPlantName, 11> kHistoryPlants;

// What was done, of one history or of many.
struct HistoryCounts {
  std::uint64_t proposals = 0;  // accepted
  std::uint64_t approvals = 0;  // accepted
  std::uint64_t commits = 0;    // new versions
  std::uint64_t repeated = 0;   // commits asked for again
  std::uint64_t withdrawn = 0;  // proposals
  std::uint64_t rotations = 0;  // committed, as are the next two
  std::uint64_t revocations = 0;
  std::uint64_t supersedes = 0;
  std::uint64_t syncs = 0;
  std::uint64_t refused_batches = 0;
  std::uint64_t crashes = 0;
  std::uint64_t lost_versions = 0;   // planned and not synced, and gone after a crash
  std::uint64_t found_versions = 0;  // and there
  std::uint64_t clock_back = 0;
  std::map<std::string, std::uint64_t> refusals;  // "approve InvalidSig" and so on

  void add(const HistoryCounts& other);
};

// Keys and what they signed, for as many histories as use them. One thread.
class Keyring {
 public:
  static constexpr std::size_t kKeys = 10;

  Keyring();
  [[nodiscard]] const std::string& id(std::size_t key) const { return ids_[key]; }
  [[nodiscard]] const auth::PublicKey& public_key(std::size_t key) const {
    return keys_[key].public_key();
  }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view id) const;
  auth::Signature sign(std::size_t key, const std::string& text);
  SignatureCache& cache() noexcept { return cache_; }

 private:
  static constexpr std::size_t kMost = 500'000;
  std::vector<auth::SigningKey> keys_;
  std::vector<std::string> ids_;
  std::map<std::pair<std::size_t, std::string>, auth::Signature> signed_;
  SignatureCache cache_;
};

class History {
 public:
  using Print = std::function<void(std::string_view line)>;
  static constexpr const char* kProposer = "acme";  // the tenant of every proposal

  // `print` gets the story; none: silent.
  History(std::uint64_t seed, Keyring& keys, HistoryPlant plant = HistoryPlant::None,
          Print print = {});
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // What was violated; empty if nothing. Once.
  std::string run();
  [[nodiscard]] const HistoryCounts& counts() const noexcept { return counts_; }
  // Of everything that happened.
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  // What a client was told, and what it sent.
  struct Known {
    std::string payload;
    base::Value value;
    base::ObjectId payload_b3;
    std::int64_t expires_ms = 0;
    bool is_told = false;  // acknowledged
    LogJudge::Approvals planned;
    std::set<std::string> told;                 // of those
    std::optional<std::uint64_t> told_version;  // its commit was acknowledged
    bool may_be_withdrawn = false;              // somebody tried
    bool told_withdrawn = false;                // and was told that it is
  };
  enum class Flaw : std::uint8_t { None, Flipped, ForeignLog, Replayed, OtherExpiry, OtherSigner };

  void violate(const std::string& what);
  void note(const std::string& what);
  void expect(bool holds, const std::string& what) {
    if (!holds) violate(what);
  }
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  bool chance(std::uint64_t percent) { return below(100) < percent; }

  static ProposalRules rules() noexcept;
  void begin();
  void step();
  void move_clock();
  // What is sent.
  base::Value any_payload();
  base::Value any_change(bool may_supersede);
  base::Value any_update();
  base::Value any_rotation();
  base::Value any_revocation();
  base::Value any_descriptor();
  void propose();
  void approve_any();
  void approve(const std::string& id, std::size_t key, Flaw flaw);
  void commit_any();
  void commit(const std::string& id);
  void withdraw_any();
  void push_through();
  void expire();
  [[nodiscard]] std::optional<std::string> any_proposal();
  [[nodiscard]] bool is_pending(const std::string& id) const;

  // The door of the service: what it checks before the committer sees an approval.
  base::Result<Approved> try_approve(const std::string& id, const chain::Approval& approval);
  base::Result<CommittedAs> try_commit(const std::string& id);
  base::Result<Proposal> try_propose(const base::Value& value);
  void force_commit(const std::string& id, std::vector<chain::Approval> approvals);
  base::Result<CommittedAs> commit_on_top(const std::string& id);
  void check_approved(const std::string& id, std::size_t key, bool is_genuine,
                      const base::Result<Approved>& answer);
  void count_refusal(std::string_view action, const base::Error& why);
  void judge_planned();
  void count_committed(const base::Value& payload);

  // Ends of a batch.
  void end_batch();
  void sync();
  void refuse_batch();
  void crash();
  void recover();
  void forget_planned();
  void check_everything();
  void check_state(const chain::State& state, std::uint64_t size);
  void check_pending();

  Keyring& keys_;
  const HistoryPlant plant_;
  const Print print_;
  platform::FastRandom random_;
  std::uint64_t hash_ = 0;
  std::int64_t now_ms_;
  std::int64_t latest_ms_;  // the clock was there once
  std::uint16_t next_id_ = 0;

  // What is durable.
  std::vector<std::string> journal_;
  std::vector<std::string> log_;
  // And not yet.
  Plan plan_;
  std::size_t judged_ = 0;                   // versions of the plan
  std::vector<std::function<void()>> tell_;  // once it is durable

  Planner planner_;
  Views views_;
  LogJudge judge_;
  std::map<std::string, Known> known_;
  HistoryCounts counts_;
  std::string violation_;
};

}  // namespace ron::registry
