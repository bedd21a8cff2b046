// How a batch of a history ends, and what has to hold then.
#include <algorithm>
#include <utility>

#include "services/registry/test_history.h"

namespace ron::registry {

using base::Value;

void History::end_batch() {
  const std::uint64_t dice = below(100);
  if (dice < 70) {
    sync();
  } else if (dice < 80) {
    refuse_batch();
  } else {
    crash();
  }
}

// As the committer does it: the journal, its views, the log, the rest.
void History::sync() {
  for (std::string& frame : plan_.journal) journal_.push_back(std::move(frame));
  views_.publish(plan_.pending);
  for (const Version& version : plan_.versions) log_.push_back(version.bytes);
  views_.publish(plan_.versions);
  // The journal hears of a commit some time later, or never.
  for (const Version& version : plan_.versions) {
    if (chance(50)) journal_.push_back(journal_gone(version.entry.proposal.text()));
  }
  for (const auto& tell : tell_) tell();
  tell_.clear();
  plan_ = {};
  judged_ = 0;
  ++counts_.syncs;
  note("sync");
  check_everything();
}

// The disk refuses the journal, or the log behind it: all are told, and what is durable is what
// counts.
void History::refuse_batch() {
  const bool has_journal = chance(50);
  if (has_journal) {
    for (std::string& frame : plan_.journal) journal_.push_back(std::move(frame));
    views_.publish(plan_.pending);
  }
  note(has_journal ? "the disk refuses the log" : "the disk refuses the journal");
  planner_.reset(views_.durable_state(), views_.durable_pending());
  ++counts_.refused_batches;
  forget_planned();
  check_everything();
}

// Any prefix of what was written stays: the log is written once the journal is durable.
void History::crash() {
  if (plant_ == HistoryPlant::AnswerEarly) {
    for (const auto& tell : tell_) tell();
  }
  const std::size_t frames = below(plan_.journal.size() + 1);
  const std::size_t versions =
      frames == plan_.journal.size() ? below(plan_.versions.size() + 1) : 0;
  for (std::size_t i = 0; i < frames; ++i) journal_.push_back(plan_.journal[i]);
  for (std::size_t i = 0; i < versions; ++i) log_.push_back(plan_.versions[i].bytes);
  counts_.lost_versions += plan_.versions.size() - versions;
  counts_.found_versions += versions;
  note("crash: " + std::to_string(frames) + " frames and " + std::to_string(versions) +
       " versions of the last batch are there");
  ++counts_.crashes;
  forget_planned();
  recover();
  if (violation_.empty()) check_everything();
}

// What nobody was told may be there or not: what the files say is what counts from now on.
void History::forget_planned() {
  plan_ = {};
  judged_ = 0;
  tell_.clear();
  judge_.truncate(log_.size());
}

// What Store::open makes of the files.
void History::recover() {
  chain::State state;
  JournalReplay said;
  Pending& pending = said.pending;
  std::vector<std::pair<std::string, chain::Head>> recent;
  for (const std::string& bytes : log_) {
    auto entry = chain::take_next(state, base::as_bytes(bytes), chain::Signatures::Trust);
    if (!entry) return violate("a start refuses the log: " + entry.error().message);
    recent.emplace_back(entry->proposal.text(), state.head());
  }
  for (const std::string& frame : journal_) {
    if (plant_ == HistoryPlant::LoseJournal) break;
    const Pending before = pending;
    const std::size_t withdrawn = said.withdrawn.size();
    const auto done = replay(base::as_bytes(frame), said);
    const bool is_withdrawal = said.withdrawn.size() != withdrawn;
    if (plant_ == HistoryPlant::LoseWithdrawal && is_withdrawal) pending = before;
    if (!done) return violate("a start refuses the journal: " + done.error().message);
  }
  planner_ = Planner();
  planner_.set_rules(rules());
  for (const Withdrawn& one : said.withdrawn) planner_.add_withdrawn(one);
  for (const auto& [proposal, head] : recent) {
    if (plant_ != HistoryPlant::KeepCommitted) pending.erase(proposal);
    if (plant_ != HistoryPlant::KeepCommitted && plant_ != HistoryPlant::ForgetCommits) {
      planner_.add_recent(proposal, head);
    }
  }
  views_.start(state, pending);
  planner_.reset(std::move(state), std::move(pending));
}

void History::check_everything() {
  if (!violation_.empty()) return;
  expect(log_.size() == judge_.size(), "the log is not what was judged");
  for (std::uint64_t i = 0; i < judge_.size() && violation_.empty(); ++i) {
    expect(log_[i] == judge_.at(i).bytes, "version " + std::to_string(i) + " is another one now");
  }
  check_state(planner_.state(), judge_.size());
  check_state(views_.durable_state(), judge_.size());
  check_pending();
}

void History::check_state(const chain::State& state, std::uint64_t size) {
  const LogJudge::Version& version = judge_.at(size - 1);
  expect(state.head() == chain::Head{size - 1, version.hash}, "HEAD is another version");
  const chain::Governance& governance = state.governance();
  bool is_same = governance.set.threshold == version.rules.threshold &&
                 governance.set.signers.size() == version.rules.signers.size() &&
                 std::ranges::equal(governance.revoked, version.rules.revoked);
  for (const chain::Signer& signer : governance.set.signers) {
    const auto known = version.rules.signers.find(signer.id);
    is_same = is_same && known != version.rules.signers.end() && known->second.key == signer.key &&
              known->second.not_after_s == signer.not_after_s;
  }
  expect(is_same, "version " + std::to_string(size - 1) + ": the signers are others");
  is_same = state.descriptors().size() == version.descriptors.size();
  for (const auto& [key, value] : state.descriptors()) {
    const auto known = version.descriptors.find(key);
    is_same = is_same && known != version.descriptors.end() && known->second == value->value;
  }
  expect(is_same, "version " + std::to_string(size - 1) + ": the descriptors are others");
}

// Everything acknowledged is pending as it was sent, in the log, or has expired.
void History::check_pending() {
  for (auto& [id, known] : known_) {
    const auto version = judge_.version_of(id);
    expect(!known.told_version || known.told_version == version,
           "the acknowledged commit of " + id + " is lost");
    const auto pending = planner_.pending().find(id);
    const bool is_there = pending != planner_.pending().end();
    expect(!version || !is_there, "proposal " + id + " is committed and pending");
    expect(!version || !known.told_withdrawn, "proposal " + id + " is committed and withdrawn");
    if (version) {
      for (const std::string& signer : known.told) {
        const LogJudge::Version& made = judge_.at(*version);
        expect(made.approvals.contains(signer) ||
                   judge_.doubt(known.value, *version, signer, made.at_ms) != LogJudge::Doubt::None,
               "version " + std::to_string(*version) + " lacks the approval of " + signer);
      }
      continue;
    }
    expect(!known.told_withdrawn || !is_there, "proposal " + id + " is pending, and was withdrawn");
    expect(is_there || !known.is_told || known.may_be_withdrawn || known.expires_ms <= latest_ms_,
           "the acknowledged proposal " + id + " is lost");
    if (!is_there) {
      known.planned.clear();
      continue;
    }
    expect(pending->second.what->payload == known.payload &&
               pending->second.what->expires_ms == known.expires_ms,
           "proposal " + id + " is another one now");
    LogJudge::Approvals found;
    for (const chain::Approval& one : pending->second.approvals) {
      found.emplace(one.signer, one.signature);
      const auto sent = known.planned.find(one.signer);
      expect(sent != known.planned.end() && sent->second == one.signature,
             "an approval of " + id + " that nobody sent");
    }
    for (const std::string& signer : known.told) {
      expect(found.contains(signer), "the acknowledged approval of " + id + " is lost");
    }
    known.planned = std::move(found);
  }
}

}  // namespace ron::registry
