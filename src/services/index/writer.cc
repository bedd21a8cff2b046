#include "services/index/writer.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "runtime/backoff.h"
#include "runtime/metric_names.h"
#include "services/index/metric_names.h"
#include "services/index/wires.h"

namespace ron::index {
namespace {

using base::Code;
using base::Result;
using platform::Task;

// Where the files are is not the clients' business: the log has it.
base::Error not_durable() {
  return {Code::StorageBusy, "the disk did not take it, and it may or may not count; ask again"};
}

}  // namespace

Writer::Writer(WriterParts parts, std::size_t capacity)
    : parts_(parts),
      queue_(*parts_.topology, kWrites, capacity),
      jitter_(parts_.host.random.next()),
      versions_(parts_.topology->meters().counter(metrics::kNameVersions)),
      syncs_(parts_.topology->meters().counter(metrics::kSyncs)),
      cas_failures_(parts_.topology->meters().counter(metrics::kCasFail)),
      retries_(
          parts_.topology->meters().counter(runtime::metrics::kBackoffRetriesTotal, {"write"})) {}

Task<void> Writer::run(runtime::Shutdown shutdown) {
  parts_.epochs->settle();
  for (;;) {
    if (parts_.store->needs_repair()) co_await repair(shutdown);
    // Also when a repair was done and its end was not heard of, because the task was aborted.
    broken_.store(parts_.store->needs_repair(), std::memory_order_relaxed);
    auto job = co_await queue_.take(shutdown);
    if (!job) break;
    co_await write(std::move(*job));
    const Result<void> tidied = co_await parts_.store->tidy();
    if (!tidied) note_failure(tidied.error());
  }
  queue_.close();
  if (parts_.store->needs_repair()) co_return;
  const Result<void> closed = co_await parts_.store->close();
  if (!closed) note_failure(closed.error());
}

Task<void> Writer::write(WriteJob first) {
  Batch batch(&parts_.store->map());
  co_await take(std::move(first), &batch);
  while (batch.answers.size() < kBatchJobs && batch.bytes < Store::kBatchBytes / 2) {
    std::optional<WriteJob> next = queue_.try_take();
    if (!next) break;
    co_await take(std::move(*next), &batch);
  }
  Result<void> done;
  if (!batch.changes.empty()) {
    std::ranges::sort(batch.touched);
    const auto again = std::ranges::unique(batch.touched);
    batch.touched.erase(again.begin(), again.end());
    for (const Epochs::Slot slot : batch.touched) parts_.epochs->begin(slot);
    done = co_await parts_.store->commit(std::move(batch.changes));
    if (done) syncs_.add();
    if (!done) note_failure(done.error());
    // Before anyone is told: whoever asks from now on gets what is there now.
    for (const Epochs::Slot slot : batch.touched) parts_.epochs->finish(slot);
  }
  const bool is_full =
      !done && done.error().code == Code::StorageFull && !parts_.store->needs_repair();
  const base::Error failed = is_full ? done.error() : not_durable();
  for (Answer& answer : batch.answers) answer(done ? nullptr : &failed);
  if (!done) co_return;
  for (IndexEvent& event : batch.events) {
    if (event.kind == EventKind::NameSet || event.kind == EventKind::NameRemoved) versions_.add();
    parts_.events->send(std::move(event));
  }
  // So that whoever listens on this core keeps up.
  if (!batch.events.empty()) co_await platform::Yield();
}

Task<void> Writer::take(WriteJob job, Batch* batch) {
  co_await std::visit([&](auto& one) { return take_one(std::move(one), batch); }, job);
}

template <class J>
Task<void> Writer::take_one(J job, Batch* batch) {
  auto reply = std::move(*job.reply);
  using T = J::Answer;
  Result<T> result = base::fail(not_durable());
  if (job.deadline.passed()) {
    result = base::fail(Code::Timeout, "the request's deadline passed before it was its turn");
  } else if (!is_broken()) {
    result = co_await decide_on(&job, &batch->draft);
  }
  if (result) {
    Store::Changes changes = batch->draft.keep_job();
    note(job, *result, *batch);
    for (const auto& change : changes) {
      batch->bytes += change.key.size() + (change.value ? change.value->size() : 0);
    }
    if (!changes.empty()) batch->changes.push_back(std::move(changes));
  } else {
    batch->draft.drop_job();
    note_refusal(job, result.error(), *batch);
  }
  batch->answers.push_back(
      [to = std::move(reply), result = std::move(result)](const base::Error* failed) mutable {
        const bool is_void = failed != nullptr && result.has_value();
        std::move(to).send(is_void ? base::fail(*failed) : std::move(result));
      });
}

Task<Result<NameSet>> Writer::decide_on(const SetNameJob* job, Draft* draft) {
  return decide(draft, job, rules_, parts_.host.clock.unix_ms());
}
Task<Result<Announced>> Writer::decide_on(const AnnounceJob* job, Draft* draft) {
  return decide(draft, job, parts_.host.clock.unix_ms());
}
Task<Result<bool>> Writer::decide_on(const PinJob* job, Draft* draft) { return decide(draft, job); }
Task<Result<bool>> Writer::decide_on(const ManifestJob* job, Draft* draft) {
  return decide(draft, job);
}
Task<Result<std::size_t>> Writer::decide_on(const PruneJob* job, Draft* draft) {
  return decide(draft, job, &parts_.store->map());
}

void Writer::note(const SetNameJob& job, const NameSet& set, Batch& batch) const {
  if (!set.has_changed) return;
  batch.touched.push_back(Epochs::slot_of(set.version.name));
  if (set.version.target) batch.touched.push_back(Epochs::slot_of(*set.version.target));
  batch.events.push_back({.kind = set.version.target ? EventKind::NameSet : EventKind::NameRemoved,
                          .key = set.version.name,
                          .version = set.version.version,
                          .token = job.origin.token,
                          .corr_id = job.origin.corr_id});
}

void Writer::note(const AnnounceJob& job, const Announced& announced, Batch& batch) const {
  for (const ProviderEntry& entry : job.providers) {
    batch.touched.push_back(Epochs::slot_of(entry.record.addr));
  }
  // Those that come by the thousand, from storage of the same process, are not worth a line each.
  if (job.origin.token.empty()) return;
  batch.events.push_back({.kind = EventKind::Announced,
                          .key = job.providers.front().record.addr.text(),
                          .version = announced.accepted,
                          .token = job.origin.token,
                          .corr_id = job.origin.corr_id});
}

void Writer::note(const PinJob& job, bool changed, Batch& batch) const {
  if (!changed) return;
  batch.events.push_back({.kind = job.is_pinned ? EventKind::Pinned : EventKind::Unpinned,
                          .key = job.key,
                          .token = job.origin.token,
                          .corr_id = job.origin.corr_id});
}

void Writer::note(const ManifestJob& job, bool changed, Batch& batch) const {
  if (changed) batch.touched.push_back(Epochs::slot_of(job.address));
}

void Writer::note_refusal(const SetNameJob& job, const base::Error& why, Batch&) const {
  if (why.code == Code::VersionSkew) cas_failures_.add();
  parts_.events->send({.kind = EventKind::Refused,
                       .key = job.wanted.name,
                       .code = std::string(why.name()),
                       .token = job.origin.token,
                       .corr_id = job.origin.corr_id});
}

void Writer::note_failure(const base::Error& why) {
  broken_.store(parts_.store->needs_repair(), std::memory_order_relaxed);
  const auto silenced = trouble_limit_.admit(parts_.host.clock.unix_ms());
  if (silenced) {
    parts_.log.warn("write failed", {{"what", why.message}, {"silenced", *silenced}});
  }
}

// Clients are told meanwhile, so that nobody waits for a disk that may be gone for long.
Task<void> Writer::repair(runtime::Shutdown shutdown) {
  broken_.store(true, std::memory_order_relaxed);
  const runtime::Backoff backoff;
  for (std::uint32_t attempt = 0;; ++attempt) {
    const Result<void> repaired = co_await parts_.store->repair();
    if (repaired) break;
    note_failure(repaired.error());
    while (std::optional<WriteJob> job = queue_.try_take()) co_await write(std::move(*job));
    if (shutdown.requested()) co_return;
    co_await runtime::sleep_for(backoff.delay(attempt, jitter_));
    retries_.add();
  }
  // What was in doubt may count now.
  parts_.epochs->advance_all();
  broken_.store(false, std::memory_order_relaxed);
}

}  // namespace ron::index
