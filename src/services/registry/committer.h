// Committer: the only writer of HEAD and the log. Takes what is queued, decides, makes it durable
// with one sync for all, publishes, answers.
//
// A lone client pays one sync and no waiting; while one is under way others queue and share the
// next. A batch that the disk refused is undone as a whole: everybody in it is told, and the log is
// repaired before the next one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "chain/frame_log.h"
#include "chain/tree_files.h"
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

  // Before run(): what was committed lately, and the rules; those may also change while it runs, on
  // its executor.
  void add_recent(std::string_view proposal, const chain::Head& head) {
    planner_.add_recent(proposal, head);
  }
  void set_rules(ProposalRules rules) noexcept { planner_.set_rules(rules); }

  // Until a stop is requested and nothing is queued. An aborted or failed run may be followed by
  // another, which goes on from what is durable.
  platform::Task<void> run(runtime::Shutdown shutdown);

  // For readiness. Any core. How long the write under way has taken so far, and whether the last
  // one failed.
  [[nodiscard]] base::Duration writing_for() const noexcept;
  [[nodiscard]] bool is_broken() const noexcept { return broken_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kBatchJobs = 256;
  // Frames beyond which the journal is written anew, unless most of it is live.
  static constexpr std::uint64_t kJournalFrames = 4096;

  // Tells one client what came of its job, or why nothing did.
  using Answer = std::move_only_function<void(const base::Error*)>;
  using Capture = runtime::OneshotSender<base::Result<chain::State>>;
  struct Batch {
    Plan plan;
    std::vector<Answer> answers;
    std::vector<Capture> captures;

    [[nodiscard]] bool is_empty() const noexcept {
      return plan.is_empty() && answers.empty() && captures.empty();
    }
  };

  Batch gather();
  void take(ProposeJob job, Batch& batch);
  void take(CommitJob job, Batch& batch);
  void take(CaptureJob job, Batch& batch);
  void take(ApproveJob job, Batch& batch);
  template <class J>
  bool is_wanted(J& job);
  template <class T>
  void answer_later(Batch& batch, runtime::OneshotSender<base::Result<T>> reply,
                    base::Result<T> result);
  void note_refusal(std::string_view action, const std::string& proposal, const std::string& signer,
                    const Origin& origin, const base::Error& why);

  platform::Task<void> commit(Batch* batch);
  platform::Task<base::Result<void>> write_journal(std::vector<std::string> frames);
  platform::Task<base::Result<void>> write_gone();
  platform::Task<base::Result<void>> write_log(Plan* plan);
  void publish(Plan& plan);
  platform::Task<void> answer_captures(std::vector<Capture> captures);
  platform::Task<void> tidy_journal();
  platform::Task<void> repair(runtime::Shutdown shutdown);
  void undo();
  base::Ulid new_id();
  [[nodiscard]] runtime::Deadline next_sweep() const;

  CommitterParts parts_;
  kit::WorkQueue<ProposalJob> proposals_;
  kit::WorkQueue<ApprovalJob> approvals_;
  runtime::Watch<std::uint64_t> intake_;
  std::atomic<std::uint64_t> rings_ = 0;
  Planner planner_;
  std::vector<std::string> gone_;      // committed, and the journal does not say so yet
  std::uint64_t journal_live_from_ = 0;  // frames below it say nothing that counts
  std::atomic<std::int64_t> write_began_ns_ = 0;  // 0: no write is under way
  std::atomic<bool> broken_ = false;
  bool log_broken_ = false;
  bool journal_broken_ = false;
  platform::FastRandom jitter_;
  runtime::Counter& commits_;
  runtime::Counter& syncs_;
  runtime::Counter& cas_failures_;
  runtime::Counter& backoffs_;
};

}  // namespace ron::registry
