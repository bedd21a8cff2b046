#include "runtime/supervisor.h"

#include <cassert>
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
        restarted(topology.meters().counter(metrics::kTasksRestartedTotal, {task.kind})) {}

  // Failures within the policy's window, this one included.
  std::uint32_t count_failure(platform::TimePoint now) {
    if (now - window_start > policy.window) {
      window_start = now;
      failures = 0;
    }
    return ++failures;
  }

  // Waits until the gate says stopped.
  struct StoppedOp {
    ChildGate<>* gate;
    Poll poll(platform::Waiter& waiter) const {
      return gate->poll_stopped(waiter) ? Poll::Ready : Poll::Pending;
    }
    void forget(platform::Waiter& waiter) const noexcept { gate->forget(waiter); }
  };

  const TaskDecl& decl;
  platform::Executor& home;
  ChildBody body;
  RestartPolicy policy;
  TaskMeters meters;
  Counter& restarted;
  Shutdown shutdown;
  ChildGate<> gate;
  std::shared_ptr<ChildRun> run;  // the run under way
  platform::TimePoint window_start{};
  std::uint32_t failures = 0;
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
  keepers_.spawn(supervise(child.get()));
  children_.push_back(std::move(child));
}

// Runs the child until it finishes, is stopped, or has failed too often.
platform::Task<void> Supervisor::supervise(Child* child) {
  for (;;) {
    child->run =
        std::make_shared<ChildRun>(child->home, child->meters, child->body, child->shutdown);
    const auto outcome = co_await child->run->outcome(Deadline());
    child->run.reset();
    child->gate.finished();
    if (!outcome || outcome->kind != Outcome::Kind::Failed) co_return;
    const bool again = co_await back_off(child, outcome->what);
    if (!again || !child->gate.try_start()) co_return;
    child->restarted.add();
  }
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
  std::size_t aborted = 0;
  for (auto child = children_.rbegin(); child != children_.rend(); ++child) {
    ChildGate<>& gate = (*child)->gate;
    gate.request_stop();
    (*child)->shutdown.trigger(reason);
    const Waited waited = co_await wait_for(Child::StoppedOp{&gate}, deadline, hurry_);
    if (waited == Waited::Ready) continue;
    set_phase(Phase::Aborting);
    ++aborted;
    if ((*child)->run) (*child)->run->abort();
    co_await wait_for(Child::StoppedOp{&gate}, Deadline());
  }
  co_await keepers_.join(Deadline());
  set_phase(Phase::Stopped);
  co_return aborted;
}

void Supervisor::abort_now() noexcept { hurry_.trigger(StopReason::Signal); }

void Supervisor::set_phase(Phase phase) {
  if (phase_ == phase) return;
  phase_ = phase;
  if (events_.on_phase) events_.on_phase(phase);
}

}  // namespace ron::runtime
