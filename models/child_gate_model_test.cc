// Restart against shutdown under every schedule: no start after the stop, no stop that is not seen,
// and whoever waits for the end is told.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "expect.h"
#include "explorer.h"
#include "runtime/child_gate.h"
#include "runtime/watch_state.h"
#include "seeded.h"
#include "waiting.h"

namespace ron::models {
namespace {

template <class Sync>
struct Supervised {
  using Token = runtime::WatchState<bool, ModelSync>;
  struct StoppedOp {
    using Waiter = typename Sync::Waiter;
    runtime::ChildGate<Sync>& gate;

    runtime::Poll poll(Waiter& waiter) {
      return gate.poll_stopped(waiter) ? runtime::Poll::Ready : runtime::Poll::Pending;
    }
    void forget(Waiter& waiter) { gate.forget(waiter); }
  };

  // Starts the child, which fails at once `failures` times and is started again; the last run
  // goes on until it is told to stop. A start that is refused ends it.
  void supervise(int failures) {
    for (int run = 0; run <= failures; ++run) {
      if (!gate.try_start()) return;
      check(!stop_returned, "no start is admitted after the stop");
      running = true;
      if (run == failures) wait_for(ChangedOp<Token>{token});
      gate.finished();
      running = false;
    }
  }
  void stop() {
    const bool must_tell = gate.request_stop();
    stop_returned = true;
    if (must_tell) token.set(true);
  }
  Waited wait_stopped(Patience patience = Patience::Forever) {
    const Waited waited = wait_for(StoppedOp{gate}, patience);
    if (waited == Waited::Ready) check(stop_returned && !running, "stopped means stopped");
    return waited;
  }

  runtime::ChildGate<Sync> gate;
  Token token{false};
  bool stop_returned = false;
  bool running = false;
};

template <class Sync = ModelSync>
Scenario restart_against_stop(int failures) {
  return [=](Model& model) {
    auto child = std::make_shared<Supervised<Sync>>();
    model.thread("supervisor", [=] { child->supervise(failures); });
    model.thread("stopper", [=] {
      child->stop();
      child->wait_stopped();
    });
    model.finally([=] {
      check(!child->running && child->gate.stopping(), "the child is down and stays down");
      check(!child->gate.try_start(), "no start is admitted after the stop");
    });
  };
}

TEST(ChildGateModel, RestartNeverOutlivesTheStop) {
  expect_holds("child gate/stop", restart_against_stop(0));
  expect_holds("child gate/1 restart, stop", restart_against_stop(1));
  expect_holds("child gate/3 restarts, stop", restart_against_stop(3));
}

// The observer may begin to wait before the stop is requested, and while nothing runs.
template <class Sync = ModelSync>
Scenario early_observer(int failures, bool impatient) {
  return [=](Model& model) {
    auto child = std::make_shared<Supervised<Sync>>();
    model.thread("supervisor", [=] { child->supervise(failures); });
    model.thread("stopper", [=] { child->stop(); });
    model.thread("observer", [=] { child->wait_stopped(); });
    if (impatient) {
      model.thread("impatient", [=] { child->wait_stopped(Patience::MayGiveUp); });
    }
  };
}

TEST(ChildGateModel, WhoeverWaitsForTheEndIsTold) {
  expect_holds("child gate/early observer", early_observer(0, false));
  expect_holds("child gate/1 restart, early observer", early_observer(1, false));
  expect_holds("child gate/early observer, one aborted", early_observer(0, true));
}

TEST(ChildGateModel, StoppingTwiceIsStoppingOnce) {
  expect_holds("child gate/1 restart, 2 stops", [](Model& model) {
    auto child = std::make_shared<Supervised<ModelSync>>();
    model.thread("supervisor", [=] { child->supervise(1); });
    for (const char* name : {"first stopper", "second stopper"}) {
      model.thread(name, [=] {
        child->stop();
        child->wait_stopped();
      });
    }
  });
}

// A supervisor that looks at the gate and then starts, instead of asking it.
Scenario look_then_start() {
  return [](Model& model) {
    auto child = std::make_shared<Supervised<ModelSync>>();
    model.thread("supervisor", [=] {
      if (child->gate.stopping()) return;
      point();
      child->running = true;
      check(!child->stop_returned, "no start is admitted after the stop");
    });
    model.thread("stopper", [=] { child->stop(); });
  };
}

TEST(ChildGateModel, SeededBugsAreCaught) {
  expect_caught("child gate/no lock", restart_against_stop<OpenSync>(0));
  expect_caught("child gate/lost wake-up", [](Model& model) {
    LostWakeSync::lost = false;
    restart_against_stop<LostWakeSync>(0)(model);
  });
  expect_caught("child gate/look, then start", look_then_start());
}

}  // namespace
}  // namespace ron::models
