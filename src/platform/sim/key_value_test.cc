#include "platform/sim/key_value.h"

#include <functional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "platform/sim/world.h"
#include "platform/test_support.h"

namespace ron::platform::sim {
namespace {

using namespace std::chrono_literals;
using base::Code;
using test::Root;

constexpr std::size_t kFlushed = 5;
constexpr std::size_t kWritten = 12;

// A world with one machine that keeps one map open until told otherwise.
struct Machine {
  explicit Machine(std::uint64_t seed, FaultPlan plan = {}) : world(seed, {.faults = plan}) {}

  void run(Task<void> task) {
    const Root root(node.core(), std::move(task));
    EXPECT_EQ(world.run_until([&] { return root.done(); }, 1h), Outcome::Done);
  }
  Code open() {
    map.reset();
    Code code{};
    run(open_into(&node.key_values(), &map, &code));
    return code;
  }
  static Task<void> open_into(KeyValues* maps, std::unique_ptr<KeyValue>* out, Code* code) {
    base::Result<std::unique_ptr<KeyValue>> opened = co_await maps->open("/map", {});
    if (opened) *out = std::move(*opened);
    if (!opened) *code = opened.error().code;
  }

  World world;
  Node& node = world.add_node();
  std::unique_ptr<KeyValue> map;
};

template <class T>
Code code_of(const base::Result<T>& result) {
  return result ? Code{} : result.error().code;
}

Task<void> put(KeyValue* map, std::string key, std::string value, Code* code) {
  KeyValueBatch batch;
  batch.put(std::move(key), std::move(value));
  const base::Result<void> written = co_await map->write(std::move(batch));
  *code = code_of(written);
}

// Batch number i puts the key made of i letters.
Task<void> write_some(KeyValue* map) {
  for (std::size_t i = 1; i <= kWritten; ++i) {
    Code code{};
    co_await put(map, std::string(i, 'k'), "v", &code);
    EXPECT_EQ(code, Code{});
    if (i == kFlushed) EXPECT_TRUE((co_await map->flush()).has_value());
  }
}

// How many keys there are; they must be the first ones.
Task<void> count_keys(KeyValue* map, std::size_t* count) {
  const auto pairs = co_await map->scan("", "", 1000);
  EXPECT_TRUE(pairs.has_value());
  if (!pairs) co_return;
  *count = pairs->size();
  for (std::size_t i = 0; i < *count; ++i) EXPECT_EQ((*pairs)[i].first, std::string(i + 1, 'k'));
}

// Writes some, lets `end` happen, opens the map again and counts.
std::size_t kept_after(std::uint64_t seed, const std::function<void(Machine&)>& end) {
  Machine machine(seed);
  machine.open();
  machine.run(write_some(machine.map.get()));
  end(machine);
  EXPECT_EQ(machine.open(), Code{});
  std::size_t count = 0;
  machine.run(count_keys(machine.map.get(), &count));
  return count;
}

void expect_every_prefix(const std::function<void(Machine&)>& end) {
  std::set<std::size_t> kept;
  for (std::uint64_t seed = 0; seed < 200; ++seed) kept.insert(kept_after(seed, end));
  EXPECT_EQ(*kept.begin(), kFlushed);
  EXPECT_EQ(*kept.rbegin(), kWritten);
  EXPECT_EQ(kept.size(), kWritten - kFlushed + 1);
}

TEST(SimKeyValues, APowerCutKeepsAPrefixOfWhatIsNotFlushed) {
  expect_every_prefix([](Machine& machine) {
    machine.node.power_cut();
    machine.node.restart();
  });
}

TEST(SimKeyValues, TheEndOfAProcessKeepsAPrefixOfWhatIsNotFlushed) {
  expect_every_prefix([](Machine& machine) { machine.node.key_values().end_process(); });
}

TEST(SimKeyValues, ClosingWithoutFlushKeepsAPrefix) {
  expect_every_prefix([](Machine& machine) { machine.map.reset(); });
}

TEST(SimKeyValues, MapsFromBeforeAPowerCutFail) {
  Machine machine(1);
  machine.open();
  machine.node.power_cut();
  Code code{};
  machine.run(put(machine.map.get(), "a", "b", &code));
  EXPECT_EQ(code, Code::StorageBusy);
  machine.node.restart();
  machine.run(put(machine.map.get(), "a", "b", &code));
  EXPECT_EQ(code, Code::StorageBusy);
  std::string value;
  EXPECT_EQ(code_of(machine.map->try_get("a", value)), Code::StorageBusy);
  EXPECT_EQ(machine.open(), Code{});
}

TEST(SimKeyValues, WritesUnderWayAtAPowerCutNeverHappenAfterIt) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Machine machine(seed);
    machine.open();
    Code code{};
    const Root writer(machine.node.core(), put(machine.map.get(), "kk", "v", &code));
    machine.world.run_for(Duration(1ns));
    machine.node.power_cut();
    machine.node.restart();
    machine.open();
    Code first{};
    machine.run(put(machine.map.get(), "k", "v", &first));
    machine.world.run_for(1s);
    EXPECT_EQ(code, Code::StorageBusy);
    std::size_t count = 0;
    machine.run(count_keys(machine.map.get(), &count));
    EXPECT_LE(count, 2U);
  }
}

TEST(SimKeyValues, MemoryAnswersOnlyNowAndThen) {
  Machine machine(1);
  machine.open();
  Code code{};
  machine.run(put(machine.map.get(), "a", "b", &code));
  std::set<KeyValue::Found> answers;
  std::string value;
  for (int i = 0; i < 200; ++i) answers.insert(*machine.map->try_get("a", value));
  EXPECT_EQ(answers, (std::set{KeyValue::Found::Yes, KeyValue::Found::Unknown}));
}

Task<void> meet_failures(SimKeyValues* maps, KeyValue* map) {
  Code code{};
  maps->fail_next(KeyValueOp::Write, 1, Code::StorageFull);
  co_await put(map, "a", "1", &code);
  EXPECT_EQ(code, Code::StorageFull);
  co_await put(map, "a", "2", &code);
  EXPECT_EQ(code, Code{});
  maps->fail_next(KeyValueOp::Flush);
  EXPECT_EQ(code_of(co_await map->flush()), Code::StorageBusy);
  EXPECT_EQ(code_of(co_await map->flush()), Code{});
  maps->fail_next(KeyValueOp::Read, 2);
  EXPECT_EQ(code_of(co_await map->get("a")), Code::StorageBusy);
  EXPECT_EQ(code_of(co_await map->scan("", "", 1)), Code::StorageBusy);
  const auto value = co_await map->get("a");
  EXPECT_EQ(*value, "2");
}
TEST(SimKeyValues, OrderedFailuresReachTheCaller) {
  Machine machine(1);
  machine.open();
  machine.run(meet_failures(&machine.node.key_values(), machine.map.get()));
  machine.map.reset();
  machine.node.key_values().fail_next(KeyValueOp::Open);
  EXPECT_EQ(machine.open(), Code::StorageBusy);
  EXPECT_EQ(machine.open(), Code{});
}

Task<void> meet_damage(SimKeyValues* maps, KeyValue* map) {
  Code code{};
  co_await put(map, "a", "1", &code);
  co_await put(map, "b", "2", &code);
  EXPECT_FALSE(maps->damage_key("/map", "c"));
  EXPECT_TRUE(maps->damage_key("/map", "b"));
  EXPECT_EQ(code_of(co_await map->get("a")), Code{});
  EXPECT_EQ(code_of(co_await map->get("b")), Code::IntegrityFail);
  EXPECT_EQ(code_of(co_await map->scan("", "", 10)), Code::IntegrityFail);
  EXPECT_EQ(code_of(co_await map->scan("", "b", 10)), Code{});
  co_await put(map, "b", "3", &code);
  const auto healed = co_await map->get("b");
  EXPECT_EQ(*healed, "3");
}
Task<void> destroy(KeyValues* maps) { EXPECT_TRUE((co_await maps->destroy("/map")).has_value()); }
TEST(SimKeyValues, DamageIsReportedUntilTheMapIsMadeAgain) {
  Machine machine(1);
  EXPECT_FALSE(machine.node.key_values().damage("/map"));
  machine.open();
  machine.run(meet_damage(&machine.node.key_values(), machine.map.get()));
  EXPECT_TRUE(machine.node.key_values().damage("/map"));
  EXPECT_EQ(machine.open(), Code::IntegrityFail);
  EXPECT_EQ(machine.open(), Code::IntegrityFail);
  machine.run(destroy(&machine.node.key_values()));
  EXPECT_EQ(machine.open(), Code{});
}

}  // namespace
}  // namespace ron::platform::sim
