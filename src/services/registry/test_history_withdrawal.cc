// Proposals of a history that are taken back.
#include "services/registry/test_history.h"

namespace ron::registry {

// By its tenant, by a governor, and by somebody else.
void History::withdraw_any() {
  const auto id = any_proposal();
  if (!id) return;
  Known& known = known_.at(*id);
  WithdrawJob job;
  job.id = *id;
  job.may_govern = chance(40);
  job.origin.tenant = chance(60) ? kProposer : "another";
  const bool may = job.may_govern || job.origin.tenant == kProposer;
  const bool was_pending = is_pending(*id);
  const bool was_committed = judge_.version_of(*id).has_value();
  const bool is_again = known.may_be_withdrawn && !was_pending;
  const auto answer = planner_.withdraw(job, now_ms_, plan_);
  note("withdraw " + *id + (answer ? ": done" : ": " + std::string(answer.error().name())));
  if (!answer) {
    count_refusal("withdraw", answer.error());
    expect(!was_pending || !may || known.expires_ms <= now_ms_, "a withdrawal is refused");
    return;
  }
  expect(may, "somebody else withdraws a proposal");
  expect(!was_committed, "what is committed is withdrawn");
  expect(was_pending || is_again, "what is not pending is withdrawn");
  expect(!is_pending(*id), "what was withdrawn stays pending");
  known.may_be_withdrawn = true;
  ++counts_.withdrawn;
  tell_.emplace_back([this, id = *id] { known_.at(id).told_withdrawn = true; });
}

}  // namespace ron::registry
