#include "volume/inspector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "volume/test_volume.h"

namespace ron::volume {
namespace {

using base::Code;
using testing::ElementsAre;
using testing::IsEmpty;

struct Inspected {
  base::Result<Inspection> result;
  std::vector<std::string> damaged;
};

Inspected inspect(Machine& machine) {
  Inspected inspected;
  Inspector inspector(machine.node.host(), "/data", runtime::kTestLocks[0],
                      {.on_damage = [&](std::string_view what,
                                        std::string_view) { inspected.damaged.emplace_back(what); },
                       .on_expected = [](std::uint64_t) {},
                       .on_read = [](std::uint64_t) {}});
  inspected.result = run(machine, inspector.run());
  return inspected;
}

// Objects of several sizes, one of them of parts, one deleted, an upload left open.
std::vector<base::ObjectId> fill(Machine& machine, std::uint64_t segment_bytes) {
  Options options = small_options();
  options.segment_bytes = segment_bytes;
  Life life(machine, options);
  std::vector<base::ObjectId> ids;
  for (const std::size_t size : {0U, 100U, 70'000U, 300'000U}) {
    ids.push_back(put(machine, life.volume(), sample_bytes(size, 1)).get()->id);
  }
  const auto large = sample_bytes(kPartBytes + 1000, 2);
  const base::ByteView bytes(large);
  for (const UploadId id : {UploadId(1, 1, 1), UploadId(2, 2, 2)}) {
    static_cast<void>(
        begin(machine, life.volume(), {id, large.size(), std::nullopt, "acme", 0}).get());
    static_cast<void>(put_part(machine, life.volume(), id, 0, bytes.first(kPartBytes)).get());
    static_cast<void>(put_part(machine, life.volume(), id, 1, bytes.subspan(kPartBytes)).get());
  }
  ids.push_back(commit(machine, life.volume(), UploadId(1, 1, 1)).get()->id);
  const auto gone = put(machine, life.volume(), sample_bytes(500, 3)).get()->id;
  static_cast<void>(remove(machine, life.volume(), gone).get());
  life.stop();
  return ids;
}

TEST(Inspector, FindsNothingWrongWithASoundVolumeAndChangesNothing) {
  for (const std::uint64_t segment_bytes : {64 * base::kKiB, 64 * base::kMiB}) {
    Machine machine(1);
    fill(machine, segment_bytes);
    const std::uint64_t writes = machine.world.trace_count(platform::sim::TraceKind::DiskWrite);
    const std::uint64_t syncs = machine.world.trace_count(platform::sim::TraceKind::DiskSync);
    const Inspected inspected = inspect(machine);
    ASSERT_TRUE(inspected.result.has_value()) << inspected.result.error().message;
    EXPECT_EQ(inspected.result->objects, 5U);
    EXPECT_EQ(inspected.result->bytes, 370'100 + kPartBytes + 1000);
    EXPECT_EQ(inspected.result->damaged, 0U);
    EXPECT_THAT(inspected.damaged, IsEmpty());
    EXPECT_EQ(machine.world.trace_count(platform::sim::TraceKind::DiskWrite), writes);
    EXPECT_EQ(machine.world.trace_count(platform::sim::TraceKind::DiskSync), syncs);
  }
}

TEST(Inspector, NamesTheObjectWhoseBytesAreDamaged) {
  Machine machine(1);
  const auto ids = fill(machine, 64 * base::kMiB);
  ASSERT_TRUE(machine.node.disk().flip_bit("/data/segments/0000000001.seg", 200'000, 3));
  EXPECT_THAT(inspect(machine).damaged, ElementsAre(ids[3].text()));
}

TEST(Inspector, NamesTheObjectWhoseOnlyRecordIsTheLast) {
  Machine machine(1);
  base::ObjectId id;
  {
    Life life(machine, small_options());
    id = put(machine, life.volume(), sample_bytes(1000, 1)).get()->id;
    life.stop();
  }
  ASSERT_TRUE(machine.node.disk().flip_bit("/data/segments/0000000001.seg", 1000, 3));
  EXPECT_THAT(inspect(machine).damaged, ElementsAre(id.text()));
}

TEST(Inspector, SaysWhereNoRecordCanBeRead) {
  Machine machine(1);
  fill(machine, 64 * base::kMiB);
  ASSERT_TRUE(
      machine.node.disk().flip_bit("/data/segments/0000000001.seg", kSegmentHeadBytes + 1, 3));
  const Inspected inspected = inspect(machine);
  ASSERT_EQ(inspected.damaged.size(), 1U);
  EXPECT_TRUE(inspected.damaged.front().starts_with("0000000001.seg bytes 96-"));
  EXPECT_EQ(inspected.result->objects, 4U);
}

TEST(Inspector, RefusesAVolumeInUse) {
  Machine machine(1);
  const Life life(machine, small_options());
  EXPECT_EQ(inspect(machine).result.error().code, Code::PreconditionFailed);
}

TEST(DiskVolume, ASecondProcessIsRefused) {
  Machine machine(1);
  Life first(machine, small_options());
  const Life second(machine, small_options());
  ASSERT_FALSE(second.opened.has_value());
  EXPECT_EQ(second.opened.error().message, "another process uses this volume");
  EXPECT_TRUE(put(machine, first.volume(), sample_bytes(10, 1)).get().has_value());
}

}  // namespace
}  // namespace ron::volume
