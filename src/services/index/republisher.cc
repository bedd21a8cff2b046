#include "services/index/republisher.h"

#include <algorithm>
#include <utility>

#include "runtime/wait_any.h"
#include "runtime/wait_either.h"
#include "services/index/metric_names.h"
#include "services/index/wires.h"

namespace ron::index {

using base::Code;
using base::Result;
using catalog::ProviderRecord;
using platform::Task;
using runtime::Deadline;

namespace {

platform::TimePoint now() { return platform::Executor::current()->now(); }

}  // namespace

Republisher::Republisher(Parts parts)
    : parts_(std::move(parts)), every_(parts_.settings().every.count()) {
  runtime::Meters& meters = parts_.topology->meters();
  for (const std::string& name : parts_.targets->names()) {
    announcements_.push_back(
        std::make_unique<Announcements>(*parts_.topology, kAnnouncements, kAnnouncements.capacity));
    lanes_.push_back(std::make_unique<Lane>(parts_.clock->monotonic(),
                                            meters.counter(metrics::kPublished, {name}),
                                            meters.counter(metrics::kPublishFailures, {name})));
  }
  lag_ = meters.gauge_fn(metrics::kRepublishLag, {}, [this] { return lag_seconds(); });
}

std::int64_t Republisher::lag_seconds() const {
  if (parts_.is_amnesiac) return 0;
  const std::int64_t time = parts_.clock->monotonic().time_since_epoch().count();
  std::int64_t worst = 0;
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
    if (parts_.targets->kind(i) == TargetKind::Static) continue;
    const std::int64_t due = lanes_[i]->last_good_end.load(std::memory_order_relaxed) +
                             every_.load(std::memory_order_relaxed);
    worst = std::max(worst, time - due);
  }
  return std::chrono::duration_cast<std::chrono::seconds>(base::Duration(worst)).count();
}

void Republisher::announce(const ProviderRecord& record) {
  if (parts_.is_amnesiac) return;
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
    if (parts_.targets->kind(i) == TargetKind::Static) continue;
    // A full queue drops the oldest, which the next round publishes.
    (void)announcements_[i]->try_send(record);
  }
}

Task<void> Republisher::run(const std::vector<std::unique_ptr<Target>>* targets,
                            runtime::Shutdown shutdown) {
  std::vector<std::unique_ptr<runtime::Background<void>>> running;
  for (std::uint32_t i = 0; i < targets->size() && !parts_.is_amnesiac; ++i) {
    if (parts_.targets->kind(i) == TargetKind::Static) continue;
    running.push_back(
        std::make_unique<runtime::Background<void>>(run_lane(i, (*targets)[i].get())));
  }
  co_await runtime::wait_stop(shutdown);
}

// Ends when it is dropped.
Task<void> Republisher::run_lane(std::uint32_t index, Target* target) {
  Walk walk{.index = index, .target = target, .due = Deadline(now())};
  for (;;) {
    if (walk.due.passed()) {
      co_await run_round(&walk);
      continue;
    }
    auto announced = co_await announcements_[index]->recv(walk.due);
    if (announced) co_await begin(&walk, std::move(*announced));
  }
}

// Through all records once. What is announced meanwhile goes first.
Task<void> Republisher::run_round(Walk* walk) {
  const platform::TimePoint begun = now();
  walk->is_clean = true;
  std::string after;
  for (bool is_last = false; !is_last;) {
    Result<RecordPage> page = co_await parts_.read(after, kPageRecords);
    if (!page) {
      walk->is_clean = false;
      co_await runtime::sleep_for(kPatience);
      continue;
    }
    for (ProviderRecord& record : page->records) {
      co_await publish_announced(walk);
      co_await begin(walk, std::move(record));
    }
    after = std::move(page->after);
    is_last = after.empty();
  }
  while (!walk->in_flight.empty()) co_await wait_for_one(walk);
  const base::Duration every = parts_.settings().every;
  every_.store(every.count(), std::memory_order_relaxed);
  if (walk->is_clean) {
    const std::int64_t ended = now().time_since_epoch().count();
    lanes_[walk->index]->last_good_end.store(ended, std::memory_order_relaxed);
    walk->due = Deadline(begun + every);
  } else {
    walk->due = Deadline(now() + every / kSooner);
  }
}

Task<void> Republisher::publish_announced(Walk* walk) {
  while (auto announced = announcements_[walk->index]->try_recv()) {
    co_await begin(walk, std::move(*announced));
  }
}

Task<void> Republisher::begin(Walk* walk, ProviderRecord record) {
  while (parts_.breakers->state(walk->index) == runtime::BreakerState::Open) {
    co_await runtime::sleep_for(kPatience);
  }
  while (walk->in_flight.size() >= kInFlight) co_await wait_for_one(walk);
  if (walk->turn > now()) co_await runtime::sleep_until(Deadline(walk->turn));
  const std::uint32_t per_second = std::max<std::uint32_t>(parts_.settings().per_second, 1);
  walk->turn = now() + base::Duration(std::chrono::seconds(1)) / per_second;
  walk->in_flight.push_back(
      std::make_unique<runtime::Background<void>>(publish(walk, std::move(record))));
  std::erase_if(walk->in_flight, [](const auto& one) { return one->done(); });
}

Task<void> Republisher::publish(Walk* walk, ProviderRecord record) {
  const Result<void> taken =
      co_await walk->target->publish(std::move(record), Deadline::in(kPublishTimeout));
  Lane& lane = *lanes_[walk->index];
  if (taken) {
    lane.published.add();
    co_return;
  }
  lane.failures.add();
  // One that does not want the record does not want it the next time either.
  if (taken.error().code != Code::NotAllowed) walk->is_clean = false;
}

Task<void> Republisher::wait_for_one(Walk* walk) {
  std::vector<runtime::EventOp> ends;
  ends.reserve(walk->in_flight.size());
  for (auto& one : walk->in_flight) ends.push_back(one->finished());
  co_await runtime::wait_any(std::move(ends), Deadline());
  std::erase_if(walk->in_flight, [](const auto& one) { return one->done(); });
}

}  // namespace ron::index
