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

struct ProposalRules {
  std::int64_t ttl_ms = 0;
  std::size_t max_pending = 0;
};

// Of what is pending, all together, in memory and in the journal.
inline constexpr std::size_t kMaxPendingBytes = 64 * base::kMiB;

class Planner {
 public:
  // What is durable: at the start, and after a batch that failed.
  void reset(chain::State state, Pending pending);
  void set_rules(ProposalRules rules) noexcept { rules_ = rules; }
  void add_recent(std::string_view proposal, const chain::Head& head) {
    recent_.add(proposal, head);
  }

  // `id` is new.
  base::Result<Proposal> propose(ProposeJob& job, const base::Ulid& id, std::int64_t now_ms,
                                 Plan& plan);
  base::Result<Approved> approve(ApproveJob& job, std::int64_t now_ms, Plan& plan);
  // ChainMismatch is the CAS on HEAD that failed.
  base::Result<CommittedAs> commit(CommitJob& job, std::int64_t now_ms, Plan& plan);
  // Ends proposals whose time has come.
  void expire(std::int64_t now_ms, Plan& plan);
  [[nodiscard]] bool has_pending() const noexcept { return !pending_.empty(); }

  [[nodiscard]] const chain::State& state() const noexcept { return state_; }
  [[nodiscard]] const Pending& pending() const noexcept { return pending_; }

 private:
  static constexpr std::int64_t kNoExpiry = INT64_MAX;

  void forget(Pending::iterator proposal);
  // The pending proposal, or why there is none.
  base::Result<Proposal*> find(const std::string& id, std::int64_t now_ms);

  ProposalRules rules_;
  chain::State state_;
  Pending pending_;
  std::size_t pending_bytes_ = 0;                // of their payloads
  std::int64_t earliest_expiry_ms_ = kNoExpiry;  // none of them expires before
  RecentCommits recent_;
  RecentCommits expired_;  // proposals whose time was over; of no version
};

}  // namespace ron::registry
