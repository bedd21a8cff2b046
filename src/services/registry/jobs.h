// What goes through `proposals` and `approvals`: each job carries what the committer needs and the
// reply it owes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "base/ulid.h"
#include "chain/state.h"
#include "services/kit/job.h"
#include "services/registry/proposal.h"

namespace ron::registry {

// Who asked, for those who keep account.
struct Origin {
  base::Ulid corr_id{};
  std::string token{};   // its fingerprint
  std::string tenant{};  // the capability's; empty: it is of no tenant
};

struct ProposeJob : kit::JobBase<Proposal> {
  std::string payload;
  chain::Payload parsed;
  Origin origin;
};
// The signature was verified over the proposal's text.
struct Approved {
  std::size_t approvals = 0;
  chain::Tally tally;
};
struct ApproveJob : kit::JobBase<Approved> {
  std::string id;
  chain::Approval approval;
  std::shared_ptr<const Proposed> verified;  // the signature was verified over the text of this one
  Origin origin;
};
// Why nobody can approve a proposal that readers do not see. It carries no approval, and is always
// answered with an error.
struct ExplainJob : kit::JobBase<Approved> {
  std::string id;
  std::string signer;
  Origin origin;
};
// How a proposal was taken back.
enum class TakenBackBy : std::uint8_t { Proposer, Governor };
struct WithdrawJob : kit::JobBase<TakenBackBy> {
  std::string id;
  bool may_govern = false;  // the capability has registry:govern
  Origin origin;
};
struct CommittedAs {
  chain::Head head;
  bool is_new = false;  // false: it was committed before
};
struct CommitJob : kit::JobBase<CommittedAs> {
  std::string id;
  Origin origin;
};
// The state between two batches, when the journal says of all that is committed that it is gone.
struct CaptureJob : kit::JobBase<chain::State> {};

using ProposalJob = std::variant<ProposeJob, CommitJob, WithdrawJob, CaptureJob>;
using ApprovalJob = std::variant<ApproveJob, ExplainJob>;

}  // namespace ron::registry
