#include "volume/snapshots.h"

#include <gtest/gtest.h>

#include "volume/test_volume.h"

namespace ron::volume {
namespace {

using namespace std::chrono_literals;
using base::Code;

using Bytes = std::vector<std::byte>;

Options options_of(std::string directory) {
  Options options = small_options();
  options.directory = std::move(directory);
  return options;
}

// The volume's own, or that of a snapshot.
Options volume_options() { return options_of("/data"); }
Options snapshot_options(const std::string& name) { return options_of("/data/snapshots/" + name); }

base::Result<Snapshot> snapshot(Machine& machine, Life& life, std::string name) {
  return run(machine, life.volume().make_snapshot(std::move(name), {}));
}

void expect_all(Machine& machine, Life& life, const std::vector<Bytes>& objects) {
  life.wait_readable();
  for (const Bytes& object : objects) {
    EXPECT_EQ(get(machine, life.volume(), b3::hash(object)), object) << object.size();
  }
}

TEST(Snapshots, NamesAreStrict) {
  for (const std::string_view name : {"a", "0", "2026-11-16", "before_upgrade.1", "a..b"}) {
    EXPECT_TRUE(valid_snapshot_name(name)) << name;
  }
  EXPECT_TRUE(valid_snapshot_name(std::string(63, 'a')));
  EXPECT_FALSE(valid_snapshot_name(std::string(64, 'a')));
  for (const std::string_view name : {"", ".", "..", ".a", "-a", "_a", "A", "a/b", "a b", "a\n"}) {
    EXPECT_FALSE(valid_snapshot_name(name)) << name;
  }
}

TEST(Snapshots, AStartOnOneFindsEverythingAcknowledgedBefore) {
  Machine machine(1);
  Life life(machine, volume_options());
  std::vector<Bytes> objects;
  for (const std::size_t size : {0U, 10U, 70'000U, 300'000U}) {
    objects.push_back(sample_bytes(size, 1));
    ASSERT_TRUE(put(machine, life.volume(), objects.back()).get().has_value());
  }
  objects.push_back(sample_bytes(kPartBytes + 5, 1));
  ASSERT_TRUE(
      store_in_parts(machine, life.volume(), UploadId(1, 2, 3), objects.back()).has_value());
  const auto removed = sample_bytes(20, 2);
  ASSERT_TRUE(put(machine, life.volume(), removed).get().has_value());
  ASSERT_TRUE(remove(machine, life.volume(), b3::hash(removed)).get().has_value());

  const auto made = snapshot(machine, life, "first");
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->path, "/data/snapshots/first");
  EXPECT_EQ(made->segments, life.volume().stats().segments + 1);
  EXPECT_GE(made->bytes, kPartBytes);
  // What comes later is not in it, also in what it shares with the volume.
  const auto later = sample_bytes(30, 3);
  ASSERT_TRUE(put(machine, life.volume(), later).get().has_value());

  Life copy(machine, snapshot_options("first"));
  ASSERT_TRUE(copy.opened.has_value()) << copy.opened.error().message;
  expect_all(machine, copy, objects);
  for (const Bytes* const gone : {&removed, &later}) {
    EXPECT_EQ(get(machine, copy.volume(), b3::hash(*gone)).error().code, Code::NotFound);
  }
  // Both are written to and neither sees the other's.
  ASSERT_TRUE(put(machine, copy.volume(), sample_bytes(40, 4)).get().has_value());
  copy.volume().request_compaction();
  machine.world.run_for(2s);
  EXPECT_EQ(get(machine, life.volume(), b3::hash(sample_bytes(40, 4))).error().code,
            Code::NotFound);
  objects.push_back(later);
  expect_all(machine, life, objects);
}

// Everything submitted before the first answer: one batch.
platform::Task<bool> put_at_once(DiskVolume* volume, const std::vector<Bytes>* objects) {
  const runtime::Deadline never;
  std::vector<runtime::OneshotReceiver<base::Result<Added>>> answers;
  for (const Bytes& object : *objects) {
    auto [sender, receiver] = runtime::oneshot<base::Result<Added>>();
    co_await volume->put({b3::hash(object), buffer_of(object), "acme", {}}, never,
                         std::move(sender));
    answers.push_back(std::move(receiver));
  }
  bool all = true;
  for (auto& answer : answers) {
    auto added = co_await answer.recv(never);
    all = all && added && *added;
  }
  co_return all;
}

// A start on a snapshot must not cut off what the volume shares with it, whatever it makes of it.
TEST(Snapshots, AStartOnADamagedOneDoesNotTouchTheVolume) {
  Machine machine(1);
  Life life(machine, volume_options());
  std::vector<Bytes> objects;
  for (std::uint64_t i = 0; i < 8; ++i) objects.push_back(sample_bytes(1000, i));
  ASSERT_TRUE(run(machine, put_at_once(&life.volume(), &objects)));
  ASSERT_TRUE(snapshot(machine, life, "a").has_value());
  ASSERT_TRUE(machine.node.disk().flip_bit("/data/snapshots/a/segments/0000000001.seg", 1500, 1));
  {
    Life copy(machine, snapshot_options("a"));
    copy.wait_readable();
  }
  std::size_t there = 0;
  for (const Bytes& object : objects) {
    there += get(machine, life.volume(), b3::hash(object)).has_value() ? 1U : 0U;
  }
  EXPECT_EQ(there, objects.size() - 1);
}

// Segments are compacted away all the while; whatever was acknowledged before the request is in one
// of those that were linked.
TEST(Snapshots, CompactionMeanwhileLosesNothing) {
  std::uint64_t during = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Machine machine(seed);
    Options options = volume_options();
    options.segment_bytes = 8 * base::kKiB;
    Life life(machine, options);
    std::vector<Bytes> kept;
    for (std::uint64_t i = 0; i < 60; ++i) {
      const auto object = sample_bytes(500, i);
      ASSERT_TRUE(put(machine, life.volume(), object).get().has_value());
      if (i % 3 == 0) kept.push_back(object);
    }
    for (std::uint64_t i = 0; i < 60; ++i) {
      if (i % 3 == 0) continue;
      ASSERT_TRUE(remove(machine, life.volume(), b3::hash(sample_bytes(500, i))).get().has_value());
    }
    const std::uint64_t before = life.volume().stats().segments;
    life.volume().request_compaction();
    machine.run_until([&] { return life.volume().stats().segments != before; });
    machine.world.run_for(seed * 200us);
    auto more = put(machine, life.volume(), sample_bytes(600, seed));
    const auto made = snapshot(machine, life, "s");
    ASSERT_TRUE(made.has_value()) << seed << made.error().message;
    const std::uint64_t linked = made->segments;
    static_cast<void>(more.get());
    machine.world.run_for(5s);
    const std::uint64_t after = life.volume().stats().segments;
    during += linked > after + 1 ? 1U : 0U;
    Life copy(machine, snapshot_options("s"));
    ASSERT_TRUE(copy.opened.has_value()) << seed << copy.opened.error().message;
    expect_all(machine, copy, kept);
    for (std::uint64_t i = 0; i < 60; ++i) {
      if (i % 3 == 0) continue;
      EXPECT_FALSE(get(machine, copy.volume(), b3::hash(sample_bytes(500, i))).has_value()) << i;
    }
    expect_all(machine, life, kept);
  }
  EXPECT_GT(during, 5U);  // else the test looks elsewhere
}

TEST(Snapshots, OneThatWasAnsweredSurvivesAPowerCut) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Machine machine(seed);
    std::vector<Bytes> objects;
    {
      Life life(machine, volume_options());
      for (std::uint64_t i = 0; i < 5; ++i) {
        objects.push_back(sample_bytes(50'000, i));
        ASSERT_TRUE(put(machine, life.volume(), objects.back()).get().has_value());
      }
      ASSERT_TRUE(snapshot(machine, life, "s").has_value());
      auto unanswered = put(machine, life.volume(), sample_bytes(60'000, seed));
      machine.world.run_for(100us * seed);
      machine.node.power_cut();
    }
    machine.node.restart();
    Life copy(machine, snapshot_options("s"));
    ASSERT_TRUE(copy.opened.has_value()) << seed << copy.opened.error().message;
    expect_all(machine, copy, objects);
  }
}

TEST(Snapshots, AreListedAndRemoved) {
  Machine machine(1);
  Life life(machine, volume_options());
  DiskVolume& volume = life.volume();
  EXPECT_TRUE(run(machine, volume.list_snapshots({}))->empty());
  ASSERT_TRUE(put(machine, volume, sample_bytes(100, 1)).get().has_value());
  ASSERT_TRUE(snapshot(machine, life, "b").has_value());
  ASSERT_TRUE(snapshot(machine, life, "a").has_value());
  EXPECT_EQ(snapshot(machine, life, "a").error().code, Code::PreconditionFailed);
  EXPECT_EQ(snapshot(machine, life, "../a").error().code, Code::Malformed);
  const auto listed = run(machine, volume.list_snapshots({}));
  ASSERT_EQ(listed->size(), 2U);
  EXPECT_EQ(listed->front().name, "a");
  EXPECT_GT(listed->front().bytes, 100U);
  EXPECT_EQ(run(machine, volume.remove_snapshot("c", {})).error().code, Code::NotFound);
  {
    const Life copy(machine, snapshot_options("a"));
    EXPECT_EQ(run(machine, volume.remove_snapshot("a", {})).error().code, Code::PreconditionFailed);
  }
  EXPECT_TRUE(run(machine, volume.remove_snapshot("a", {})).has_value());
  EXPECT_TRUE(run(machine, volume.remove_snapshot("b", {})).has_value());
  EXPECT_TRUE(run(machine, volume.list_snapshots({}))->empty());
  EXPECT_EQ(run(machine, machine.node.disk().list("/data/snapshots"))->size(), 0U);
  expect_all(machine, life, {sample_bytes(100, 1)});
}

// All of them are listed on one page.
TEST(Snapshots, ThereAreOnlySoMany) {
  Machine machine(1);
  Life life(machine, volume_options());
  ASSERT_TRUE(snapshot(machine, life, "first").has_value());
  for (std::size_t i = 1; i < kMostSnapshots; ++i) {
    const std::string path = "/data/snapshots/s" + std::to_string(i);
    ASSERT_TRUE(run(machine, machine.node.disk().make_directory(path)).has_value());
  }
  const auto refused = snapshot(machine, life, "one-more");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Quota);
  EXPECT_TRUE(run(machine, life.volume().remove_snapshot("first", {})).has_value());
  EXPECT_TRUE(snapshot(machine, life, "one-more").has_value());
}

// Whatever fails on the way leaves no snapshot and nothing behind, and the next one works.
TEST(Snapshots, OneThatFailsLeavesNothing) {
  using platform::sim::DiskOp;
  int failed = 0;
  for (const DiskOp op : {DiskOp::Write, DiskOp::Sync}) {
    Machine machine(1);
    Life life(machine, volume_options());
    ASSERT_TRUE(put(machine, life.volume(), sample_bytes(100, 1)).get().has_value());
    machine.node.disk().fail_next(op);
    failed += snapshot(machine, life, "a").has_value() ? 0 : 1;
    EXPECT_TRUE(run(machine, life.volume().list_snapshots({}))->empty());
    EXPECT_EQ(run(machine, machine.node.disk().list("/data/snapshots"))->size(), 0U);
    EXPECT_TRUE(snapshot(machine, life, "a").has_value());
    expect_all(machine, life, {sample_bytes(100, 1)});
  }
  EXPECT_EQ(failed, 2);
}

}  // namespace
}  // namespace ron::volume
