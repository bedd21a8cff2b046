#include "services/edge/loader.h"

#include <string>
#include <utility>

#include "runtime/metric_names.h"
#include "services/edge/metric_names.h"
#include "services/edge/wires.h"

namespace ron::edge {
namespace {

using base::Code;
using base::Result;
using platform::Task;

base::Error too_many(std::size_t most) {
  return base::Error(Code::Busy, "too many requests wait for the same")
      .with("waiting", std::to_string(most));
}

base::Error too_many_fills(std::size_t most) {
  return base::Error(Code::Busy, "too many fills wait for a worker")
      .with("queue", std::string(kWork.name))
      .with("waiting", std::to_string(most));
}

}  // namespace

Loader::Loader(runtime::Topology& topology, const EdgeConfig& config)
    : memory_(kMemoryLock, config.cache.ram_bytes.bytes),
      loads_(kFlightsLock),
      fills_(kFlightsLock),
      fills_waiting_(most_fills(config.work_capacity)),
      work_(topology, kWork, config.work_capacity, kWorkLanes),
      max_waiting_(config.fill.max_waiting),
      hits_(topology.meters().counter(metrics::kMemoryHits)),
      started_(topology.meters().counter(metrics::kLoads)),
      joined_(topology.meters().counter(metrics::kLoadsJoined)),
      dropped_(topology.meters().counter(runtime::metrics::kQueueDroppedTotal, {kWork.name})) {}

void Loader::apply(const EdgeConfig& config) {
  memory_.set_capacity(config.cache.ram_bytes.bytes);
  max_waiting_.store(config.fill.max_waiting, std::memory_order_relaxed);
}

kit::RepresentationPtr Loader::find(const MemoryKey& key) {
  kit::RepresentationPtr found = memory_.find(key);
  if (found) hits_.add();
  return found;
}

Task<Result<kit::RepresentationPtr>> Loader::load(MemoryKey key, Make make,
                                                  runtime::Deadline deadline) {
  const std::size_t most = max_waiting_.load(std::memory_order_relaxed);
  auto joined = loads_.try_join(key, most);
  if (!joined) co_return base::fail(too_many(most));
  if (joined->reply) {
    LoadJob job;
    job.key = key;
    job.make = std::move(make);
    job.reply = std::move(joined->reply);
    work_.post(std::move(job));
  } else {
    joined_.add();
  }
  auto reply = co_await joined->waiting.wait(deadline);
  co_return kit::WorkQueue<Job>::answer_of(std::move(reply));
}

Task<Result<FilledPtr>> Loader::fill(std::string url, Fill fill, runtime::Deadline deadline) {
  const std::size_t most = max_waiting_.load(std::memory_order_relaxed);
  auto joined = fills_.try_join(url, most);
  if (!joined) co_return base::fail(too_many(most));
  if (joined->reply) {
    FillJob job;
    job.fill = std::move(fill);
    job.reply = std::move(joined->reply);
    job.place = fills_waiting_.try_acquire();
    if (job.place) {
      work_.post(std::move(job));
    } else {
      dropped_.add();
      std::move(*job.reply).send(base::fail(too_many_fills(fills_waiting_.most())));
    }
  } else {
    joined_.add();
  }
  auto reply = co_await joined->waiting.wait(deadline);
  co_return kit::WorkQueue<Job>::answer_of(std::move(reply));
}

Task<void> Loader::do_fills(runtime::Shutdown shutdown) {
  return work_.work(std::move(shutdown), kFillLane,
                    [this](auto job) { return run(std::move(job)); });
}

Task<void> Loader::do_loads(runtime::Shutdown shutdown) {
  return work_.work(std::move(shutdown), kLoadLane,
                    [this](auto job) { return run(std::move(job)); });
}

bool Loader::is_crowded() const noexcept {
  return work_.depth() * 100 >= work_.capacity() * kCrowded ||
         fills_waiting_.used() * 100 >= fills_waiting_.most() * kCrowded;
}

// Who missed it in memory just before the last load ended finds it there now.
Task<void> Loader::run(LoadJob job) {
  kit::RepresentationPtr found = memory_.find(job.key);
  if (found) {
    std::move(*job.reply).send(std::move(found));
    co_return;
  }
  started_.add();
  const MemoryTier::Ticket ticket = memory_.ticket(job.key);
  Result<kit::RepresentationPtr> made = co_await job.make();
  if (made) memory_.insert(job.key, *made, ticket);
  std::move(*job.reply).send(std::move(made));
}

Task<void> Loader::run(FillJob job) {
  job.place = {};
  Result<FilledPtr> filled = co_await job.fill();
  std::move(*job.reply).send(std::move(filled));
}

}  // namespace ron::edge
