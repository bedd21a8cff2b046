#include "services/registry/committer.h"

#include <utility>
#include <variant>

#include "runtime/backoff.h"
#include "runtime/metric_names.h"
#include "services/registry/metric_names.h"
#include "services/registry/wires.h"

namespace ron::registry {
namespace {

using base::Code;
using base::Result;
using platform::Task;
using namespace std::chrono_literals;

constexpr base::Duration kSweepEvery = 1s;

// Where the files are is not the clients' business: the log has it.
base::Error not_durable() {
  return {Code::StorageBusy, "the disk did not take it, and it may or may not count; ask again"};
}

base::Error in_repair() {
  return {Code::StorageBusy, "the last write failed and the log is being repaired"};
}

}  // namespace

Committer::Committer(CommitterParts parts, CommitterCapacities capacities)
    : parts_(parts),
      proposals_(*parts_.topology, kProposals, capacities.proposals),
      approvals_(*parts_.topology, kApprovals, capacities.approvals),
      intake_(*parts_.topology, kIntake, 0),
      jitter_(parts_.host.random.next()),
      commits_(parts_.topology->meters().counter(metrics::kCommits)),
      syncs_(parts_.topology->meters().counter(metrics::kSyncs)),
      cas_failures_(parts_.topology->meters().counter(metrics::kCommitCasFail)),
      backoffs_(parts_.topology->meters().counter(metrics::kStorageBackoff, {"commit"})),
      retries_(
          parts_.topology->meters().counter(runtime::metrics::kBackoffRetriesTotal, {"commit"})) {
  for (std::size_t i = 0; i < refused_.size(); ++i) {
    refused_[i] = &parts_.topology->meters().counter(metrics::kRefused, {metrics::kActions[i]});
  }
  proposals_.on_queued([this] { ring(); });
  approvals_.on_queued([this] { ring(); });
}

void Committer::ring() noexcept { intake_.set(rings_.fetch_add(1, std::memory_order_relaxed) + 1); }

base::Duration Committer::writing_for() const noexcept {
  const std::int64_t began = write_began_ns_.load(std::memory_order_relaxed);
  if (began == 0) return {};
  return parts_.host.clock.monotonic().time_since_epoch() - base::Duration(began);
}

// A run that was aborted in a write does not know what came of it: the repair undoes it.
Task<void> Committer::run(runtime::Shutdown shutdown) {
  auto intake = intake_.subscribe();
  undo();
  if (journal_live_from_ == 0) journal_live_from_ = parts_.journal->first();
  for (;;) {
    intake.see();
    // Asked before the queues are: what was queued before the stop is answered.
    const bool is_last = shutdown.requested();
    if (needs_repair()) co_await repair(shutdown);
    Batch batch = gather();
    if (!batch.is_empty()) {
      co_await commit(&batch);
      continue;
    }
    if (is_last) break;
    co_await intake.changed(next_sweep(), shutdown);
  }
  if (!gone_.empty() && !needs_repair()) co_await write_journal({});
}

runtime::Deadline Committer::next_sweep() const {
  return planner_.has_pending() ? runtime::Deadline::in(kSweepEvery) : runtime::Deadline();
}

base::Ulid Committer::new_id() {
  const auto now = static_cast<std::uint64_t>(parts_.host.clock.unix_ms());
  return {now, static_cast<std::uint16_t>(parts_.host.random.next()), parts_.host.random.next()};
}

Committer::Batch Committer::gather() {
  Batch batch;
  planner_.expire(parts_.host.clock.unix_ms(), batch.plan);
  while (batch.taken < kBatchJobs && batch.plan.bytes < kBatchBytes) {
    auto approval = approvals_.try_take();
    if (approval) {
      std::visit([&](auto& job) { take(std::move(job), batch); }, *approval);
    }
    auto proposal = proposals_.try_take();
    if (proposal) {
      std::visit([&](auto& job) { take(std::move(job), batch); }, *proposal);
    }
    if (!approval && !proposal) break;
    batch.taken += (approval ? 1 : 0) + (proposal ? 1 : 0);
  }
  return batch;
}

template <class J>
bool Committer::is_wanted(J& job) {
  if (job.deadline.passed()) {
    std::move(*job.reply)
        .send(base::fail(Code::Timeout, "the request's deadline passed before it was its turn"));
    return false;
  }
  if (!broken_.load(std::memory_order_relaxed)) return true;
  std::move(*job.reply).send(base::fail(in_repair()));
  return false;
}

template <class T>
Committer::Answer Committer::answer_later(runtime::OneshotSender<Result<T>> reply,
                                          Result<T> result) {
  return [to = std::move(reply), result = std::move(result)](const base::Error* failed) mutable {
    std::move(to).send(failed == nullptr ? std::move(result) : base::fail(*failed));
  };
}

void Committer::note_refusal(Action action, const std::string& proposal, const std::string& signer,
                             const Origin& origin, const base::Error& why) {
  const auto index = static_cast<std::size_t>(action);
  refused_[index]->add();
  parts_.events->send({.kind = EventKind::Refused,
                       .action = std::string(metrics::kActions[index]),
                       .proposal = proposal,
                       .signer = signer,
                       .code = std::string(why.name()),
                       .token = origin.token,
                       .tenant = origin.tenant,
                       .corr_id = origin.corr_id});
}

void Committer::take(ProposeJob job, Batch& batch) {
  if (!is_wanted(job)) return;
  auto reply = std::move(*job.reply);
  auto result = planner_.propose(job, new_id(), parts_.host.clock.unix_ms(), batch.plan);
  if (!result) note_refusal(Action::Propose, "", "", job.origin, result.error());
  batch.answers.push_back(answer_later<Proposal>(std::move(reply), std::move(result)));
}

void Committer::take(ApproveJob job, Batch& batch) {
  if (!is_wanted(job)) return;
  auto reply = std::move(*job.reply);
  const std::string signer = job.approval.signer;
  auto result = planner_.approve(job, parts_.host.clock.unix_ms(), batch.plan);
  if (!result) note_refusal(Action::Approve, job.id, signer, job.origin, result.error());
  batch.answers.push_back(answer_later<Approved>(std::move(reply), std::move(result)));
}

void Committer::take(ExplainJob job, Batch& batch) {
  if (!is_wanted(job)) return;
  base::Error why = planner_.explain(job.id, parts_.host.clock.unix_ms());
  note_refusal(Action::Approve, job.id, job.signer, job.origin, why);
  // What it rests on may have been decided in this batch.
  batch.committed.push_back(
      answer_later<Approved>(std::move(*job.reply), base::fail(std::move(why))));
}

// Whether it was committed may have been decided in this batch, too.
void Committer::take(WithdrawJob job, Batch& batch) {
  if (!is_wanted(job)) return;
  auto reply = std::move(*job.reply);
  auto result = planner_.withdraw(job, parts_.host.clock.unix_ms(), batch.plan);
  if (!result) note_refusal(Action::Withdraw, job.id, "", job.origin, result.error());
  batch.committed.push_back(answer_later<TakenBackBy>(std::move(reply), std::move(result)));
}

void Committer::take(CommitJob job, Batch& batch) {
  if (!is_wanted(job)) return;
  auto reply = std::move(*job.reply);
  auto result = planner_.commit(job, parts_.host.clock.unix_ms(), batch.plan);
  if (!result) {
    if (result.error().code == Code::ChainMismatch) cas_failures_.add();
    note_refusal(Action::Commit, job.id, "", job.origin, result.error());
  }
  batch.committed.push_back(answer_later<CommittedAs>(std::move(reply), std::move(result)));
}

// The state as it is after the batch.
void Committer::take(CaptureJob job, Batch& batch) {
  if (is_wanted(job)) batch.captures.push_back(std::move(*job.reply));
}

// The journal comes first: a commit of this batch may rest on an approval of this batch.
Task<void> Committer::commit(Batch* batch) {
  Plan& plan = batch->plan;
  Result<void> journaled;
  if (!plan.journal.empty() || gone_.size() >= kMostGone) {
    journaled = co_await write_journal(std::move(plan.journal));
  }
  Result<void> logged = journaled;
  if (journaled) {
    parts_.views->publish(plan.pending);
    logged = co_await write_log(&plan);
  }
  if (logged) parts_.views->publish(plan.versions);
  if (!logged) {
    note_failure(logged);
    undo();
  }
  announce(plan, journaled.has_value(), logged.has_value());
  answer_all(batch->answers, journaled);
  answer_all(batch->committed, logged);
  co_await answer_captures(std::move(batch->captures), logged);
  if (logged) co_await tidy_journal();
}

void Committer::answer_all(std::vector<Answer>& answers, const Result<void>& done) {
  const base::Error failed = not_durable();
  for (Answer& answer : answers) answer(done ? nullptr : &failed);
}

void Committer::note_failure(const Result<void>& done) {
  const auto silenced = trouble_limit_.admit(parts_.host.clock.unix_ms());
  if (!silenced) return;
  parts_.messages.warn("the disk did not take a batch",
                       {{"what", done.error().message}, {"silenced", *silenced}});
}

// What became durable is told, and nothing else.
void Committer::announce(Plan& plan, bool is_journaled, bool is_logged) {
  for (RegistryEvent& event : plan.events) {
    const bool is_durable = event.kind == EventKind::Committed ? is_logged : is_journaled;
    if (is_durable) parts_.events->send(std::move(event));
  }
  if (!is_logged) return;
  commits_.add(plan.versions.size());
  for (const Version& version : plan.versions) {
    gone_.emplace_back(version.entry.proposal.text());
    parts_.committed->send({version.entry.version, version.hash});
  }
  if (on_published_ && !plan.versions.empty()) on_published_(plan.versions.back().entry.version);
}

Task<void> Committer::answer_captures(std::vector<Capture> captures, Result<void> done) {
  if (captures.empty()) co_return;
  const chain::State state = parts_.views->durable_state();
  if (done && !gone_.empty()) done = co_await write_journal({});
  for (Capture& capture : captures) {
    if (done) {
      std::move(capture).send(state);
    } else {
      std::move(capture).send(base::fail(done.error()));
    }
  }
}

Task<Result<void>> Committer::write_journal(std::vector<std::string> frames) {
  for (const std::string& id : gone_) frames.push_back(journal_gone(id));
  const Writing writing(*this);
  const Result<void> written = co_await parts_.journal->append(std::move(frames));
  if (!written) co_return written;
  syncs_.add();
  gone_.clear();
  co_return written;
}

Task<Result<void>> Committer::write_log(Plan* plan) {
  if (plan->versions.empty()) co_return Result<void>();
  std::vector<std::string> frames;
  frames.reserve(plan->versions.size());
  std::vector<chain::TreeHash> leaves;
  leaves.reserve(plan->versions.size());
  for (const Version& version : plan->versions) {
    frames.push_back(version.bytes);
    leaves.push_back(chain::leaf_hash(base::as_bytes(version.bytes)));
  }
  const Writing writing(*this);
  const Result<void> written = co_await parts_.log->append(std::move(frames));
  if (!written) co_return written;
  syncs_.add();
  parts_.tree->append(leaves);
  co_return written;
}

// Says once more what is pending and what was withdrawn lately, in portions, and drops all that was
// said before.
Task<void> Committer::tidy_journal() {
  const std::uint64_t frames = parts_.journal->next() - journal_live_from_;
  const std::size_t alive = planner_.pending().size() + planner_.withdrawn().all().size();
  if (frames < kJournalFrames || frames < 4 * alive) co_return;
  const std::uint64_t from = parts_.journal->next();
  std::vector<std::string> live;
  std::size_t bytes = 0;
  // Only this task changes what is pending.
  for (const auto& [id, proposal] : planner_.pending()) {
    live.push_back(journal_proposal(proposal));
    bytes += live.back().size();
    if (bytes < kBatchBytes) continue;
    const Result<void> written = co_await write_journal(std::exchange(live, {}));
    if (!written) co_return;
    bytes = 0;
  }
  for (const Withdrawn& one : planner_.withdrawn().all()) live.push_back(journal_withdrawn(one));
  const Result<void> written = co_await write_journal(std::move(live));
  if (!written) co_return;
  journal_live_from_ = from;
  // What stays behind for now only takes room.
  co_await parts_.journal->drop_below(from);
}

// Back to what is durable.
void Committer::undo() {
  planner_.reset(parts_.views->durable_state(), parts_.views->durable_pending());
}

Task<void> Committer::repair(runtime::Shutdown shutdown) {
  broken_.store(true, std::memory_order_relaxed);
  const runtime::Backoff backoff;
  for (std::uint32_t attempt = 0; needs_repair(); ++attempt) {
    if (parts_.log->needs_repair()) co_await parts_.log->repair();
    if (parts_.journal->needs_repair()) co_await parts_.journal->repair();
    if (!needs_repair()) break;
    gather();  // everybody is told
    if (shutdown.requested()) co_return;
    backoffs_.add();
    co_await runtime::sleep_for(backoff.delay(attempt, jitter_));
    retries_.add();
  }
  undo();
  broken_.store(false, std::memory_order_relaxed);
}

}  // namespace ron::registry
