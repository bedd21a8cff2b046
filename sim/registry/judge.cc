#include "sim/registry/judge.h"

#include <charconv>

namespace ron::sim {

using base::Code;

std::optional<std::uint64_t> json_number(std::string_view json, std::string_view key) {
  const std::string begin = "\"" + std::string(key) + "\":";
  const std::size_t at = json.find(begin);
  if (at == std::string_view::npos) return std::nullopt;
  json.remove_prefix(at + begin.size());
  std::uint64_t number = 0;
  const auto [end, status] = std::from_chars(json.data(), json.data() + json.size(), number);
  return status == std::errc() ? std::optional(number) : std::nullopt;
}

bool RegistryJudge::has_signer(Ask ask) noexcept {
  return ask == Ask::Approve || ask == Ask::ApproveForged || ask == Ask::ApproveUnknown;
}

// What a client knows of its proposal says what it may hear.
bool RegistryJudge::has_approval_reason(Code code) const {
  const Flow& flow = *request_->flow;
  const bool others_decide = ledger_.signers_may_differ();
  switch (code) {
    case Code::DuplicateApproval:
      return begun_.was_tried;
    case Code::InvalidSig:
      return request_->ask == Ask::ApproveForged;
    case Code::NotAllowed:
      return request_->ask == Ask::ApproveUnknown || others_decide ||
             request_->signer >= RegistryPlan::kSigners;
    case Code::RevokedKey:
      return others_decide;
    case Code::VersionSkew:
      return flow.commit_tried || flow.withdraw_tried || (flow.changes_signers && others_decide);
    default:
      return false;
  }
}

bool RegistryJudge::has_own_reason(Code code) const {
  if (request_ == nullptr) return false;
  const Ask ask = request_->ask;
  if (code == Code::StorageBusy) return request_->heavy && (disk_fails_ || disk_is_slow_);
  if (code == Code::NotFound) {
    // Who asks again once its version was pruned and the process has gone is not known any more.
    const bool is_forgotten = prunes_ && begun_.commit_was_tried &&
                              (ask == Ask::Commit || ask == Ask::Withdraw || has_signer(ask));
    return ask == Ask::Missing || is_forgotten ||
           (ask == Ask::ShowProposal &&
            (request_->flow->commit_tried || request_->flow->withdraw_tried));
  }
  if (code == Code::Pruned) return ask == Ask::Version || ask == Ask::Log;
  if (ask == Ask::ProposeWrong) return code == Code::Malformed || code == Code::VersionSkew;
  if (has_signer(ask)) {
    return has_approval_reason(code);
  }
  // A second withdrawal is answered like the first; a committed version cannot be withdrawn.
  if (ask == Ask::Withdraw) return code == Code::VersionSkew && begun_.commit_was_tried;
  if (ask == Ask::Commit && code == Code::VersionSkew && begun_.withdraw_was_tried) return true;
  return (ask == Ask::Commit || ask == Ask::Propose) && has_change_reason(code);
}

// A change of signers may not fit any more, or has not enough of the new ones; any other one may
// have been approved by somebody who is none any more.
bool RegistryJudge::has_change_reason(Code code) const {
  const Flow& flow = *request_->flow;
  const bool others_decide = ledger_.signers_may_differ();
  if (code == Code::QuorumFailed) {
    return request_->ask == Ask::Commit && (flow.approved.size() < RegistryPlan::kThreshold ||
                                            flow.changes_signers || others_decide);
  }
  const bool is_unfit =
      code == Code::RevokedKey || code == Code::VersionSkew || code == Code::NotAllowed;
  return is_unfit && flow.changes_signers && (request_->ask == Ask::Propose || others_decide);
}

Wrong RegistryJudge::judge_head(std::string_view json) {
  const auto version = json_number(json, "version");
  const std::string hash(json_text(json, "hash"));
  if (!version || hash.empty()) return "no HEAD: " + std::string(json.substr(0, 200));
  return ledger_.told(*version, hash, begun_.floor);
}

Wrong RegistryJudge::judge_change() {
  if (!is_allowed()) return "changed without a capability";
  Flow& flow = *request_->flow;
  if (request_->ask == Ask::Propose) {
    if (answer_.status != 202) return "unexpected status of a proposal";
    flow.id = json_text(answer_.body, "proposal");
    return flow.id.empty() ? Wrong("a proposal without an id") : Wrong();
  }
  if (request_->ask == Ask::Withdraw) {
    if (answer_.status != 204) return "unexpected status of a withdrawal";
    if (flow.version) return "withdrawn after it was committed";
    flow.withdrawn = true;
    return std::nullopt;
  }
  if (begun_.was_withdrawn) return "taken after it was withdrawn";
  if (request_->ask == Ask::Approve) {
    return answer_.status == 200 ? Wrong() : Wrong("unexpected status of an approval");
  }
  const auto version = json_number(answer_.body, "version");
  if (!version) return "a commit without its version";
  if (answer_.status != 200 && answer_.status != 201) return "unexpected status of a commit";
  if (flow.tried.size() < RegistryPlan::kThreshold) return "committed without quorum";
  if (answer_.status == 200 && !begun_.commit_was_tried) return "committed before anybody asked";
  if (answer_.status == 201 && flow.version) return "committed a second time";
  if (flow.version && *flow.version != *version) return "committed as another version";
  flow.version = version;
  // One that was committed before is not HEAD any more.
  const std::uint64_t floor = answer_.status == 201 ? begun_.floor : 0;
  return ledger_.told(*version, std::string(json_text(answer_.body, "hash")), floor);
}

Wrong RegistryJudge::judge_success() {
  if (request_ == nullptr) return std::nullopt;
  switch (request_->ask) {
    case Ask::Propose:
    case Ask::Approve:
    case Ask::Commit:
    case Ask::Withdraw:
      return judge_change();
    case Ask::ProposeWrong:
    case Ask::ApproveForged:
    case Ask::ApproveUnknown:
      return "success of what must be refused";
    case Ask::Head:
      return judge_head(answer_.body);
    case Ask::HeadIfNew:
      return answer_.status == 304 ? Wrong() : judge_head(answer_.body);
    case Ask::Version:
      return ledger_.told(request_->version, std::string(json_text(answer_.body, "hash")), 0);
    case Ask::Log:
    case Ask::State: {
      const std::size_t at = answer_.body.find("\"head\":");
      if (at == std::string::npos) return "no HEAD";
      return judge_head(std::string_view(answer_.body).substr(at));
    }
    case Ask::ShowProposal:
      if (begun_.was_withdrawn) return "shown after it was withdrawn";
      return answer_.status == 200 ? Wrong() : Wrong("unexpected status");
    case Ask::Missing:
    case Ask::Garbage:
      return "success where there is nothing to succeed";
    default:
      return answer_.status == 200 ? Wrong() : Wrong("unexpected status");
  }
}

}  // namespace ron::sim
