// Watch under every schedule: a snapshot is never torn and the latest one is never missed.
#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "expect.h"
#include "explorer.h"
#include "runtime/watch_state.h"
#include "seeded.h"
#include "waiting.h"

namespace ron::models {
namespace {

// Two words that belong together. Copying and assigning can be interrupted between them, inside the
// critical section too, so only the lock keeps them together.
struct Settings {
  int limit = 0;
  int burst = 0;

  Settings() = default;
  Settings(int first, int second) : limit(first), burst(second) {}
  Settings(Settings&&) = default;
  Settings(const Settings& other) : limit(other.limit) {
    point();
    burst = other.burst;
  }
  Settings& operator=(Settings&& other) noexcept {
    limit = other.limit;
    point();
    burst = other.burst;
    return *this;
  }
  ~Settings() = default;
};

template <class Sync>
struct Config {
  using State = runtime::WatchState<Settings, Sync>;

  // Looks at the value; versions and values only ever go forward.
  int look(std::uint64_t& seen) {
    const auto snapshot = state.get();
    check(snapshot.value.limit == snapshot.value.burst, "a snapshot is old or new, never torn");
    check(snapshot.version >= seen, "versions go forward");
    seen = snapshot.version;
    return snapshot.value.limit;
  }
  // Follows until `last` is seen, the watch is closed or the patience is gone.
  int follow(int last, Patience patience = Patience::Forever) {
    std::uint64_t seen = 0;
    int value = look(seen);
    while (value != last) {
      const std::uint64_t before = seen;
      const Waited waited = wait_for(ChangedOp<State>{state, seen}, patience);
      if (waited != Waited::Ready) break;
      value = look(seen);
      check(seen != before, "a change means a new version");
    }
    return value;
  }

  State state{Settings(0, 0)};
};

template <class Sync = ModelSync>
Scenario swaps(int count, int readers) {
  return [=](Model& model) {
    auto config = std::make_shared<Config<Sync>>();
    for (int i = 0; i < readers; ++i) {
      model.thread("reader " + std::to_string(i), [=] { config->follow(count); });
    }
    model.thread("writer", [=] {
      for (int value = 1; value <= count; ++value) config->state.set(Settings(value, value));
    });
  };
}

TEST(WatchModel, ReadersSeeWholeSnapshotsAndTheLatest) {
  expect_holds("watch/1 reader, 2 swaps", swaps(2, 1));
  expect_holds("watch/1 reader, 3 swaps", swaps(3, 1));
  expect_holds("watch/2 readers, 1 swap", swaps(1, 2));
  expect_holds("watch/2 readers, 2 swaps", swaps(2, 2));
}

template <class Sync = ModelSync>
Scenario glances() {
  return [](Model& model) {
    auto config = std::make_shared<Config<Sync>>();
    model.thread("writer", [=] { config->state.set(Settings(1, 1)); });
    for (const char* name : {"first reader", "second reader"}) {
      model.thread(name, [=] {
        std::uint64_t seen = 0;
        const int first = config->look(seen);
        check(config->look(seen) >= first, "values go forward");
      });
    }
  };
}

TEST(WatchModel, GlancesSeeOldOrNew) {
  expect_holds("watch/2 glancing readers, 1 swap", glances());
}

TEST(WatchModel, TwoWritersLeaveOneOfTheirValues) {
  expect_holds("watch/2 writers, 1 reader", [](Model& model) {
    auto config = std::make_shared<Config<ModelSync>>();
    for (const int value : {1, 2}) {
      model.thread("writer " + std::to_string(value),
                   [=] { config->state.set(Settings(value, value)); });
    }
    model.thread("reader", [=] {
      std::uint64_t seen = 1;
      while (seen < 3) {
        wait_for(ChangedOp<Config<ModelSync>::State>{config->state, seen});
        check(config->look(seen) != 0, "a change shows a written value");
      }
    });
  });
}

TEST(WatchModel, CloseDoesNotHideTheLastValue) {
  expect_holds("watch/swap, close", [](Model& model) {
    auto config = std::make_shared<Config<ModelSync>>();
    model.thread("writer", [=] {
      config->state.set(Settings(1, 1));
      config->state.set(Settings(2, 2));
      config->state.close();
    });
    model.thread("reader", [=] {
      constexpr int kNeverWritten = -1;
      check(config->follow(kNeverWritten) == 2, "the last value is seen before the end");
    });
  });
}

TEST(WatchModel, GivingUpDisturbsNobody) {
  expect_holds("watch/2 readers, one aborted", [](Model& model) {
    auto config = std::make_shared<Config<ModelSync>>();
    model.thread("impatient", [=] { config->follow(1, Patience::MayGiveUp); });
    model.thread("patient", [=] { config->follow(1); });
    model.thread("writer", [=] { config->state.set(Settings(1, 1)); });
  });
}

TEST(WatchModel, SeededBugsAreCaught) {
  expect_caught("watch/no lock, glancing", glances<OpenSync>());
  expect_caught("watch/no lock, waiting", swaps<OpenSync>(1, 1));
  expect_caught("watch/lost wake-up", [](Model& model) {
    LostWakeSync::lost = false;
    swaps<LostWakeSync>(1, 1)(model);
  });
  expect_caught("watch/swapped word by word", [](Model& model) {
    auto config = std::make_shared<Config<ModelSync>>();
    model.thread("writer", [=] {
      config->state.set(Settings(1, 0));
      config->state.set(Settings(1, 1));
    });
    model.thread("reader", [=] { config->follow(1); });
  });
}

}  // namespace
}  // namespace ron::models
