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

}  // namespace

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
  pending_bytes_ = 0;
  earliest_expiry_ms_ = kNoExpiry;
  for (const auto& [id, proposal] : pending_) {
    pending_bytes_ += proposal.what->payload.size();
    earliest_expiry_ms_ = std::min(earliest_expiry_ms_, proposal.what->expires_ms);
  }
  recent_.forget_above(state_.head().version);
}

void Planner::forget(Pending::iterator proposal) {
  pending_bytes_ -= proposal->second.what->payload.size();
  pending_.erase(proposal);
}

Result<Proposal*> Planner::find(const std::string& id, std::int64_t now_ms) {
  const auto found = pending_.find(id);
  const bool is_pending = found != pending_.end();
  if (is_pending ? found->second.what->expires_ms <= now_ms : expired_.find(id).has_value()) {
    return fail(Code::VersionSkew, "proposal " + id + " has expired");
  }
  if (!is_pending) {
    return fail(Code::NotFound, "no proposal " + id + " is pending; it may have expired");
  }
  return &found->second;
}

Result<Proposal> Planner::propose(ProposeJob& job, const base::Ulid& id, std::int64_t now_ms,
                                  Plan& plan) {
  if (pending_.size() >= rules_.max_pending ||
      pending_bytes_ + job.payload.size() > kMaxPendingBytes) {
    return fail(base::Error(Code::Busy, "too many proposals are pending")
                    .with("pending", std::to_string(pending_.size()))
                    .with("bytes", std::to_string(pending_bytes_)));
  }
  if (auto good = state_.check(job.parsed); !good) return fail(std::move(good.error()));
  auto what = std::make_shared<Proposed>();
  what->id = id;
  what->payload_b3 = chain::hash_of(base::as_bytes(job.payload));
  what->payload = std::move(job.payload);
  what->parsed = std::move(job.parsed);
  what->at_ms = now_ms;
  // A whole second, since the text that is signed has no more.
  what->expires_ms = (now_ms + rules_.ttl_ms) / 1000 * 1000;
  what->proposer = job.origin.token;
  Proposal proposal{std::move(what), {}};
  const std::string key(id.text());
  plan.journal.push_back(journal_proposal(proposal));
  plan.bytes += plan.journal.back().size();
  pending_bytes_ += proposal.what->payload.size();
  earliest_expiry_ms_ = std::min(earliest_expiry_ms_, proposal.what->expires_ms);
  plan.pending.emplace_back(key, proposal);
  plan.events.push_back(event_of(EventKind::Proposed, "propose", key, job.origin));
  pending_.insert_or_assign(key, proposal);
  return proposal;
}

Result<Approved> Planner::approve(ApproveJob& job, std::int64_t now_ms, Plan& plan) {
  if (const auto before = recent_.find(job.id)) {
    return fail(base::Error(Code::VersionSkew, "proposal " + job.id + " was committed already")
                    .with("version", std::to_string(before->version)));
  }
  const auto found = find(job.id, now_ms);
  if (!found) return fail(found.error());
  Proposal& proposal = **found;
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

Result<CommittedAs> Planner::commit(CommitJob& job, std::int64_t now_ms, Plan& plan) {
  if (const auto before = recent_.find(job.id)) return CommittedAs{*before, false};
  const auto found = find(job.id, now_ms);
  if (!found) return fail(found.error());
  const Proposal& proposal = **found;
  const Proposed& what = *proposal.what;
  if (auto good = state_.check(what.parsed); !good) return fail(std::move(good.error()));
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
