// World: a seeded, single-threaded simulation in which whole services run on virtual time.
//
//   sim::World world(seed);
//   sim::Node& server = world.add_node();
//   ... build services on server.host(), start them ...
//   EXPECT_EQ(world.run_until([&] { return done; }, 10s), sim::Outcome::Done);
//
// The ready jobs of all cores wait in one pool and the seed picks the next; when none is ready,
// time jumps to the next timer or event. Same seed, same program: same trace_hash().
//
// Thread: everything happens on the thread that calls run_*. Lifetime: the world outlives every
// task, stream and file made in it. Bounds: Options::steps and steps_per_instant end a run that
// gets nowhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "platform/random.h"
#include "platform/sim/executor.h"
#include "platform/sim/faults.h"
#include "platform/sim/network.h"
#include "platform/sim/node.h"
#include "platform/sim/trace.h"

namespace ron::platform::sim {

enum class Outcome : std::uint8_t {
  Done,       // the predicate holds
  TimeLimit,  // virtual time ran out first
  Stuck,      // nothing is ready and nothing will ever happen: a deadlock
  StepLimit,  // too many steps in all, or in one instant: a livelock
};

struct WorldOptions {
  std::uint64_t steps = 200'000'000;
  std::uint64_t steps_per_instant = 5'000'000;
  std::int64_t start_unix_ms = 1'750'000'000'000;
  Duration job_cost{};  // virtual time one job takes
  FaultPlan faults = {};
  NetworkOptions network = {};
};

class World {
 public:
  using Options = WorldOptions;

  explicit World(std::uint64_t seed, Options options = {});
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  Node& add_node(NodeOptions options = {});
  [[nodiscard]] std::size_t nodes() const noexcept { return nodes_.size(); }
  [[nodiscard]] Node& node(std::size_t index) noexcept { return *nodes_[index]; }
  [[nodiscard]] Network& network() noexcept { return network_; }
  // May be changed between runs; partitions on a schedule begin with the next start_fault_schedule.
  [[nodiscard]] FaultPlan& faults() noexcept { return options_.faults; }

  // Runs until the predicate holds, at most `limit` of virtual time from now.
  [[nodiscard]] Outcome run_until(const std::function<bool()>& predicate, Duration limit);
  // Lets virtual time pass. TimeLimit when all of it has passed.
  Outcome run_for(Duration duration);

  // Cuts and heals links at random, as the fault plan says, from now until stopped.
  void start_fault_schedule();
  void stop_fault_schedule();

  [[nodiscard]] TimePoint now() const noexcept { return now_; }
  [[nodiscard]] std::int64_t unix_ms() const noexcept;
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  [[nodiscard]] std::uint64_t trace_hash() const noexcept { return trace_.hash(); }
  [[nodiscard]] std::uint64_t trace_count(TraceKind kind) const noexcept {
    return trace_.count(kind);
  }
  void set_trace_sink(Trace::Sink sink) { trace_.set_sink(std::move(sink)); }

  // For the simulated devices, and for tests that inject events of their own.
  void at(TimePoint due, std::move_only_function<void()> event);
  void after(Duration delay, std::move_only_function<void()> event) {
    at(now_ + delay, std::move(event));
  }
  void trace(TraceKind kind, std::uint64_t a = 0, std::uint64_t b = 0) {
    trace_.add(now_, kind, a, b);
  }
  [[nodiscard]] FastRandom& random() noexcept { return random_; }
  // Draws nothing when the rate is zero, so that unused faults do not change a run.
  [[nodiscard]] bool chance(PerMillion rate) noexcept {
    return rate != 0 && random_.below(kAlways) < rate;
  }
  // Uniform in [0, bound]; zero when the bound is.
  [[nodiscard]] Duration up_to(Duration bound) noexcept;

 private:
  friend class CoreExecutor;
  friend class Node;
  struct Ready {
    Job* job;
    CoreExecutor* core;
  };
  struct Event {
    TimePoint due;
    std::uint64_t number;
    std::move_only_function<void()> run;
  };
  // What happens next when no job does: a timer of a core, or an event.
  struct Next {
    TimePoint due = kNever;
    CoreExecutor* core = nullptr;  // null: the first event
  };

  static bool later(const Event& a, const Event& b) noexcept {
    return a.due != b.due ? a.due > b.due : a.number > b.number;
  }
  void add_ready(Job& job, CoreExecutor& core) { ready_.push_back({&job, &core}); }
  void remove_ready(Job& job) noexcept;
  CoreExecutor& add_core();
  bool step(TimePoint limit);
  void run_job();
  Next find_next() noexcept;
  void happen(const Next& next);
  [[nodiscard]] bool exhausted() const noexcept;
  void schedule_partition(std::uint64_t schedule);

  const std::uint64_t seed_;
  Options options_;
  FastRandom random_;
  Trace trace_;
  TimePoint now_{};
  std::uint64_t steps_ = 0;
  std::uint64_t instant_began_ = 0;  // steps_ when now_ last moved
  std::uint64_t event_number_ = 0;
  std::uint64_t fault_schedule_ = 0;  // which schedule is running; odd: one is
  std::vector<Ready> ready_;
  std::vector<Event> events_;  // a heap, soonest first
  std::vector<std::unique_ptr<CoreExecutor>> cores_;
  Network network_;
  std::vector<std::unique_ptr<Node>> nodes_;  // last: the devices go before what they stand on
};

}  // namespace ron::platform::sim
