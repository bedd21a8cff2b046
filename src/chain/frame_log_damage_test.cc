// What a frame log makes of bytes that are not what was written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chain/frame_log.h"
#include "chain/test_frame_log.h"

namespace ron::chain {
namespace {

using base::Code;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using volume::Machine;

// Writes bytes behind the end of a file, or over it.
platform::Task<void> write_over(platform::Disk* disk, std::string path, std::uint64_t offset,
                                std::string text) {
  auto file = co_await disk->open(path, {platform::OpenMode::WriteExisting, false});
  auto written = co_await (*file)->write_at(offset, volume::buffer_of(base::as_bytes(text)));
  EXPECT_TRUE(written);
  auto synced = co_await (*file)->sync();
  EXPECT_TRUE(synced);
}

platform::Task<void> cut(platform::Disk* disk, std::string path, std::uint64_t length) {
  auto file = co_await disk->open(path, {platform::OpenMode::WriteExisting, false});
  auto set = co_await (*file)->truncate(length);
  EXPECT_TRUE(set);
  auto synced = co_await (*file)->sync();
  EXPECT_TRUE(synced);
}

platform::Task<void> remove(platform::Disk* disk, std::string path) {
  auto removed = co_await disk->remove(path);
  EXPECT_TRUE(removed);
}

platform::Task<base::Result<std::uint64_t>> read_size(platform::Disk* disk, std::string path) {
  auto file = co_await disk->open(path, {platform::OpenMode::ReadExisting, false});
  if (!file) co_return base::fail(file.error());
  co_return co_await (*file)->size();
}

std::uint64_t size_of(Machine& machine, const std::string& path) {
  return run(machine, read_size(&machine.node.disk(), path)).value_or(0);
}

TEST(FrameLogDamage, OfAnAcknowledgedFrameIsNamedAndNothingIsCutOff) {
  Machine machine(1);
  const auto offsets = fill_one_segment(machine, {"zero", "one", "two", "three"});
  const std::uint64_t before = machine.node.disk().used_bytes();
  ASSERT_TRUE(machine.node.disk().flip_bit(path_of(0), offsets[1] + kFrameHeadBytes, 3));
  TestLog log(machine);
  const auto opened = log.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::IntegrityFail);
  EXPECT_THAT(
      opened.error().message,
      AllOf(HasSubstr(path_of(0)), HasSubstr("frame 1 at offset " + std::to_string(offsets[1]))));
  EXPECT_EQ(machine.node.disk().used_bytes(), before);
}

// It may have been acknowledged: only whole sectors of zeros, or the end of the file, say
// otherwise.
TEST(FrameLogDamage, OfTheLastFrameIsRefusedUnlessItIsTorn) {
  for (const std::uint64_t place :
       {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{60}, std::uint64_t{kFrameHeadBytes}}) {
    Machine machine(1);
    const auto offsets = fill_one_segment(machine, {"zero", "one"});
    ASSERT_TRUE(machine.node.disk().flip_bit(path_of(0), offsets[1] + place, 0));
    TestLog log(machine);
    const auto opened = log.open();
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message,
                AllOf(HasSubstr("frame 1"), HasSubstr("acknowledged"),
                      HasSubstr("cut it to " + std::to_string(offsets[1]) + " bytes")));
  }
}

TEST(FrameLogDamage, ATornLastBatchIsCutOffAndKeptAside) {
  const std::string large(1500, 'x');
  for (const std::uint64_t left : {std::uint64_t{8}, std::uint64_t{63}, std::uint64_t{600}}) {
    Machine machine(1);
    const auto offsets = fill_one_segment(machine, {"zero", large});
    machine.run(cut(&machine.node.disk(), path_of(0), offsets[1] + left));
    const Inspected inspected = inspect(machine);
    EXPECT_THAT(inspected.damage, IsEmpty());
    EXPECT_EQ(inspected.result->torn_bytes, left);
    TestLog log(machine);
    ASSERT_TRUE(log.open());
    EXPECT_THAT(log.visited, ElementsAre("zero"));
    EXPECT_THAT(log.trouble, ElementsAre(HasSubstr(std::to_string(left) + " bytes")));
    EXPECT_THAT(names(machine, "/log/quarantine"), SizeIs(1));
    ASSERT_TRUE(log.append({"one"}));
    ASSERT_TRUE(log.close());
    TestLog again(machine);
    ASSERT_TRUE(again.open());
    EXPECT_THAT(again.visited, ElementsAre("zero", "one"));
    EXPECT_THAT(again.trouble, IsEmpty());
  }
}

TEST(FrameLogDamage, ZerosAheadOfTheFramesAreNoTrouble) {
  Machine machine(1);
  const auto offsets = fill_one_segment(machine, {"zero", "one"});
  const std::uint64_t end = offsets[1] + stored_frame_bytes(3);
  EXPECT_GT(size_of(machine, path_of(0)), end);
  const Inspected inspected = inspect(machine);
  EXPECT_THAT(inspected.damage, IsEmpty());
  EXPECT_EQ(inspected.result->torn_bytes, 0);
  TestLog log(machine);
  ASSERT_TRUE(log.open());
  EXPECT_THAT(log.visited, ElementsAre("zero", "one"));
  EXPECT_THAT(log.trouble, IsEmpty());
  EXPECT_EQ(size_of(machine, path_of(0)), end);
  ASSERT_TRUE(log.append({"two"}));
  EXPECT_GT(size_of(machine, path_of(2)), kSegmentHeadBytes + stored_frame_bytes(3));
  ASSERT_TRUE(log.close());
  EXPECT_EQ(size_of(machine, path_of(2)), kSegmentHeadBytes + stored_frame_bytes(3));
}

TEST(FrameLogDamage, ASectorOfZerosInTheLastFrameIsATornWrite) {
  Machine machine(1);
  const auto offsets = fill_one_segment(machine, {"zero", std::string(2000, 'x')});
  const std::uint64_t sector = (offsets[1] / 512 + 2) * 512;
  machine.run(write_over(&machine.node.disk(), path_of(0), sector, std::string(512, '\0')));
  TestLog log(machine);
  ASSERT_TRUE(log.open());
  EXPECT_THAT(log.visited, ElementsAre("zero"));
}

TEST(FrameLogDamage, ASectorOfZerosInAnAcknowledgedFrameIsDamage) {
  Machine machine(1);
  const auto offsets = fill_one_segment(machine, {"zero", std::string(2000, 'x'), "two"});
  const std::uint64_t sector = (offsets[1] / 512 + 2) * 512;
  machine.run(write_over(&machine.node.disk(), path_of(0), sector, std::string(512, '\0')));
  TestLog log(machine);
  const auto opened = log.open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("frame 1"));
}

TEST(FrameLogDamage, WhatIsMissingAfterAProperEndIsNotTakenForTorn) {
  Machine machine(1);
  {
    TestLog log(machine);
    ASSERT_TRUE(log.open());
    ASSERT_TRUE(log.append({"zero"}));
    ASSERT_TRUE(log.append({"one"}));
    ASSERT_TRUE(log.close());
    EXPECT_EQ(log.read(0, 1).error().code, Code::NotFound);
  }
  machine.run(cut(&machine.node.disk(), path_of(0), kSegmentHeadBytes + stored_frame_bytes(4)));
  EXPECT_THAT(inspect(machine).damage, SizeIs(1));
  TestLog log(machine);
  const auto opened = log.open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("frame 1"));
}

TEST(FrameLogDamage, AReadNamesTheFrameAndTheOthersAreWell) {
  for (const std::uint64_t place : {std::uint64_t{0}, std::uint64_t{kFrameHeadBytes}}) {
    Machine machine(1);
    const auto offsets = fill_one_segment(machine, {"zero", "one", "two", "three"});
    TestLog log(machine);
    ASSERT_TRUE(log.open());
    ASSERT_TRUE(log.append({"four"}));
    ASSERT_TRUE(log.close());
    ASSERT_TRUE(machine.node.disk().flip_bit(path_of(0), offsets[1] + place, 0));
    TestLog again(machine);
    ASSERT_TRUE(again.open(4));
    EXPECT_THAT(*again.read(0, 10), ElementsAre("zero"));
    const auto damaged = again.read(1, 10);
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.error().code, Code::IntegrityFail);
    EXPECT_THAT(damaged.error().message, HasSubstr("frame 1 "));
    EXPECT_THAT(*again.read(2, 10), ElementsAre("two", "three", "four"));
  }
}

TEST(FrameLogDamage, AMissingSegmentIsNamed) {
  Machine machine(1);
  fill(machine, 1000, 20);
  const std::string middle = segments(machine)[2];
  machine.run(remove(&machine.node.disk(), "/log/segments/" + middle));
  const Inspected inspected = inspect(machine);
  ASSERT_THAT(inspected.damage, SizeIs(1));
  EXPECT_EQ(inspected.damage[0].first, *parse_segment_name(middle));
  EXPECT_EQ(inspected.result->frames + inspected.damage[0].frames, 20U);
  TestLog log(machine);
  const auto opened = log.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::IntegrityFail);
  EXPECT_THAT(opened.error().message, HasSubstr(middle));
}

TEST(FrameLogDamage, AMissingFileLogIsMadeAgain) {
  Machine machine(1);
  fill(machine, 1000, 3);
  machine.run(remove(&machine.node.disk(), "/log/LOG"));
  {
    TestLog log(machine);
    ASSERT_TRUE(log.open());
    EXPECT_THAT(log.visited, SizeIs(3));
  }
  TestLog log(machine);
  ASSERT_TRUE(log.open());
}

TEST(FrameLogDamage, WithoutSegmentsALogIsNotTakenForANewOne) {
  Machine machine(1);
  fill(machine, 1000, 3);
  for (const std::string& name : segments(machine)) {
    machine.run(remove(&machine.node.disk(), "/log/segments/" + name));
  }
  TestLog log(machine);
  EXPECT_EQ(log.open().error().code, Code::IntegrityFail);
}

TEST(FrameLogDamage, AMediumThatDoesNotGiveItsBytesIsReportedAsSuch) {
  Machine machine(1);
  const auto offsets = fill_one_segment(machine, {"zero", "one", std::string(3000, 'x')});
  ASSERT_TRUE(machine.node.disk().break_sector(path_of(0), offsets[2] + 1000));
  EXPECT_THAT(inspect(machine).damage, SizeIs(1));
  TestLog log(machine);
  EXPECT_EQ(log.open().error().code, Code::StorageBusy);
}

TEST(FrameLogDamage, InspectingASoundLogChangesNothing) {
  Machine machine(1);
  fill(machine, 1000, 20);
  const std::uint64_t writes = machine.world.trace_count(platform::sim::TraceKind::DiskWrite);
  const std::uint64_t syncs = machine.world.trace_count(platform::sim::TraceKind::DiskSync);
  const Inspected inspected = inspect(machine);
  ASSERT_TRUE(inspected.result);
  EXPECT_THAT(inspected.damage, IsEmpty());
  EXPECT_EQ(inspected.result->frames, 20U);
  EXPECT_EQ(inspected.result->next, 20U);
  EXPECT_THAT(inspected.visited, SizeIs(20));
  EXPECT_EQ(machine.world.trace_count(platform::sim::TraceKind::DiskWrite), writes);
  EXPECT_EQ(machine.world.trace_count(platform::sim::TraceKind::DiskSync), syncs);
}

// Which frame a byte of a segment belongs to; its head's is the first.
std::uint64_t frame_at(const std::vector<std::uint64_t>& offsets, std::uint64_t first,
                       std::uint64_t place) {
  std::uint64_t number = first;
  for (std::size_t i = 1; i < offsets.size() && offsets[i] <= place; ++i) ++number;
  return number;
}

// Every byte of every frame and every other file, one bit at a time: the inspection names the
// frame, and opening from there on is refused with the same.
TEST(FrameLogDamage, EveryByteIsCovered) {
  Machine machine(1);
  const std::vector<std::string> texts = {"zero", "", std::string(300, '\0'), "three"};
  const auto first = fill_one_segment(machine, texts);
  {
    TestLog log(machine);  // goes on in a second segment
    ASSERT_TRUE(log.open());
    ASSERT_TRUE(log.append({"four", "five"}));
  }
  const std::vector<std::uint64_t> second = {kSegmentHeadBytes,
                                             kSegmentHeadBytes + stored_frame_bytes(4)};
  std::uint64_t flipped = 0;
  for (const std::uint64_t segment : {std::uint64_t{0}, std::uint64_t{4}}) {
    const auto& offsets = segment == 0 ? first : second;
    const std::uint64_t end = offsets.back() + stored_frame_bytes(segment == 0 ? 5 : 4);
    for (std::uint64_t at = 0; at < end; ++at) {
      ASSERT_TRUE(machine.node.disk().flip_bit(path_of(segment), at, at % 8));
      const std::uint64_t number = frame_at(offsets, segment, at);
      const Inspected inspected = inspect(machine);
      ASSERT_THAT(inspected.damage, SizeIs(1)) << segment << " " << at;
      EXPECT_EQ(inspected.damage[0].first, number) << segment << " " << at;
      EXPECT_EQ(inspected.damage[0].frames, at < kSegmentHeadBytes ? 0U : 1U) << at;
      EXPECT_EQ(inspected.visited.size(), at < kSegmentHeadBytes ? 6U : 5U) << at;
      TestLog log(machine);
      const auto opened = log.open();
      ASSERT_FALSE(opened) << segment << " " << at;
      EXPECT_EQ(opened.error().code, Code::IntegrityFail);
      EXPECT_THAT(opened.error().details,
                  testing::Contains(testing::Pair("frame", std::to_string(number))));
      machine.node.disk().flip_bit(path_of(segment), at, at % 8);
      ++flipped;
    }
  }
  EXPECT_EQ(flipped, second[1] + stored_frame_bytes(4) + first.back() + stored_frame_bytes(5));
  for (std::uint64_t at = 0; machine.node.disk().flip_bit("/log/LOG", at, at % 8); ++at) {
    EXPECT_THAT(inspect(machine).damage, testing::Not(IsEmpty())) << at;
    TestLog log(machine);
    EXPECT_EQ(log.open().error().code, Code::IntegrityFail) << at;
    machine.node.disk().flip_bit("/log/LOG", at, at % 8);
  }
  TestLog log(machine);
  EXPECT_TRUE(log.open());
  EXPECT_THAT(log.visited, SizeIs(6));
}

}  // namespace
}  // namespace ron::chain
