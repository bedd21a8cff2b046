#include "platform/sim/world.h"

#include <algorithm>
#include <utility>

namespace ron::platform::sim {
namespace {

// One step in this many looks at timers and events although jobs are ready, as a busy loop does.
constexpr std::uint64_t kLookUpEvery = 16;

}  // namespace

void CoreExecutor::post(Job& job) noexcept {
  if (place(job) != Place::Nowhere) return;
  set_place(job, Place::Local);
  world_.add_ready(job, *this);
}

bool CoreExecutor::unpost(Job& job) noexcept {
  if (place(job) == Place::Nowhere) return false;
  set_place(job, Place::Nowhere);
  world_.remove_ready(job);
  return true;
}

TimePoint CoreExecutor::now() const noexcept { return world_.now(); }

World::World(std::uint64_t seed, Options options)
    : seed_(seed), options_(options), random_(seed), network_(*this, options.network) {
  trace(TraceKind::Event, seed);
}

World::~World() {
  // What was under way holds files and connections of the nodes: it goes first.
  const std::vector<Event> dropped = std::move(events_);
}

Node& World::add_node(NodeOptions options) {
  nodes_.push_back(std::make_unique<Node>(*this, static_cast<NodeId>(nodes_.size()), options));
  return *nodes_.back();
}

CoreExecutor& World::add_core() {
  cores_.push_back(
      std::make_unique<CoreExecutor>(*this, static_cast<std::uint32_t>(cores_.size())));
  return *cores_.back();
}

Outcome World::run_until(const std::function<bool()>& predicate, Duration limit) {
  const TimePoint end = now_ + limit;
  instant_began_ = steps_;
  while (!predicate()) {
    if (exhausted()) return Outcome::StepLimit;
    if (step(end)) continue;
    const bool stuck = find_next().due == kNever;
    now_ = end;
    return stuck ? Outcome::Stuck : Outcome::TimeLimit;
  }
  return Outcome::Done;
}

Outcome World::run_for(Duration duration) {
  const TimePoint end = now_ + duration;
  instant_began_ = steps_;
  while (!exhausted()) {
    if (step(end)) continue;
    now_ = end;
    return Outcome::TimeLimit;
  }
  return Outcome::StepLimit;
}

bool World::exhausted() const noexcept {
  return steps_ >= options_.steps || steps_ - instant_began_ >= options_.steps_per_instant;
}

std::int64_t World::unix_ms() const noexcept {
  return options_.start_unix_ms + now_.time_since_epoch().count() / 1'000'000;
}

void World::at(TimePoint due, std::move_only_function<void()> event) {
  events_.push_back({std::max(due, now_), event_number_++, std::move(event)});
  std::ranges::push_heap(events_, later);
}

Duration World::up_to(Duration bound) noexcept {
  if (bound.count() <= 0) return {};
  const auto steps = static_cast<std::uint64_t>(bound.count()) + 1;
  return Duration(static_cast<Duration::rep>(random_.below(steps)));
}

void World::remove_ready(Job& job) noexcept {
  const auto found = std::ranges::find(ready_, &job, &Ready::job);
  if (found == ready_.end()) return;
  *found = ready_.back();
  ready_.pop_back();
}

// One job, timer or event; false when there is none up to `limit`.
bool World::step(TimePoint limit) {
  if (!ready_.empty() && random_.below(kLookUpEvery) != 0) {
    run_job();
    return true;
  }
  const Next next = find_next();
  if (!ready_.empty() && next.due > now_) {
    run_job();
    return true;
  }
  if (next.due > limit) return false;
  happen(next);
  return true;
}

void World::run_job() {
  ++steps_;
  const std::size_t index = random_.below(ready_.size());
  const Ready picked = ready_[index];
  ready_[index] = ready_.back();
  ready_.pop_back();
  trace(TraceKind::Job, picked.core->id(), index);
  picked.core->run(*picked.job);
  if (options_.job_cost.count() > 0) {
    now_ += options_.job_cost;
    instant_began_ = steps_;
  }
}

// The soonest timer or event; equal times are a draw.
World::Next World::find_next() noexcept {
  Next next;
  std::uint64_t tied = 0;
  if (!events_.empty()) {
    next.due = events_.front().due;
    tied = 1;
  }
  for (const auto& core : cores_) {
    const TimePoint due = core->next_timer();
    if (due > next.due || due == kNever) continue;
    tied = due < next.due ? 1 : tied + 1;
    if (tied == 1 || random_.below(tied) == 0) next = {due, core.get()};
  }
  return next;
}

void World::happen(const Next& next) {
  ++steps_;
  if (next.due > now_) {
    now_ = next.due;
    instant_began_ = steps_;
  }
  if (next.core != nullptr) {
    trace(TraceKind::Timer, next.core->id());
    next.core->fire_one(now_);
    return;
  }
  std::ranges::pop_heap(events_, later);
  Event event = std::move(events_.back());
  events_.pop_back();
  trace(TraceKind::Event, event.number);
  event.run();
}

void World::start_fault_schedule() {
  stop_fault_schedule();
  schedule_partition(++fault_schedule_);
}

void World::stop_fault_schedule() { fault_schedule_ += fault_schedule_ % 2; }

void World::schedule_partition(std::uint64_t schedule) {
  const FaultPlan& plan = options_.faults;
  if (plan.partition_every.count() <= 0 || nodes_.size() < 2) return;
  after(up_to(2 * plan.partition_every), [this, schedule] {
    if (schedule != fault_schedule_) return;
    const auto a = static_cast<NodeId>(random_.below(nodes_.size()));
    const auto other = static_cast<NodeId>(random_.below(nodes_.size() - 1));
    const NodeId b = other < a ? other : other + 1;
    network_.partition(a, b);
    after(up_to(2 * options_.faults.partition_lasts), [this, a, b] { network_.heal(a, b); });
    schedule_partition(schedule);
  });
}

}  // namespace ron::platform::sim
