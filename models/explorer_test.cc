// The explorer itself: it runs every schedule, finds what it claims to find, and replays it.
#include "explorer.h"

#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "expect.h"

namespace ron::models {
namespace {

TEST(Explorer, RunsEveryInterleavingOnce) {
  std::multiset<std::string> orders;
  const Report report = explore([&orders](Model& model) {
    auto order = std::make_shared<std::string>();
    for (const char name : {'a', 'b', 'c'}) {
      model.thread(std::string(1, name), [order, name] {
        for (int i = 0; i < 2; ++i) {
          point();
          *order += name;
        }
      });
    }
    model.finally([order, &orders] { orders.insert(*order); });
  });
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.schedules, 90u);  // 6! / (2! 2! 2!)
  EXPECT_EQ(orders.size(), 90u);
  EXPECT_EQ(std::set<std::string>(orders.begin(), orders.end()).size(), 90u);
}

TEST(Explorer, TriesEveryOptionOfAChoice) {
  std::vector<int> seen;
  const Report report = explore([&seen](Model& model) {
    model.thread("chooser", [&seen] { seen.push_back(choose(3) * 10 + choose(2)); });
  });
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 10, 11, 20, 21}));
}

// Two threads increment a number in two steps each, with or without a mutex.
template <class Lock>
void increments(Model& model) {
  struct State {
    Lock mutex;
    int number = 0;
  };
  auto state = std::make_shared<State>();
  for (const char* name : {"a", "b"}) {
    model.thread(name, [state] {
      const std::lock_guard lock(state->mutex);
      const int read = state->number;
      point();
      state->number = read + 1;
    });
  }
  model.finally([state] { check(state->number == 2, "no update is lost"); });
}

struct NoLock {
  void lock() { point(); }
  void unlock() {}
};

TEST(Explorer, MutexKeepsTheOthersOut) {
  expect_holds("explorer/locked increments", increments<Mutex>);
}

TEST(Explorer, FindsALostUpdate) {
  expect_caught("explorer/unlocked increments", increments<NoLock>);
}

TEST(Explorer, FindsADeadlockOfTwoMutexes) {
  const Scenario setup = [](Model& model) {
    auto locks = std::make_shared<std::array<Mutex, 2>>();
    for (const std::size_t first : {0, 1}) {
      model.thread(first == 0 ? "forth" : "back", [locks, first] {
        const std::lock_guard outer((*locks)[first]);
        const std::lock_guard inner((*locks)[1 - first]);
      });
    }
  };
  expect_caught("explorer/two mutexes in opposite order", setup);
  EXPECT_EQ(explore(setup).failure->what,
            "deadlock: forth waits for a lock, back waits for a lock");
}

TEST(Explorer, FindsALivelock) {
  expect_caught("explorer/endless loop",
                [](Model& model) {
                  model.thread("spinner", [] {
                    for (;;) point();
                  });
                },
                {.steps = 50});
}

TEST(Explorer, ReportsAnEscapedException) {
  expect_caught("explorer/exception", [](Model& model) {
    model.thread("thrower", [] {
      point();
      throw std::runtime_error("boom");
    });
  });
}

TEST(Explorer, ReportsANondeterministicModel) {
  int run = 0;
  const Report report = explore([&run](Model& model) {
    const int points = ++run;
    for (const char* name : {"a", "b"}) {
      model.thread(name, [points] {
        for (int i = 0; i < points; ++i) point();
        choose(points + 1);
      });
    }
  });
  ASSERT_TRUE(report.failure.has_value());
  EXPECT_NE(report.failure->what.find("not deterministic"), std::string::npos);
}

TEST(Explorer, StopsAtTheScheduleBound) {
  const Report report = explore(increments<Mutex>, {.schedules = 1});
  EXPECT_EQ(report.schedules, 1u);
  EXPECT_FALSE(report.complete);
  EXPECT_FALSE(report.failure.has_value());
}

// A flag one thread raises and another waits for; the waker must hold the lock.
struct Signal {
  Mutex mutex;
  Waiter* waiting = nullptr;
  bool raised = false;

  bool poll(Waiter& waiter) {
    const std::lock_guard lock(mutex);
    if (!raised) waiting = &waiter;
    return raised;
  }
  void raise() {
    const std::lock_guard lock(mutex);
    raised = true;
    if (waiting != nullptr) waiting->wake();
  }
};

TEST(Parker, KeepsAWakeUpBetweenPollAndPark) {
  expect_holds("explorer/wake between poll and park", [](Model& model) {
    auto signal = std::make_shared<Signal>();
    model.thread("waiter", [signal] {
      Parker parker;
      Waiter waiter(parker);
      while (!signal->poll(waiter)) {
        point();
        parker.park();
      }
    });
    model.thread("raiser", [signal] { signal->raise(); });
  });
}

TEST(Parker, GivesUpBeforeAndAfterAWakeUp) {
  auto outcomes = std::make_shared<std::set<std::pair<bool, bool>>>();
  expect_holds("explorer/give up", [outcomes](Model& model) {
    auto signal = std::make_shared<Signal>();
    model.thread("waiter", [signal, outcomes] {
      Parker parker;
      Waiter waiter(parker);
      if (signal->poll(waiter)) return;
      const bool woken = parker.park(Patience::MayGiveUp);
      const std::lock_guard lock(signal->mutex);
      signal->waiting = nullptr;
      outcomes->insert({woken, waiter.take_back()});
    });
    model.thread("raiser", [signal] { signal->raise(); });
  });
  using Outcomes = std::set<std::pair<bool, bool>>;
  EXPECT_EQ(*outcomes, (Outcomes{{true, false}, {false, false}, {false, true}}));
}

TEST(Waiter, MayNotDieWithAWakeUpQueued) {
  expect_caught("explorer/waiter dies while queued", [](Model& model) {
    auto signal = std::make_shared<Signal>();
    model.thread("waiter", [signal] {
      Parker parker;
      Waiter waiter(parker);
      signal->poll(waiter);
      const std::lock_guard lock(signal->mutex);
      signal->waiting = nullptr;
    });
    model.thread("raiser", [signal] { signal->raise(); });
  });
}

TEST(Waiter, MayNotBeWokenOutsideTheLock) {
  expect_caught("explorer/woken outside the lock", [](Model& model) {
    auto parker = std::make_shared<Parker>();
    auto waiter = std::make_shared<Waiter>(*parker);
    model.thread("raiser", [parker, waiter] { waiter->wake(); });
  });
}

}  // namespace
}  // namespace ron::models
