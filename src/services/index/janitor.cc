#include "services/index/janitor.h"

#include <limits>
#include <utility>

#include "services/index/metric_names.h"

namespace ron::index {

using platform::Task;

CacheJanitor::CacheJanitor(JanitorParts parts)
    : parts_(parts),
      expired_(parts_.topology->meters().counter(metrics::kCacheEvicted)),
      purges_(parts_.topology->meters().counter(metrics::kPurges)) {}

Task<void> CacheJanitor::run(runtime::Shutdown shutdown) {
  const platform::TimePoint began = parts_.host.clock.monotonic();
  next_sweep_ = began + kSweepEvery;
  next_prune_ = began + kPruneEvery;
  next_purge_ = began + std::chrono::milliseconds(parts_.settings->get()->purge_interval_ms);
  CacheFeed::Receiver answers(*parts_.feed);
  while (!shutdown.requested()) {
    const platform::TimePoint now = parts_.host.clock.monotonic();
    std::size_t taken = 0;
    for (; taken < kAtOnce; ++taken) {
      std::optional<AnswerPtr> answer = answers.next();
      if (!answer) break;
      parts_.cache->put(std::move(*answer), now);
    }
    if (now >= next_sweep_) co_await tidy(now);
    if (taken == kAtOnce) {
      co_await platform::Yield();
    } else {
      co_await answers.wait(runtime::Deadline(next_sweep_), shutdown);
    }
  }
}

Task<void> CacheJanitor::tidy(platform::TimePoint now) {
  next_sweep_ = now + kSweepEvery;
  const SettingsPtr settings = parts_.settings->get();
  parts_.cache->set_entries(settings->cache.entries);
  expired_.add(parts_.cache->sweep(now));
  if (now >= next_prune_) {
    next_prune_ = now + kPruneEvery;
    co_await prune(static_cast<std::uint64_t>(parts_.host.clock.unix_ms()));
  }
  if (settings->amnesia && now >= next_purge_) {
    next_purge_ = now + std::chrono::milliseconds(settings->purge_interval_ms);
    co_await prune(std::numeric_limits<std::uint64_t>::max());
    parts_.cache->purge();
    purges_.add();
  }
}

// A page at a time, so that the writer's clients wait for a page at most.
Task<void> CacheJanitor::prune(std::uint64_t until_ms) {
  for (;;) {
    PruneJob job;
    job.now_ms = until_ms;
    job.deadline = runtime::Deadline::in(kPrunePatience);
    const auto gone = co_await parts_.writer->queue().ask(std::move(job), kit::WhenFull::Wait);
    if (!gone || *gone < kPruned) co_return;
  }
}

}  // namespace ron::index
