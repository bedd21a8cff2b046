// The semaphore under every schedule: permits are conserved and a freed one reaches whoever waits.
#include <cstddef>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "expect.h"
#include "explorer.h"
#include "runtime/semaphore_state.h"
#include "seeded.h"
#include "waiting.h"

namespace ron::models {
namespace {

template <class Sync>
struct Gatekeeper {
  using State = runtime::SemaphoreState<Sync>;
  struct AcquireOp {
    using Waiter = typename State::Waiter;
    Gatekeeper& gate;

    runtime::Poll poll(Waiter& waiter) {
      const runtime::Poll poll = gate.state.poll_acquire(waiter);
      if (poll == runtime::Poll::Ready) gate.count_acquired();
      return poll;
    }
    void forget(Waiter& waiter) { gate.state.forget(waiter); }
  };

  explicit Gatekeeper(std::size_t count) : state(count), permits(count) {}

  bool acquire(Patience patience = Patience::Forever) {
    return wait_for(AcquireOp{*this}, patience) == Waited::Ready;
  }
  bool try_acquire() {
    const bool acquired = state.try_acquire();
    if (acquired) count_acquired();
    return acquired;
  }
  void release() {
    state.release();
    --held;
  }
  // In the step of the operation it counts, as every observation here.
  void count_acquired() { check(++held <= permits, "no more permits are out than there are"); }

  State state;
  const std::size_t permits;
  std::size_t held = 0;
};

// Each thread takes a permit and gives it back; some may give up waiting at any moment.
template <class Sync = ModelSync>
Scenario contenders(std::size_t permits, int patient, int impatient, int rounds = 1) {
  return [=](Model& model) {
    auto gate = std::make_shared<Gatekeeper<Sync>>(permits);
    for (int i = 0; i < patient + impatient; ++i) {
      const auto patience = i < patient ? Patience::Forever : Patience::MayGiveUp;
      model.thread((i < patient ? "patient " : "impatient ") + std::to_string(i), [=] {
        for (int round = 0; round < rounds; ++round) {
          if (gate->acquire(patience)) gate->release();
        }
      });
    }
    model.finally([=] { check(gate->state.free() == permits, "permits are conserved"); });
  };
}

TEST(SemaphoreModel, EveryWaiterIsServed) {
  expect_holds("semaphore/1 permit, 2 threads, 2 rounds", contenders(1, 2, 0, 2));
  expect_holds("semaphore/1 permit, 3 threads", contenders(1, 3, 0));
  expect_holds("semaphore/1 permit, 3 threads, 2 rounds", contenders(1, 3, 0, 2));
  expect_holds("semaphore/1 permit, 4 threads", contenders(1, 4, 0));
  expect_holds("semaphore/2 permits, 3 threads", contenders(2, 3, 0));
}

TEST(SemaphoreModel, ReleaseAgainstCancelConservesPermits) {
  expect_holds("semaphore/1 permit, 2 threads, 1 may give up", contenders(1, 1, 1));
  expect_holds("semaphore/1 permit, 3 threads, 1 may give up", contenders(1, 2, 1));
  expect_holds("semaphore/1 permit, 3 threads, 2 may give up", contenders(1, 1, 2));
  expect_holds("semaphore/1 permit, 4 threads, 2 may give up", contenders(1, 2, 2));
}

// Permits are not given back, so each release must wake somebody.
TEST(SemaphoreModel, EachReleaseWakesAWaiter) {
  expect_holds("semaphore/2 releases, 2 waiters", [](Model& model) {
    auto gate = std::make_shared<Gatekeeper<ModelSync>>(2);
    while (gate->try_acquire()) continue;
    for (const char* name : {"first", "second"}) {
      model.thread(std::string(name) + " holder", [=] { gate->release(); });
      model.thread(std::string(name) + " waiter", [=] { gate->acquire(); });
    }
    model.finally([=] { check(gate->state.free() == 0, "permits are conserved"); });
  });
}

TEST(SemaphoreModel, TryingDoesNotDisturbTheWaiting) {
  expect_holds("semaphore/1 permit, 2 waiting, 1 trying", [](Model& model) {
    auto gate = std::make_shared<Gatekeeper<ModelSync>>(1);
    model.thread("trying", [=] {
      if (gate->try_acquire()) gate->release();
    });
    for (const auto patience : {Patience::Forever, Patience::MayGiveUp}) {
      model.thread(patience == Patience::Forever ? "patient" : "impatient", [=] {
        if (gate->acquire(patience)) gate->release();
      });
    }
    model.finally([=] { check(gate->state.free() == 1, "permits are conserved"); });
  });
}

TEST(SemaphoreModel, SeededBugsAreCaught) {
  expect_caught("semaphore/no lock", contenders<OpenSync>(1, 2, 0));
  expect_caught("semaphore/lost wake-up", [](Model& model) {
    LostWakeSync::lost = false;
    contenders<LostWakeSync>(1, 2, 0)(model);
  });
  expect_caught("semaphore/aborted waiter keeps its wake-up", contenders<KeptWakeSync>(1, 2, 1));
}

}  // namespace
}  // namespace ron::models
