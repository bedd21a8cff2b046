#include "services/registry/planner.h"

#include <algorithm>

namespace ron::registry {
namespace {

using base::Code;
using base::fail;
using base::Result;

RegistryEvent event_of(EventKind kind, std::string action, std::string_view proposal,
                       const Origin& origin) {
  return {.kind = kind,
          .action = std::move(action),
          .proposal = std::string(proposal),
          .token = origin.token,
          .tenant = origin.tenant,
          .corr_id = origin.corr_id};
}

// Those that count now: whoever was revoked or expired since is left out of the entry.
std::vector<chain::Approval> counting(const chain::State& state, const Proposal& proposal,
                                      std::int64_t at_ms) {
  std::vector<chain::Approval> approvals = proposal.approvals;
  std::erase_if(approvals, [&](const chain::Approval& approval) {
    return state.refusal_of(proposal.what->parsed.change, approval.signer, at_ms).has_value();
  });
  return approvals;
}

base::Error too_few(const chain::Tally& tally) {
  base::Error error(Code::QuorumFailed, "too few of the signers have approved");
  auto detailed = std::move(error)
                      .with("have", std::to_string(tally.have))
                      .with("need", std::to_string(tally.need));
  if (tally.need_new == 0) return detailed;
  return std::move(detailed)
      .with("have_new", std::to_string(tally.have_new))
      .with("need_new", std::to_string(tally.need_new));
}

// By what it would come to: a list of the same signers is none.
bool changes_who_decides(const chain::State& state, const chain::Change& change) {
  return change.as<chain::Update>() == nullptr &&
         state.governance_after(change) != state.governance();
}

}  // namespace

void RecentlyWithdrawn::add(Withdrawn withdrawn) {
  std::erase_if(all_, [&](const Withdrawn& one) { return one.id == withdrawn.id; });
  all_.push_back(std::move(withdrawn));
  if (all_.size() > kMost) all_.erase(all_.begin());
}

void RecentlyWithdrawn::forget_pending(const Pending& pending) {
  std::erase_if(all_, [&](const Withdrawn& one) { return pending.contains(one.id); });
}

const Withdrawn* RecentlyWithdrawn::find(std::string_view id) const {
  const auto found = std::ranges::find(all_, id, &Withdrawn::id);
  return found == all_.end() ? nullptr : &*found;
}

void RecentCommits::add(std::string_view proposal, const chain::Head& head) {
  Place place{std::string(proposal), head.version};
  if (ring_.size() < kMost) {
    ring_.push_back(std::move(place));
  } else {
    std::swap(ring_[next_], place);
    // It may have been committed anew after a write that failed.
    const auto found = by_proposal_.find(place.proposal);
    if (found != by_proposal_.end() && found->second.version == place.version) {
      by_proposal_.erase(found);
    }
  }
  next_ = (next_ + 1) % kMost;
  by_proposal_.insert_or_assign(std::string(proposal), head);
}

void RecentCommits::forget_above(std::uint64_t version) {
  std::erase_if(by_proposal_,
                [version](const auto& item) { return item.second.version > version; });
}

std::optional<chain::Head> RecentCommits::find(std::string_view proposal) const {
  const auto found = by_proposal_.find(std::string(proposal));
  return found == by_proposal_.end() ? std::nullopt : std::optional(found->second);
}

void Planner::reset(chain::State state, Pending pending) {
  state_ = std::move(state);
  pending_ = std::move(pending);
  all_ = {};
  by_tenant_.clear();
  earliest_expiry_ms_ = kNoExpiry;
  for (const auto& [id, proposal] : pending_) count(*proposal.what);
  withdrawn_.forget_pending(pending_);
  recent_.forget_above(state_.head().version);
}

void Planner::count(const Proposed& what) {
  for (Room* const room : {&all_, &by_tenant_[what.tenant]}) {
    ++room->proposals;
    room->bytes += what.payload.size();
  }
  earliest_expiry_ms_ = std::min(earliest_expiry_ms_, what.expires_ms);
}

void Planner::forget(Pending::iterator proposal) {
  const Proposed& what = *proposal->second.what;
  const auto tenant = by_tenant_.find(what.tenant);
  for (Room* const room : {&all_, &tenant->second}) {
    --room->proposals;
    room->bytes -= what.payload.size();
  }
  if (tenant->second.proposals == 0) by_tenant_.erase(tenant);
  pending_.erase(proposal);
}

Result<void> Planner::check_share(const ProposeJob& job) const {
  const bool is_urgent = changes_who_decides(state_, job.parsed.change);
  const std::size_t size = job.payload.size();
  const std::size_t most = rules_.max_pending + (is_urgent ? ProposalRules::kReserved : 0);
  const std::size_t most_bytes = kMaxPendingBytes + (is_urgent ? kReservedBytes : 0);
  if (all_.proposals >= most || all_.bytes + size > most_bytes) {
    return fail(base::Error(Code::Busy, "too many proposals are pending")
                    .with("pending", std::to_string(all_.proposals))
                    .with("bytes", std::to_string(all_.bytes)));
  }
  const auto known = by_tenant_.find(job.origin.tenant);
  const Room own = known == by_tenant_.end() ? Room() : known->second;
  const std::size_t share = std::min(rules_.max_per_tenant, rules_.max_pending);
  const std::size_t share_bytes =
      std::max(kMaxPendingBytes / std::max<std::size_t>(rules_.max_pending, 1) * share,
               chain::kMaxPayloadBytes);
  const std::size_t own_most = share + (is_urgent ? ProposalRules::kReservedPerTenant : 0);
  const std::size_t own_bytes =
      share_bytes + (is_urgent ? kReservedBytes / ProposalRules::kReservedPerTenant : 0);
  if (own.proposals < own_most && own.bytes + size <= own_bytes) return {};
  return fail(base::Error(Code::Quota,
                          "the tenant's share of the pending proposals is used up: commit some, "
                          "withdraw some, or wait until they expire")
                  .with("pending", std::to_string(own.proposals))
                  .with("share", std::to_string(own_most))
                  .with("bytes", std::to_string(own.bytes))
                  .with("share_bytes", std::to_string(own_bytes)));
}

Result<Proposal*> Planner::find(const std::string& id, std::int64_t now_ms) {
  const auto found = pending_.find(id);
  const bool is_pending = found != pending_.end();
  if (is_pending ? found->second.what->expires_ms <= now_ms : expired_.find(id).has_value()) {
    return fail(Code::VersionSkew, "proposal " + id + " has expired");
  }
  if (!is_pending && withdrawn_.find(id) != nullptr) {
    return fail(Code::VersionSkew, "proposal " + id + " was withdrawn");
  }
  if (!is_pending) {
    return fail(Code::NotFound, "no proposal " + id + " is pending; it may have expired");
  }
  return &found->second;
}

Result<Proposal> Planner::propose(ProposeJob& job, const base::Ulid& id, std::int64_t now_ms,
                                  Plan& plan) {
  if (auto good = state_.check(job.parsed); !good) return fail(std::move(good.error()));
  if (auto good = check_share(job); !good) return fail(std::move(good.error()));
  if (auto good = state_.check_room(job.parsed); !good) return fail(std::move(good.error()));
  auto what = std::make_shared<Proposed>();
  what->id = id;
  what->payload_b3 = chain::hash_of(base::as_bytes(job.payload));
  what->payload = std::move(job.payload);
  what->parsed = std::move(job.parsed);
  what->at_ms = now_ms;
  // A whole second, since the text that is signed has no more.
  what->expires_ms = (now_ms + rules_.ttl_ms) / 1000 * 1000;
  what->proposer = job.origin.token;
  what->tenant = job.origin.tenant;
  Proposal proposal{std::move(what), {}};
  const std::string key(id.text());
  plan.journal.push_back(journal_proposal(proposal));
  plan.bytes += plan.journal.back().size();
  count(*proposal.what);
  plan.pending.emplace_back(key, proposal);
  plan.events.push_back(event_of(EventKind::Proposed, "propose", key, job.origin));
  pending_.insert_or_assign(key, proposal);
  return proposal;
}

base::Error Planner::explain(const std::string& id, std::int64_t now_ms) {
  if (const auto before = recent_.find(id)) {
    return base::Error(Code::VersionSkew, "proposal " + id + " was committed already")
        .with("version", std::to_string(before->version));
  }
  const auto found = find(id, now_ms);
  if (!found) return found.error();
  return {Code::Busy, "proposal " + id + " is only just being kept; ask again"};
}

Result<Approved> Planner::approve(ApproveJob& job, std::int64_t now_ms, Plan& plan) {
  if (recent_.find(job.id)) return fail(explain(job.id, now_ms));
  const auto found = find(job.id, now_ms);
  if (!found) return fail(found.error());
  Proposal& proposal = **found;
  // The text that was signed names the payload and the expiry, too.
  if (!job.verified || job.verified->id != proposal.what->id ||
      job.verified->payload_b3 != proposal.what->payload_b3 ||
      job.verified->expires_ms != proposal.what->expires_ms) {
    return fail(Code::InvalidSig, "the signature was not verified over this proposal");
  }
  const chain::Change& change = proposal.what->parsed.change;
  if (auto refusal = state_.refusal_of(change, job.approval.signer, now_ms)) {
    return fail(std::move(*refusal));
  }
  if (proposal.is_approved_by(job.approval.signer)) {
    return fail(Code::DuplicateApproval,
                "signer " + job.approval.signer + " has approved this proposal already");
  }
  plan.journal.push_back(journal_approval(job.id, job.approval));
  plan.bytes += plan.journal.back().size();
  RegistryEvent event = event_of(EventKind::Approved, "approve", job.id, job.origin);
  event.signer = job.approval.signer;
  plan.events.push_back(std::move(event));
  proposal.add(std::move(job.approval));
  plan.pending.emplace_back(job.id, proposal);
  return Approved{proposal.approvals.size(), state_.tally(change, proposal.approvals, now_ms)};
}

Result<TakenBackBy> Planner::withdraw(WithdrawJob& job, std::int64_t now_ms, Plan& plan) {
  const auto right_of = [&job](std::string_view tenant) -> Result<TakenBackBy> {
    // Capabilities of no tenant are nobody's: they have nothing in common.
    if (!tenant.empty() && job.origin.tenant == tenant) return TakenBackBy::Proposer;
    if (job.may_govern) return TakenBackBy::Governor;
    return fail(Code::Forbidden,
                "only the tenant that proposed it may withdraw it, or a capability with "
                "registry:govern");
  };
  if (recent_.find(job.id)) return fail(explain(job.id, now_ms));
  if (!pending_.contains(job.id)) {
    if (const Withdrawn* const before = withdrawn_.find(job.id)) return right_of(before->tenant);
  }
  const auto found = find(job.id, now_ms);
  if (!found) return fail(found.error());
  auto right = right_of((*found)->what->tenant);
  if (!right) return right;
  Withdrawn withdrawn{job.id, (*found)->what->tenant, job.origin.token};
  plan.journal.push_back(journal_withdrawn(withdrawn));
  plan.bytes += plan.journal.back().size();
  plan.pending.emplace_back(job.id, std::nullopt);
  RegistryEvent event = event_of(EventKind::Withdrawn, "withdraw", job.id, job.origin);
  event.by = *right == TakenBackBy::Proposer ? "proposer" : "govern";
  plan.events.push_back(std::move(event));
  withdrawn_.add(std::move(withdrawn));
  forget(pending_.find(job.id));
  return right;
}

Result<CommittedAs> Planner::commit(CommitJob& job, std::int64_t now_ms, Plan& plan) {
  if (const auto before = recent_.find(job.id)) return CommittedAs{*before, false};
  const auto found = find(job.id, now_ms);
  if (!found) return fail(found.error());
  const Proposal& proposal = **found;
  const Proposed& what = *proposal.what;
  if (auto good = state_.check(what.parsed); !good) return fail(std::move(good.error()));
  if (auto good = state_.check_room(what.parsed); !good) return fail(std::move(good.error()));
  Version version;
  version.entry = {.version = state_.head().version + 1,
                   .prev = state_.head().hash,
                   .proposal = what.id,
                   .payload = what.payload,
                   .approvals = {},
                   .at_ms = std::max(now_ms, state_.at_ms()),
                   .expires_ms = what.expires_ms};
  // A clock that went back may leave no time between the version before and the expiry.
  if (version.entry.at_ms >= what.expires_ms) {
    return fail(Code::VersionSkew, "proposal " + job.id + " has expired");
  }
  version.entry.approvals = counting(state_, proposal, version.entry.at_ms);
  const chain::Tally tally =
      state_.tally(what.parsed.change, version.entry.approvals, version.entry.at_ms);
  if (!tally.is_quorum()) return fail(too_few(tally));
  version.payload = what.parsed;
  version.bytes = chain::encode(version.entry);
  version.hash = chain::hash_of(base::as_bytes(version.bytes));
  state_.apply(version.entry, version.payload, base::as_bytes(version.bytes), version.hash);
  recent_.add(job.id, state_.head());
  RegistryEvent event = event_of(EventKind::Committed, "commit", job.id, job.origin);
  event.version = version.entry.version;
  plan.events.push_back(std::move(event));
  plan.bytes += version.bytes.size();
  plan.versions.push_back(std::move(version));
  forget(pending_.find(job.id));
  return CommittedAs{state_.head(), true};
}

// Whoever waited longest may have been committed since: then the walk only finds who is next.
void Planner::expire(std::int64_t now_ms, Plan& plan) {
  if (now_ms < earliest_expiry_ms_) return;
  earliest_expiry_ms_ = kNoExpiry;
  for (auto it = pending_.begin(); it != pending_.end();) {
    const auto expired = it++;
    const std::int64_t expires_ms = expired->second.what->expires_ms;
    if (expires_ms > now_ms) {
      earliest_expiry_ms_ = std::min(earliest_expiry_ms_, expires_ms);
      continue;
    }
    plan.journal.push_back(journal_gone(expired->first));
    plan.pending.emplace_back(expired->first, std::nullopt);
    plan.events.push_back(event_of(EventKind::Expired, "expire", expired->first, {}));
    expired_.add(expired->first, {});
    forget(expired);
  }
}

}  // namespace ron::registry
