// Supervisor: starts a service's long-lived tasks in order, restarts the ones that fail, and stops
// them in reverse.
//
//   Running -> Draining -> (Aborting) -> Stopped
//
// A child that lets an exception escape has failed: it is started again after a backoff with
// jitter. A child that keeps failing beyond its budget is given up loudly: `on_give_up` tells the
// owner, who normally stops the process. Stopping goes kind by kind, last started first: its
// children are told through their shutdown tokens and given until the drain deadline; what still
// runs then is aborted and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "platform/random.h"
#include "runtime/backoff.h"
#include "runtime/child.h"
#include "runtime/child_gate.h"
#include "runtime/topology.h"

namespace ron::runtime {

struct RestartPolicy {
  Backoff backoff{};
  std::uint32_t budget = 5;  // failures tolerated within any span of `window`
  base::Duration window = std::chrono::minutes(1);
};

enum class Phase : std::uint8_t { Running, Draining, Aborting, Stopped };
std::string_view name(Phase phase) noexcept;

// What the supervisor has to say. Called on its executor; must not wait.
struct SupervisorEvents {
  std::function<void(const TaskDecl&, const std::string& what, base::Duration retry_in)> on_failure;
  std::function<void(const TaskDecl&, const std::string& what)> on_give_up;
  std::function<void(Phase)> on_phase;
};

// Lives on one executor; every method is called there.
class Supervisor {
 public:
  Supervisor(Topology& topology, platform::Random& random, SupervisorEvents events);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();

  // Starts the child on `home` after those added before it: its body is called only when theirs
  // have been. A child whose stop comes before its turn never starts. The kind must be declared in
  // the wires.
  void start(const TaskDecl& decl, platform::Executor& home, ChildBody body,
             RestartPolicy policy = {});

  // Stops every child, last started first and all of one kind together, within `drain` in all.
  // Returns how many were aborted. Not cancel-safe: call it once and let it finish.
  platform::Task<std::size_t> stop(StopReason reason, base::Duration drain);
  // Cuts the draining short: what still runs is aborted now.
  void abort_now() noexcept;

  [[nodiscard]] Phase phase() const noexcept { return phase_; }

 private:
  class Child;
  platform::Task<void> supervise(Child* child, Child* previous);
  platform::Task<bool> await_turn(Child* child, Child* previous);
  platform::Task<bool> back_off(Child* child, std::string what);
  void tell_kind(const TaskDecl& kind, StopReason reason);
  void set_phase(Phase phase);

  Topology& topology_;
  SupervisorEvents events_;
  Phase phase_ = Phase::Running;
  std::size_t aborted_ = 0;
  TaskMeters meters_;
  platform::FastRandom jitter_;
  Shutdown hurry_;  // triggered by abort_now
  std::vector<std::unique_ptr<Child>> children_;
  TaskGroup keepers_;  // one keeper per child; last member
};

}  // namespace ron::runtime
