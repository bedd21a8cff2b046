// Committer: the only writer of HEAD and the log. Takes what is queued, decides, makes it durable
// with one sync for all, publishes, answers.
//
// A lone client pays one sync and no waiting; while one is under way others queue and share the
// next. A batch that the disk refused is undone as a whole: everybody in it is told, and the log is
// repaired before the next one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "chain/frame_log.h"
#include "chain/tree_files.h"
#include "observe/log.h"
#include "platform/host.h"
#include "platform/task.h"
#include "runtime/broadcast.h"
#include "runtime/meter.h"
#include "runtime/shutdown.h"
#include "runtime/watch.h"
#include "services/kit/work_queue.h"
#include "services/registry/jobs.h"
#include "services/registry/planner.h"
#include "services/registry/views.h"

namespace ron::registry {

// What it works on. All of it outlives it.
struct CommitterParts {
  platform::Host host;
  runtime::Topology* topology;
  chain::FrameLog* log;
  chain::FrameLog* journal;
  chain::Tree* tree;
  Views* views;
  runtime::Broadcast<Committed>* committed;
  runtime::Broadcast<RegistryEvent>* events;
  observe::Log messages;
};

struct CommitterCapacities {
  std::size_t proposals;
  std::size_t approvals;
};

// The queues may be used from any core; run() by one task on one executor.
class Committer {
 public:
  Committer(CommitterParts parts, CommitterCapacities capacities);
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  [[nodiscard]] kit::WorkQueue<ProposalJob>& proposals() noexcept { return proposals_; }
  [[nodiscard]] kit::WorkQueue<ApprovalJob>& approvals() noexcept { return approvals_; }
  // After a send. Any core.
  void ring() noexcept;
  // Counted and audited as its own refusals are: of an approval that never came to it. Any core.
  void note_refused_approval(const std::string& proposal, const std::string& signer,
                             const Origin& origin, const base::Error& why) {
    note_refusal(Action::Approve, proposal, signer, origin, why);
  }
  void note_refused_proposal(const Origin& origin, const base::Error& why) {
    note_refusal(Action::Propose, "", "", origin, why);
  }

  // Before run(): what was committed lately, which of it the journal still has, and the rules;
  // those may also change while it runs, on its executor.
  void add_recent(std::string_view proposal, const chain::Head& head) {
    planner_.add_recent(proposal, head);
  }
  void add_withdrawn(Withdrawn withdrawn) { planner_.add_withdrawn(std::move(withdrawn)); }
  void add_gone(std::string proposal) { gone_.push_back(std::move(proposal)); }
  void set_rules(ProposalRules rules) noexcept { planner_.set_rules(rules); }
  // Told of every HEAD it has published, on its executor. Must not wait.
  void on_published(std::function<void(std::uint64_t version)> tell) {
    on_published_ = std::move(tell);
  }

  // Until a stop is requested and nothing is queued. An aborted or failed run may be followed by
  // another, which goes on from what is durable.
  platform::Task<void> run(runtime::Shutdown shutdown);

  // For readiness. Any core. How long the write under way has taken so far, and whether the last
  // one failed.
  [[nodiscard]] base::Duration writing_for() const noexcept;
  [[nodiscard]] bool is_broken() const noexcept { return broken_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kBatchJobs = 256;
  // Nothing more is taken beyond this: with the job at hand it still fits what a log takes at once.
  static constexpr std::size_t kBatchBytes = 8 * base::kMiB;
  static_assert(kBatchBytes + 2 * chain::kMaxEntryBytes < chain::kMaxBatchBytes);
  // Frames beyond which the journal is written anew, unless most of it is live.
  static constexpr std::uint64_t kJournalFrames = 4096;
  // Commits of which the journal need not hear at once.
  static constexpr std::size_t kMostGone = 8192;

  // Tells one client what came of its job, or why nothing did.
  using Answer = std::move_only_function<void(const base::Error*)>;
  using Capture = runtime::OneshotSender<base::Result<chain::State>>;
  struct Batch {
    Plan plan;
    std::size_t taken = 0;          // jobs, those that nobody wants any more included
    std::vector<Answer> answers;    // to what the journal has to keep
    std::vector<Answer> committed;  // to what the log has to
    std::vector<Capture> captures;

    [[nodiscard]] bool is_empty() const noexcept { return taken == 0 && plan.is_empty(); }
  };

  // While it lives a write is under way.
  class Writing {
   public:
    explicit Writing(Committer& owner) noexcept : owner_(owner) {
      const auto now = owner_.parts_.host.clock.monotonic().time_since_epoch();
      owner_.write_began_ns_.store(now.count(), std::memory_order_relaxed);
    }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;
    ~Writing() { owner_.write_began_ns_.store(0, std::memory_order_relaxed); }

   private:
    Committer& owner_;
  };

  Batch gather();
  void take(ProposeJob job, Batch& batch);
  void take(CommitJob job, Batch& batch);
  void take(WithdrawJob job, Batch& batch);
  void take(CaptureJob job, Batch& batch);
  void take(ApproveJob job, Batch& batch);
  void take(ExplainJob job, Batch& batch);
  template <class J>
  bool is_wanted(J& job);
  template <class T>
  static Answer answer_later(runtime::OneshotSender<base::Result<T>> reply, base::Result<T> result);
  // One of metrics::kActions.
  enum class Action : std::uint8_t { Propose, Approve, Commit, Withdraw };
  void note_refusal(Action action, const std::string& proposal, const std::string& signer,
                    const Origin& origin, const base::Error& why);

  platform::Task<void> commit(Batch* batch);
  // With what is gone since the last time.
  platform::Task<base::Result<void>> write_journal(std::vector<std::string> frames);
  platform::Task<base::Result<void>> write_log(Plan* plan);
  static void answer_all(std::vector<Answer>& answers, const base::Result<void>& done);
  void note_failure(const base::Result<void>& done);
  void announce(Plan& plan, bool is_journaled, bool is_logged);
  platform::Task<void> answer_captures(std::vector<Capture> captures, base::Result<void> done);
  platform::Task<void> tidy_journal();
  platform::Task<void> repair(runtime::Shutdown shutdown);
  void undo();
  [[nodiscard]] bool needs_repair() const noexcept {
    return parts_.log->needs_repair() || parts_.journal->needs_repair();
  }
  base::Ulid new_id();
  [[nodiscard]] runtime::Deadline next_sweep() const;

  CommitterParts parts_;
  kit::WorkQueue<ProposalJob> proposals_;
  kit::WorkQueue<ApprovalJob> approvals_;
  runtime::Watch<std::uint64_t> intake_;
  std::atomic<std::uint64_t> rings_ = 0;
  Planner planner_;
  std::vector<std::string> gone_;        // committed, and the journal does not say so yet
  std::uint64_t journal_live_from_ = 0;  // frames below it say nothing that counts; 0: nobody knows
  std::atomic<std::int64_t> write_began_ns_ = 0;  // 0: no write is under way
  std::atomic<bool> broken_ = false;
  platform::FastRandom jitter_;
  std::function<void(std::uint64_t version)> on_published_;
  observe::LogLimiter trouble_limit_{10'000};
  runtime::Counter& commits_;
  runtime::Counter& syncs_;
  runtime::Counter& cas_failures_;
  runtime::Counter& backoffs_;
  runtime::Counter& retries_;
  std::array<runtime::Counter*, 4> refused_{};  // by Action
};

}  // namespace ron::registry
