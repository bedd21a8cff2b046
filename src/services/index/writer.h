// Writer: the only one who changes what is kept. Takes what is queued, decides one job after the
// other, makes it durable with one sync for all, lets readers see it, answers.
//
// A lone client pays one sync and no waiting; while one is under way others queue and share the
// next. Of a batch that the disk refused everybody is told that it may or may not count; the repair
// decides it before anything else is written.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "observe/log.h"
#include "platform/host.h"
#include "platform/task.h"
#include "runtime/broadcast.h"
#include "runtime/meter.h"
#include "runtime/shutdown.h"
#include "services/index/decide.h"
#include "services/index/epochs.h"
#include "services/index/events.h"
#include "services/index/jobs.h"
#include "services/index/store.h"
#include "services/kit/work_queue.h"

namespace ron::index {

// All of it outlives it.
struct WriterParts {
  platform::Host host;
  runtime::Topology* topology;
  Store* store;
  Epochs* epochs;
  runtime::Broadcast<IndexEvent>* events;
  observe::Log log;
};

// The queue may be used from any core; run() by one task, on cores[0].
class Writer {
 public:
  Writer(WriterParts parts, std::size_t capacity);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  [[nodiscard]] kit::WorkQueue<WriteJob>& queue() noexcept { return queue_; }
  // On the writer's executor.
  void set_rules(WriteRules rules) noexcept { rules_ = rules; }

  // Until a stop is requested and nothing is queued. An aborted or failed run may be followed by
  // another.
  platform::Task<void> run(runtime::Shutdown shutdown);

  // The last write failed, and nothing can be written before it is repaired. Any core.
  [[nodiscard]] bool is_broken() const noexcept { return broken_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kBatchJobs = 256;

  // Tells one client what came of its job, or why nothing did.
  using Answer = std::move_only_function<void(const base::Error*)>;
  struct Batch {
    explicit Batch(platform::KeyValue* map) : draft(map) {}
    Draft draft;
    std::vector<Store::Changes> changes;
    std::vector<Answer> answers;
    std::vector<Epochs::Slot> touched;
    std::vector<IndexEvent> events;
    std::size_t bytes = 0;
  };

  platform::Task<void> write(WriteJob first);
  platform::Task<void> take(WriteJob job, Batch* batch);
  template <class J>
  platform::Task<void> take_one(J job, Batch* batch);
  // What the job's change voids, and what is told of it.
  void note(const SetNameJob& job, const NameSet& set, Batch& batch) const;
  void note(const AnnounceJob& job, const Announced& announced, Batch& batch) const;
  // An answer made of what was said is no older than that.
  void note(const LearnJob&, const Announced&, Batch&) const {}
  void note(const PinJob& job, bool changed, Batch& batch) const;
  void note(const ManifestJob& job, bool changed, Batch& batch) const;
  void note(const PruneJob&, std::size_t, Batch&) const {}
  void note_refusal(const SetNameJob& job, const base::Error& why, Batch& batch) const;
  template <class J>
  void note_refusal(const J&, const base::Error&, Batch&) const {}
  platform::Task<base::Result<NameSet>> decide_on(const SetNameJob* job, Draft* draft);
  platform::Task<base::Result<Announced>> decide_on(const AnnounceJob* job, Draft* draft);
  platform::Task<base::Result<bool>> decide_on(const PinJob* job, Draft* draft);
  platform::Task<base::Result<bool>> decide_on(const ManifestJob* job, Draft* draft);
  platform::Task<base::Result<std::size_t>> decide_on(const PruneJob* job, Draft* draft);
  platform::Task<void> repair(runtime::Shutdown shutdown);
  void note_failure(const base::Error& why);

  WriterParts parts_;
  kit::WorkQueue<WriteJob> queue_;
  WriteRules rules_;
  std::atomic<bool> broken_ = false;
  platform::FastRandom jitter_;
  observe::LogLimiter trouble_limit_{10'000};
  runtime::Counter& versions_;
  runtime::Counter& syncs_;
  runtime::Counter& cas_failures_;
  runtime::Counter& retries_;
};

}  // namespace ron::index
