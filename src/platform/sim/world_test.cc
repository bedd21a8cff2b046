#include "platform/sim/world.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "platform/test_support.h"

namespace ron::platform::sim {
namespace {

using namespace std::chrono_literals;
using test::Root;

Task<void> tick(int* count, Duration every, int times) {
  for (int i = 0; i < times; ++i) {
    co_await test::pause(every);
    ++*count;
  }
}

Task<void> note_order(std::string* order, char name) {
  order->push_back(name);
  co_return;
}

std::string order_of_eight(std::uint64_t seed) {
  World world(seed);
  Node& node = world.add_node();
  std::string order;
  std::vector<std::unique_ptr<Root>> roots;
  for (char name = 'a'; name <= 'h'; ++name) {
    roots.push_back(std::make_unique<Root>(node.core(), note_order(&order, name)));
  }
  EXPECT_EQ(world.run_until([&] { return order.size() == 8; }, 1s), Outcome::Done);
  return order;
}

TEST(World, TimeJumpsToTheNextTimer) {
  World world(1);
  Node& node = world.add_node();
  int count = 0;
  const Root root(node.core(), tick(&count, 1h, 24));
  EXPECT_EQ(world.run_until([&] { return root.done(); }, 48h), Outcome::Done);
  EXPECT_EQ(count, 24);
  EXPECT_EQ(world.now().time_since_epoch(), 24h);
  EXPECT_LT(world.steps(), 100U);
}

TEST(World, RunForStopsExactlyThere) {
  World world(1);
  Node& node = world.add_node();
  int count = 0;
  const Root root(node.core(), tick(&count, 10ms, 100));
  world.run_for(55ms);
  EXPECT_EQ(count, 5);
  EXPECT_EQ(world.now().time_since_epoch(), 55ms);
}

TEST(World, SaysWhenItIsStuck) {
  World world(1);
  world.add_node();
  EXPECT_EQ(world.run_until([] { return false; }, 1s), Outcome::Stuck);
}

TEST(World, SaysWhenTimeIsUp) {
  World world(1);
  Node& node = world.add_node();
  int count = 0;
  const Root root(node.core(), tick(&count, 1s, 100));
  EXPECT_EQ(world.run_until([] { return false; }, 5s), Outcome::TimeLimit);
}

struct Spinner : Job {
  explicit Spinner(Executor& on) : Job(&Spinner::spin), executor(on) { executor.post(*this); }
  ~Spinner() { executor.unpost(*this); }
  static void spin(Job& job) noexcept {
    auto& self = static_cast<Spinner&>(job);
    self.executor.post(self);
  }
  Executor& executor;
};

TEST(World, EndsALivelock) {
  World world(1, {.steps_per_instant = 1000});
  Node& node = world.add_node();
  const Spinner spinner(node.core());
  EXPECT_EQ(world.run_until([] { return false; }, 5s), Outcome::StepLimit);
}

TEST(World, ABusyCoreStillSeesItsTimers) {
  World world(1);
  Node& node = world.add_node();
  const Spinner spinner(node.core());
  int count = 0;
  const Root root(node.core(), tick(&count, 0s, 3));
  EXPECT_EQ(world.run_until([&] { return root.done(); }, 1s), Outcome::Done);
}

TEST(World, JobCostMakesBusyTimePass) {
  World world(1, {.job_cost = 1us});
  Node& node = world.add_node();
  const Spinner spinner(node.core());
  int count = 0;
  const Root root(node.core(), tick(&count, 1ms, 1));
  EXPECT_EQ(world.run_until([&] { return root.done(); }, 1s), Outcome::Done);
  EXPECT_GE(world.now().time_since_epoch(), 1ms);
}

TEST(World, SeedPicksTheOrderOfJobs) {
  std::map<std::string, int> orders;
  for (std::uint64_t seed = 0; seed < 16; ++seed) ++orders[order_of_eight(seed)];
  EXPECT_GT(orders.size(), 8U);
  EXPECT_EQ(order_of_eight(3), order_of_eight(3));
}

TEST(World, ExecutorIsCurrentWhileItsJobRuns) {
  World world(1);
  Node& node = world.add_node({.cores = 2});
  Executor* seen = nullptr;
  auto look = [](Executor** out) -> Task<void> {
    *out = Executor::current();
    co_return;
  };
  const Root root(node.core(1), look(&seen));
  world.run_for(1ms);
  EXPECT_EQ(seen, &node.core(1));
  EXPECT_EQ(Executor::current(), nullptr);
}

TEST(World, UnpostedJobsDoNotRun) {
  World world(1);
  Node& node = world.add_node();
  std::string order;
  auto dropped = std::make_unique<Root>(node.core(), note_order(&order, 'x'));
  const Root kept(node.core(), note_order(&order, 'k'));
  dropped.reset();
  world.run_for(1ms);
  EXPECT_EQ(order, "k");
}

TEST(World, WallClockFollowsVirtualTimeWithSkew) {
  World world(1, {.start_unix_ms = 1'000'000});
  Node& right = world.add_node();
  Node& wrong = world.add_node({.wall_skew = -3s});
  world.run_for(10s);
  EXPECT_EQ(right.clock().unix_ms(), 1'010'000);
  EXPECT_EQ(wrong.clock().unix_ms(), 1'007'000);
}

TEST(World, RandomDiffersByNodeAndRepeatsBySeed) {
  World a(7);
  World b(7);
  Random& first = a.add_node().host().random;
  Random& second = a.add_node().host().random;
  Random& again = b.add_node().host().random;
  const std::uint64_t value = first.next();
  EXPECT_NE(value, second.next());
  EXPECT_EQ(value, again.next());
}

TEST(World, SignalsAreInjected) {
  World world(1);
  Node& node = world.add_node();
  node.signals().raise(Signal::Reload);
  node.signals().raise(Signal::Terminate);
  EXPECT_TRUE(node.signals().arrived().is_set());
  EXPECT_EQ(node.signals().take(), Signal::Reload);
  EXPECT_EQ(node.signals().take(), Signal::Terminate);
  EXPECT_EQ(node.signals().take(), Signal::None);
  EXPECT_FALSE(node.signals().arrived().is_set());
}

Task<void> chatter(Host host, Endpoint to) {
  auto stream = host.net.connect(to);
  if (co_await test::established(stream->get()) != 0) co_return;
  for (int i = 0; i < 20; ++i) {
    if (co_await test::write_all(stream->get(), std::string(1000, 'x')) != 0) co_return;
    co_await test::read_up_to(stream->get(), 500);
    co_await test::pause(1ms);
  }
}

Task<void> echo_all(Host host, Endpoint at) {
  auto listener = host.net.listen(at);
  std::unique_ptr<Stream> stream = co_await test::accept(listener->get());
  for (;;) {
    const test::ReadText read = co_await test::read_up_to(stream.get(), 300);
    if (read.end != IoResult::Kind::Bytes) co_return;
    if (co_await test::write_all(stream.get(), read.text) != 0) co_return;
  }
}

struct Ran {
  std::uint64_t hash;
  std::vector<std::string> lines;
};

Ran run_chatter(std::uint64_t seed) {
  Ran ran;
  World world(seed, {.faults = FaultPlan::rough()});
  world.set_trace_sink([&](std::string_view line) { ran.lines.emplace_back(line); });
  Node& server = world.add_node({.cores = 2});
  Node& client = world.add_node();
  const Root serving(server.core(1), echo_all(server.host(), server.endpoint(80)));
  world.run_for(1ms);
  const Root calling(client.core(), chatter(client.host(), server.endpoint(80)));
  world.run_for(10s);
  ran.hash = world.trace_hash();
  return ran;
}

TEST(World, SameSeedSameTrace) {
  const Ran first = run_chatter(42);
  const Ran second = run_chatter(42);
  EXPECT_EQ(first.hash, second.hash);
  EXPECT_EQ(first.lines, second.lines);
  EXPECT_GT(first.lines.size(), 100U);
}

TEST(World, AnotherSeedAnotherTrace) {
  std::map<std::uint64_t, int> hashes;
  for (std::uint64_t seed = 0; seed < 32; ++seed) ++hashes[run_chatter(seed).hash];
  EXPECT_EQ(hashes.size(), 32U);
}

}  // namespace
}  // namespace ron::platform::sim
