#include "runtime/supervisor.h"

#include <cassert>
#include <deque>
#include <utility>

#include "runtime/metric_names.h"

namespace ron::runtime {

std::string_view name(Phase phase) noexcept {
  switch (phase) {
    case Phase::Running:
      return "running";
    case Phase::Draining:
      return "draining";
    case Phase::Aborting:
      return "aborting";
    case Phase::Stopped:
      return "stopped";
  }
  return "";
}

class Supervisor::Child {
 public:
  Child(Topology& topology, const TaskDecl& task, platform::Executor& executor, ChildBody what,
        RestartPolicy how)
      : decl(task),
        home(executor),
        body(std::move(what)),
        policy(how),
        meters(topology.meters(), task.kind),
        canceled(topology.meters().counter(metrics::kTasksCanceledTotal, {task.kind})),
        restarted(topology.meters().counter(metrics::kTasksRestartedTotal, {task.kind})) {}

  // Failures within the policy's window, this one included. At most one more than the budget is
  // kept: then the child is given up.
  std::uint32_t count_failure(platform::TimePoint now) {
    while (!failures.empty() && now - failures.front() > policy.window) failures.pop_front();
    failures.push_back(now);
    return static_cast<std::uint32_t>(failures.size());
  }

  // Waits until the gate says stopped.
  struct StoppedOp {
    ChildGate<>* gate;
    Poll poll(platform::Waiter& waiter) const {
      return gate->poll_stopped(waiter) ? Poll::Ready : Poll::Pending;
    }
    void forget(platform::Waiter& waiter) const noexcept { gate->forget(waiter); }
  };

  // Waits until the child's body has been called for the first time.
  struct EnteredOp {
    WatchState<bool>* entered;
    Poll poll(platform::Waiter& waiter) const {
      return entered->poll_changed(WatchState<bool>::kInitialVersion, waiter);
    }
    void forget(platform::Waiter& waiter) const noexcept { entered->forget(waiter); }
  };

  ChildBody entering() {
    return [this](Shutdown token) {
      entered.set_if(WatchState<bool>::kInitialVersion, true);
      return body(std::move(token));
    };
  }

  const TaskDecl& decl;
  platform::Executor& home;
  ChildBody body;
  RestartPolicy policy;
  TaskMeters meters;
  Counter& canceled;
  Counter& restarted;
  Shutdown shutdown;
  ChildGate<> gate;
  WatchState<bool> entered{false};
  std::shared_ptr<ChildRun> run;  // the run under way
  std::deque<platform::TimePoint> failures;
};

Supervisor::Supervisor(Topology& topology, platform::Random& random, SupervisorEvents events)
    : topology_(topology),
      events_(std::move(events)),
      meters_(topology.meters(), "supervisor"),
      jitter_(random.next()),
      keepers_(meters_) {}

Supervisor::~Supervisor() = default;

void Supervisor::start(const TaskDecl& decl, platform::Executor& home, ChildBody body,
                       RestartPolicy policy) {
  assert(phase_ == Phase::Running);
  auto child = std::make_unique<Child>(topology_, decl, home, std::move(body), policy);
  child->gate.try_start();
  Child* previous = children_.empty() ? nullptr : children_.back().get();
  keepers_.spawn(supervise(child.get(), previous));
  children_.push_back(std::move(child));
}

// Runs the child until it finishes, is stopped, or has failed too often.
platform::Task<void> Supervisor::supervise(Child* child, Child* previous) {
  const bool may_start = co_await await_turn(child, previous);
  if (!may_start) {
    child->gate.finished();
    co_return;
  }
  for (;;) {
    child->run =
        std::make_shared<ChildRun>(child->home, child->meters, child->entering(), child->shutdown);
    const auto outcome = co_await child->run->outcome(Deadline());
    child->run.reset();
    if (outcome && outcome->kind == Outcome::Kind::Aborted) ++aborted_;
    if (outcome && outcome->kind == Outcome::Kind::Finished && child->shutdown.requested()) {
      child->canceled.add();
    }
    child->gate.finished();
    if (!outcome || outcome->kind != Outcome::Kind::Failed) co_return;
    const bool again = co_await back_off(child, outcome->what);
    if (!again || !child->gate.try_start()) co_return;
    child->restarted.add();
  }
}

// False when the stop came first.
platform::Task<bool> Supervisor::await_turn(Child* child, Child* previous) {
  if (previous != nullptr) {
    co_await wait_for(Child::EnteredOp{&previous->entered}, Deadline(), child->shutdown);
  }
  co_return !child->shutdown.requested();
}

// False when the child must not start again.
platform::Task<bool> Supervisor::back_off(Child* child, std::string what) {
  const std::uint32_t failures = child->count_failure(platform::Executor::current()->now());
  if (failures > child->policy.budget) {
    if (events_.on_give_up) events_.on_give_up(child->decl, what);
    co_return false;
  }
  const base::Duration delay = child->policy.backoff.delay(failures - 1, jitter_);
  if (events_.on_failure) events_.on_failure(child->decl, what, delay);
  const Waited waited = co_await wait_stop(child->shutdown, Deadline::in(delay));
  co_return waited == Waited::TimedOut;
}

platform::Task<std::size_t> Supervisor::stop(StopReason reason, base::Duration drain) {
  const Deadline deadline = Deadline::in(drain);
  set_phase(Phase::Draining);
  for (auto child = children_.rbegin(); child != children_.rend(); ++child) {
    ChildGate<>& gate = (*child)->gate;
    tell_kind((*child)->decl, reason);
    const Waited waited = co_await wait_for(Child::StoppedOp{&gate}, deadline, hurry_);
    if (waited == Waited::Ready) continue;
    set_phase(Phase::Aborting);
    if ((*child)->run) (*child)->run->abort();
    co_await wait_for(Child::StoppedOp{&gate}, Deadline());
  }
  co_await keepers_.join(Deadline());
  set_phase(Phase::Stopped);
  co_return aborted_;
}

// Children of one kind share the work of one stage: were they told one by one, those still running
// would take in more while the first drains, and pay for its slowness with their own time.
void Supervisor::tell_kind(const TaskDecl& kind, StopReason reason) {
  for (const auto& child : children_) {
    if (child->decl.kind != kind.kind) continue;
    child->gate.request_stop();
    child->shutdown.trigger(reason);
  }
}

void Supervisor::abort_now() noexcept { hurry_.trigger(StopReason::Signal); }

void Supervisor::set_phase(Phase phase) {
  if (phase_ == phase) return;
  phase_ = phase;
  if (events_.on_phase) events_.on_phase(phase);
}

}  // namespace ron::runtime
