#include "runtime/child.h"

#include <optional>
#include <utility>

namespace ron::runtime {
namespace {

std::string describe(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

}  // namespace

// Everything but the constructor runs on the home executor. Each hop there holds a reference, and
// the task holds one while it runs.
class ChildRun::State : public std::enable_shared_from_this<State> {
 public:
  State(platform::Executor& home, TaskMeters& meters, ChildBody body, Shutdown shutdown,
        OneshotSender<Outcome> done)
      : home_(home),
        meters_(meters),
        body_(std::move(body)),
        shutdown_(std::move(shutdown)),
        done_(std::move(done)) {}

  using Action = void (State::*)();
  void on_home(Action action) { home_.post(*new Hop(shared_from_this(), action)); }

  void start() {
    meters_.spawned.add();
    alive_ = shared_from_this();
    run_.emplace(*this, enter(this));
    if (abort_asked_) abort();
  }
  // Hops may land in any order: an abort that comes first waits for the start, and one that comes
  // after the end changes nothing.
  void abort() {
    abort_asked_ = true;
    if (!run_ || ended_) return;
    meters_.aborted.add();
    outcome_ = {Outcome::Kind::Aborted, {}};
    finish();
  }

 private:
  struct Hop : platform::Job {
    Hop(std::shared_ptr<State> target, Action what) noexcept
        : Job(&Hop::land), state(std::move(target)), action(what) {}
    static void land(Job& job) noexcept {
      const std::unique_ptr<Hop> self(static_cast<Hop*>(&job));
      ((*self->state).*(self->action))();
    }
    std::shared_ptr<State> state;
    Action action;
  };

  struct Run : RootTask {
    Run(State& state, platform::Task<void> task)
        : RootTask(std::move(task), &Run::done), owner(state) {}
    static void done(RootTask& root, std::exception_ptr failure) noexcept {
      State& state = static_cast<Run&>(root).owner;
      state.ended_ = true;
      if (failure) {
        state.meters_.panicked.add();
        state.outcome_ = {Outcome::Kind::Failed, describe(failure)};
      }
      state.on_home(&State::finish);
    }
    State& owner;
  };

  // Calls the body inside a coroutine, so that one which throws before it first waits has failed
  // like any other.
  static platform::Task<void> enter(State* state) {
    auto task = state->body_(state->shutdown_);
    co_await task;
  }

  void finish() {
    run_.reset();
    std::move(done_).send(std::move(outcome_));
    alive_.reset();
  }

  platform::Executor& home_;
  TaskMeters& meters_;
  ChildBody body_;
  Shutdown shutdown_;
  OneshotSender<Outcome> done_;
  Outcome outcome_;
  bool abort_asked_ = false;
  bool ended_ = false;  // the task is over, its end not reported yet
  std::shared_ptr<State> alive_;
  std::optional<Run> run_;
};

ChildRun::ChildRun(platform::Executor& home, TaskMeters& meters, ChildBody body, Shutdown shutdown)
    : ChildRun(home, meters, std::move(body), std::move(shutdown), oneshot<Outcome>()) {}

ChildRun::ChildRun(platform::Executor& home, TaskMeters& meters, ChildBody body, Shutdown shutdown,
                   Reply reply)
    : state_(std::make_shared<State>(home, meters, std::move(body), std::move(shutdown),
                                     std::move(reply.first))),
      done_(std::move(reply.second)) {
  state_->on_home(&State::start);
}

void ChildRun::abort() { state_->on_home(&State::abort); }

}  // namespace ron::runtime
