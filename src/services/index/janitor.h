// CacheJanitor: the only writer of the cache. Takes in what resolvers found, lets go of what is of
// no use any more, and has the writer forget providers that have expired.
#pragma once

#include <memory>

#include "platform/host.h"
#include "platform/task.h"
#include "runtime/meter.h"
#include "runtime/shutdown.h"
#include "runtime/watch.h"
#include "services/index/cache.h"
#include "services/index/cache_feed.h"
#include "services/index/resolver.h"
#include "services/index/writer.h"

namespace ron::index {

// All of it outlives it.
struct JanitorParts {
  platform::Host host;
  runtime::Topology* topology;
  Cache* cache;
  CacheFeed* feed;
  Writer* writer;
  runtime::Watch<SettingsPtr>* settings;
};

// One task.
class CacheJanitor {
 public:
  explicit CacheJanitor(JanitorParts parts);
  CacheJanitor(const CacheJanitor&) = delete;
  CacheJanitor& operator=(const CacheJanitor&) = delete;

  // Until a stop is requested. Cancel-safe.
  platform::Task<void> run(runtime::Shutdown shutdown);

 private:
  // Answers taken in before others of the core have their turn.
  static constexpr std::size_t kAtOnce = 64;
  static constexpr base::Duration kSweepEvery = std::chrono::seconds(1);
  static constexpr base::Duration kPruneEvery = std::chrono::seconds(10);
  static constexpr base::Duration kPrunePatience = std::chrono::seconds(5);

  platform::Task<void> tidy(platform::TimePoint now);
  platform::Task<void> prune(std::uint64_t until_ms);

  JanitorParts parts_;
  platform::TimePoint next_sweep_{};
  platform::TimePoint next_prune_{};
  platform::TimePoint next_purge_{};
  runtime::Counter& expired_;
  runtime::Counter& purges_;
};

}  // namespace ron::index
