// Loader: the way of whatever is not in memory, once for all who ask for it at once.
//
//   if (auto found = loader.find(key)) co_return kit::answer(*request, found);
//   auto loaded = co_await loader.load(key, make, request->deadline);
//
// Any core.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/result.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/shutdown.h"
#include "runtime/topology.h"
#include "services/edge/config.h"
#include "services/edge/jobs.h"
#include "services/edge/memory_tier.h"
#include "services/kit/single_flight.h"
#include "services/kit/work_queue.h"

namespace ron::edge {

class Loader {
 public:
  Loader(runtime::Topology& topology, const EdgeConfig& config);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  [[nodiscard]] std::uint64_t new_generation() noexcept { return next_generation_.fetch_add(1); }

  // nullptr: it has to be loaded. Never waits.
  [[nodiscard]] kit::RepresentationPtr find(const MemoryKey& key);
  // Through a loader. Busy when the queue is full or too many wait for the same; Timeout; what
  // `make` fails with. Cancel-safe: the load goes on for the others who wait for it.
  platform::Task<base::Result<kit::RepresentationPtr>> load(MemoryKey key, Make make,
                                                            runtime::Deadline deadline);
  // The same for a URL that is filled from its origin, through a worker. Fills have a part of the
  // queue only: however many there are, loads find room.
  platform::Task<base::Result<FilledPtr>> fill(std::string url, Fill fill,
                                               runtime::Deadline deadline);

  // The bodies of a worker and of a loader.
  platform::Task<void> do_fills(runtime::Shutdown shutdown);
  platform::Task<void> do_loads(runtime::Shutdown shutdown);

  void apply(const EdgeConfig& config);
  [[nodiscard]] MemoryTier& memory() noexcept { return memory_; }
  // So much waits that requests will be refused soon. Any core.
  [[nodiscard]] bool is_crowded() const noexcept;
  [[nodiscard]] const runtime::Limit& fills_waiting() const noexcept { return fills_waiting_; }
  // Fills that may wait at once in a queue for so many jobs.
  static constexpr std::size_t most_fills(std::size_t capacity) noexcept {
    return std::max<std::size_t>(1, capacity - (capacity + 3) / 4);
  }

 private:
  // A queue this full, in percent, is about to refuse.
  static constexpr std::size_t kCrowded = 90;

  platform::Task<void> run(LoadJob job);
  platform::Task<void> run(FillJob job);

  MemoryTier memory_;
  kit::SingleFlight<MemoryKey, kit::RepresentationPtr, MemoryKeyHash> loads_;
  kit::SingleFlight<std::string, FilledPtr> fills_;
  runtime::Limit fills_waiting_;  // outlives the jobs in the queue
  kit::WorkQueue<Job> work_;
  std::atomic<std::uint64_t> next_generation_ = 1;
  std::atomic<std::uint64_t> max_waiting_;
  runtime::Counter& hits_;
  runtime::Counter& started_;
  runtime::Counter& joined_;
  runtime::Counter& dropped_;
};

}  // namespace ron::edge
