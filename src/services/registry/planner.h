// Planner: what each proposal, approval and commit comes to, given the state and the jobs before
// it.
//
// It decides and writes nothing: a plan says what has to become durable before anyone is answered.
// The committer owns it; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/ulid.h"
#include "chain/state.h"
#include "services/registry/events.h"
#include "services/registry/jobs.h"
#include "services/registry/proposal.h"
#include "services/registry/views.h"

namespace ron::registry {

// What a batch makes durable, and then publishes.
struct Plan {
  std::vector<std::string> journal;  // frames
  std::vector<Version> versions;
  std::vector<std::pair<std::string, std::optional<Proposal>>> pending;  // changes, in order
  std::vector<RegistryEvent> events;
  std::size_t bytes = 0;  // of frames and versions

  [[nodiscard]] bool is_empty() const noexcept { return journal.empty() && versions.empty(); }
};

// The latest commits by their proposal, so that a commit can be asked for twice. Bounded.
class RecentCommits {
 public:
  static constexpr std::size_t kMost = 16'384;

  void add(std::string_view proposal, const chain::Head& head);
  // What was never durable.
  void forget_above(std::uint64_t version);
  [[nodiscard]] std::optional<chain::Head> find(std::string_view proposal) const;

 private:
  struct Place {
    std::string proposal;
    std::uint64_t version = 0;
  };
  std::unordered_map<std::string, chain::Head> by_proposal_;
  std::vector<Place> ring_;  // the oldest is overwritten
  std::size_t next_ = 0;
};

// How many proposals may be pending. One tenant has a share of them, so that it cannot keep the
// others from proposing. Changes of who decides find room when everything else is full: kReserved
// of them beyond max_pending, kReservedPerTenant of each tenant beyond its share.
struct ProposalRules {
  static constexpr std::size_t kReserved = 16;
  static constexpr std::size_t kReservedPerTenant = 4;

  std::int64_t ttl_ms = 0;
  std::size_t max_pending = 0;
  std::size_t max_per_tenant = SIZE_MAX;
};

// Of the payloads of what is pending, all together, in memory and in the journal. A tenant's share
// of the bytes is its share of the proposals.
inline constexpr std::size_t kMaxPendingBytes = 64 * base::kMiB;
// And so much more for changes of who decides: 64 signers and two reasons are less than 32 KiB.
inline constexpr std::size_t kReservedBytes = ProposalRules::kReserved * 32 * base::kKiB;
static_assert(chain::kMaxSigners * 256 + 2 * 1024 <= 32 * base::kKiB);

// What is pending of one tenant, or of all.
struct Room {
  std::size_t proposals = 0;
  std::size_t bytes = 0;  // of their payloads
};

// The latest proposals that were taken back. Bounded: the oldest is forgotten.
class RecentlyWithdrawn {
 public:
  static constexpr std::size_t kMost = 1024;

  void add(Withdrawn withdrawn);
  // Those that are pending again: their withdrawal was never durable.
  void forget_pending(const Pending& pending);
  [[nodiscard]] const Withdrawn* find(std::string_view id) const;
  // The oldest first.
  [[nodiscard]] const std::vector<Withdrawn>& all() const noexcept { return all_; }

 private:
  std::vector<Withdrawn> all_;
};

class Planner {
 public:
  // What is durable: at the start, and after a batch that failed.
  void reset(chain::State state, Pending pending);
  void set_rules(ProposalRules rules) noexcept { rules_ = rules; }
  void add_recent(std::string_view proposal, const chain::Head& head) {
    recent_.add(proposal, head);
  }
  void add_withdrawn(Withdrawn withdrawn) { withdrawn_.add(std::move(withdrawn)); }

  // `id` is new.
  base::Result<Proposal> propose(ProposeJob& job, const base::Ulid& id, std::int64_t now_ms,
                                 Plan& plan);
  // InvalidSig unless the signature was verified over the text of the proposal that is pending.
  base::Result<Approved> approve(ApproveJob& job, std::int64_t now_ms, Plan& plan);
  // Why the proposal cannot be approved: it was committed or withdrawn, has expired or never was.
  // Busy: it became pending a moment ago.
  [[nodiscard]] base::Error explain(const std::string& id, std::int64_t now_ms);
  // Takes it back; again, the same. Forbidden unless the capability is of the proposer's tenant or
  // may govern.
  base::Result<TakenBackBy> withdraw(WithdrawJob& job, std::int64_t now_ms, Plan& plan);
  // ChainMismatch is the CAS on HEAD that failed.
  base::Result<CommittedAs> commit(CommitJob& job, std::int64_t now_ms, Plan& plan);
  // Ends proposals whose time has come.
  void expire(std::int64_t now_ms, Plan& plan);
  [[nodiscard]] bool has_pending() const noexcept { return !pending_.empty(); }

  [[nodiscard]] const chain::State& state() const noexcept { return state_; }
  [[nodiscard]] const Pending& pending() const noexcept { return pending_; }
  [[nodiscard]] const RecentlyWithdrawn& withdrawn() const noexcept { return withdrawn_; }

 private:
  static constexpr std::int64_t kNoExpiry = INT64_MAX;

  void count(const Proposed& what);
  void forget(Pending::iterator proposal);
  // Busy: everything is full. Quota: the tenant has its share.
  [[nodiscard]] base::Result<void> check_share(const ProposeJob& job) const;
  // The pending proposal, or why there is none.
  base::Result<Proposal*> find(const std::string& id, std::int64_t now_ms);

  ProposalRules rules_;
  chain::State state_;
  Pending pending_;
  Room all_;
  std::unordered_map<std::string, Room> by_tenant_;  // of those that have something pending
  std::int64_t earliest_expiry_ms_ = kNoExpiry;      // none of them expires before
  RecentCommits recent_;
  RecentCommits expired_;  // proposals whose time was over; of no version
  RecentlyWithdrawn withdrawn_;
};

}  // namespace ron::registry
