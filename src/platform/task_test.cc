#include "platform/task.h"

#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "platform/sim/world.h"
#include "platform/test_support.h"

namespace ron::platform {
namespace {

using namespace std::chrono_literals;
using sim::Outcome;
using test::Root;

class TaskTest : public testing::Test {
 protected:
  void run(Task<void> task) {
    const Root root(node_.core(), std::move(task));
    EXPECT_EQ(world_.run_until([&] { return root.done(); }, 1h), Outcome::Done);
  }
  sim::World world_{1};
  sim::Node& node_ = world_.add_node();
};

Task<int> five() { co_return 5; }
Task<int> failing() {
  throw std::runtime_error("no");
  co_return 0;
}
Task<std::unique_ptr<int>> owned() { co_return std::make_unique<int>(7); }
Task<void> failing_void() {
  throw std::runtime_error("void");
  co_return;
}

TEST_F(TaskTest, YieldsItsValue) {
  int seen = 0;
  auto body = [](int* out) -> Task<void> {
    const int a = co_await five();
    std::unique_ptr<int> b = co_await owned();
    *out = a + *b;
  };
  run(body(&seen));
  EXPECT_EQ(seen, 12);
}

TEST_F(TaskTest, PassesExceptionsToTheAwaiter) {
  std::string seen;
  auto body = [](std::string* out) -> Task<void> {
    try {
      co_await failing();
    } catch (const std::runtime_error& error) {
      *out += error.what();
    }
    try {
      co_await failing_void();
    } catch (const std::runtime_error& error) {
      *out += error.what();
    }
  };
  run(body(&seen));
  EXPECT_EQ(seen, "novoid");
}

TEST_F(TaskTest, DoesNotStartUntilAwaited) {
  bool started = false;
  auto body = [](bool* out) -> Task<void> {
    *out = true;
    co_return;
  };
  {
    const Task<void> never = body(&started);
  }
  EXPECT_FALSE(started);
}

TEST_F(TaskTest, MoveAssignmentDropsTheOldFrame) {
  auto holder = std::make_shared<int>(1);
  auto body = [](std::shared_ptr<int>) -> Task<void> { co_return; };
  Task<void> task = body(holder);
  EXPECT_EQ(holder.use_count(), 2);
  task = Task<void>();
  EXPECT_EQ(holder.use_count(), 1);
  EXPECT_FALSE(task);
}

struct Note {
  Note(std::string& where, char what) : log(where), name(what) {}
  Note(const Note&) = delete;
  Note& operator=(const Note&) = delete;
  ~Note() { log.push_back(name); }
  std::string& log;
  char name;
};

Task<void> innermost(std::string* log) {
  const Note note(*log, 'c');
  co_await test::pause(1h);
  log->push_back('!');
}
Task<void> inner(std::string* log) {
  const Note note(*log, 'b');
  co_await innermost(log);
  log->push_back('!');
}
Task<void> outer(std::string* log) {
  const Note note(*log, 'a');
  co_await inner(log);
  log->push_back('!');
}

TEST_F(TaskTest, AbortDestroysFramesInnermostFirst) {
  std::string log;
  {
    const Root root(node_.core(), outer(&log));
    world_.run_for(1ms);
    EXPECT_EQ(log, "");
  }
  EXPECT_EQ(log, "cba");
  // The timer went with the frame.
  EXPECT_EQ(world_.run_until([] { return false; }, 2h), Outcome::Stuck);
}

Task<int> chain(int depth) {
  if (depth == 0) co_return 0;
  const int below = co_await chain(depth - 1);
  co_return below + 1;
}

Task<void> go_deep(int depth, int* out) { *out = co_await chain(depth); }

TEST_F(TaskTest, AMillionNestedTasksNeedNoStack) {
  int depth = 0;
  run(go_deep(1'000'000, &depth));
  EXPECT_EQ(depth, 1'000'000);
}

Task<void> go_long(int times, int* out) {
  for (int i = 0; i < times; ++i) *out += co_await five();
}

TEST_F(TaskTest, AMillionTasksInARowNeedNoStack) {
  int sum = 0;
  run(go_long(1'000'000, &sum));
  EXPECT_EQ(sum, 5'000'000);
}

}  // namespace
}  // namespace ron::platform
