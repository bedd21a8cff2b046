#include "chain/frame_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(FrameLog, HasItsFramesAgainAfterARestart) {
  Machine machine(1);
  {
    TestLog log(machine);
    ASSERT_TRUE(log.open());
    EXPECT_THAT(log.visited, IsEmpty());
    ASSERT_TRUE(log.append({"zero", "", "two"}));
    ASSERT_TRUE(log.append({std::string(5000, 'x')}));
    EXPECT_EQ(log->first(), 0U);
    EXPECT_EQ(log->next(), 4U);
    ASSERT_TRUE(log.close());
  }
  TestLog log(machine);
  ASSERT_TRUE(log.open());
  EXPECT_THAT(log.visited, ElementsAre("zero", "", "two", std::string(5000, 'x')));
  EXPECT_EQ(log->next(), 4U);
  ASSERT_TRUE(log.append({"four"}));
  EXPECT_THAT(*log.read(2, 10), ElementsAre("two", std::string(5000, 'x'), "four"));
}

TEST(FrameLog, ARestartWithoutNewFramesLeavesNoNewSegment) {
  Machine machine(1);
  for (int life = 0; life < 5; ++life) {
    TestLog log(machine);
    ASSERT_TRUE(log.open());
    if (life == 0) ASSERT_TRUE(log.append({"zero"}));
  }
  EXPECT_THAT(segments(machine), ElementsAre(segment_name(0), segment_name(1)));
}

TEST(FrameLog, BeginsASegmentWhenABatchDoesNotFit) {
  Machine machine(1);
  TestLog log(machine, 1000);
  ASSERT_TRUE(log.open());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(log.append({std::string(200, 'a'), "b"}));
  EXPECT_THAT(segments(machine), ElementsAre(segment_name(0), segment_name(4), segment_name(8),
                                             segment_name(12), segment_name(16)));
  ASSERT_TRUE(log.append({std::string(5000, 'l')}));  // larger than a segment is alone in one
  EXPECT_THAT(segments(machine), SizeIs(6));
  EXPECT_THAT(*log.read(3, 3), ElementsAre("b", std::string(200, 'a'), "b"));
  EXPECT_THAT(*log.read(0, 100), SizeIs(21));
}

TEST(FrameLog, VisitsFromANumberAndReadsNoSegmentBeforeIt) {
  Machine machine(1);
  fill(machine, 1000, 20);
  // Damage in a segment that is not needed is not noticed.
  ASSERT_TRUE(machine.node.disk().flip_bit(path_of(0), 100, 0));
  TestLog log(machine);
  ASSERT_TRUE(log.open(17));
  EXPECT_THAT(log.numbers, ElementsAre(17, 18, 19));
  EXPECT_EQ(log->first(), 0U);
  EXPECT_EQ(log->next(), 20U);
  EXPECT_THAT(*log.read(10, 1), ElementsAre(frame_text(10)));
  log.visited.clear();
  TestLog behind(machine);
  ASSERT_TRUE(log.close());
  ASSERT_TRUE(behind.open(500));
  EXPECT_THAT(behind.visited, IsEmpty());
  EXPECT_EQ(behind->next(), 20U);
}

TEST(FrameLog, AnErrorOfTheVisitorEndsTheOpening) {
  Machine machine(1);
  fill(machine, 1000, 5);
  TestLog log(machine);
  const auto opened = run(machine, log->open(0, [](const FrameView& frame) -> base::Result<void> {
    if (frame.number == 3) return base::fail(Code::ChainMismatch, "three");
    return {};
  }));
  EXPECT_EQ(opened.error().code, Code::ChainMismatch);
}

TEST(FrameLog, ReadsUpToTheBoundsItIsGiven) {
  Machine machine(1);
  fill(machine, 1000, 20);
  TestLog log(machine);
  ASSERT_TRUE(log.open(20));
  EXPECT_EQ(log.read(20, 1).error().code, Code::NotFound);
  EXPECT_EQ(log.read(UINT64_MAX, 1).error().code, Code::NotFound);
  EXPECT_THAT(*log.read(5, 0), IsEmpty());
  EXPECT_THAT(*log.read(5, 1, 0), ElementsAre(frame_text(5)));
  const std::size_t stored = stored_frame_bytes(frame_text(5).size());
  EXPECT_THAT(*log.read(5, 10, 2 * stored), SizeIs(2));
  EXPECT_THAT(*log.read(5, 10, 3 * stored - 1), SizeIs(2));
  EXPECT_THAT(*log.read(18, 10), ElementsAre(frame_text(18), frame_text(19)));
}

TEST(FrameLog, KeepsTheTablesOfAFewSegmentsOnly) {
  Machine machine(1);
  fill(machine, 300, 60);
  TestLog log(machine, 300);
  ASSERT_TRUE(log.open(60));
  for (std::uint64_t pass = 0; pass < 3; ++pass) {
    for (std::uint64_t number = 0; number < 60; ++number) {
      EXPECT_THAT(*log.read((number * 7) % 60, 1), ElementsAre(frame_text((number * 7) % 60)));
    }
  }
}

TEST(FrameLog, RefusesWhatIsTooLargeAndGoesOn) {
  Machine machine(1);
  TestLog log(machine);
  EXPECT_EQ(log.append({"early"}).error().code, Code::StorageBusy);
  ASSERT_TRUE(log.open());
  EXPECT_EQ(log.append({std::string(kMaxFrameBytes + 1, 'x')}).error().code, Code::Malformed);
  const std::vector<std::string> many(8, std::string(kMaxFrameBytes, 'x'));
  EXPECT_EQ(log.append(many).error().code, Code::Malformed);
  EXPECT_TRUE(log.append({}));
  EXPECT_TRUE(log.append({std::string(kMaxFrameBytes, 'x')}));
  EXPECT_EQ(log->next(), 1U);
  EXPECT_THAT(*log.read(0, 1), ElementsAre(std::string(kMaxFrameBytes, 'x')));
}

TEST(FrameLog, DropsWholeSegmentsBelowANumber) {
  Machine machine(1);
  fill(machine, 1000, 20);
  TestLog log(machine, 1000);
  ASSERT_TRUE(log.open());
  const std::uint64_t second = *parse_segment_name(segments(machine)[1]);
  EXPECT_EQ(*log.drop_below(second - 1), 0U);
  EXPECT_EQ(*log.drop_below(second + 1), second);
  EXPECT_EQ(log->first(), second);
  EXPECT_EQ(log.read(second - 1, 1).error().code, Code::NotFound);
  EXPECT_THAT(*log.read(second, 1), ElementsAre(frame_text(second)));
  EXPECT_EQ(*log.drop_below(1'000'000), 20U);  // all but the one that is written to
  EXPECT_EQ(log->next(), 20U);
  ASSERT_TRUE(log.append({"twenty"}));
  ASSERT_TRUE(log.close());
  TestLog again(machine);
  ASSERT_TRUE(again.open());
  EXPECT_THAT(again.numbers, ElementsAre(20));
}

TEST(FrameLog, ADropThatFailedCanBeTriedAgain) {
  Machine machine(1);
  fill(machine, 1000, 20);
  TestLog log(machine, 1000);
  ASSERT_TRUE(log.open());
  machine.node.disk().fail_next(platform::sim::DiskOp::Sync);
  EXPECT_FALSE(log.drop_below(20));
  EXPECT_EQ(log->first(), 0U);
  EXPECT_EQ(*log.drop_below(20), 20U);
}

TEST(FrameLog, OneProcessAtATimeHasIt) {
  Machine machine(1);
  TestLog log(machine);
  ASSERT_TRUE(log.open());
  TestLog other(machine);
  const auto refused = other.open();
  EXPECT_EQ(refused.error().code, Code::PreconditionFailed);
  EXPECT_THAT(refused.error().message, HasSubstr("/log"));
  EXPECT_EQ(inspect(machine).result.error().code, Code::PreconditionFailed);
  ASSERT_TRUE(log.close());
  TestLog third(machine);
  EXPECT_TRUE(third.open());
}

TEST(FrameLog, TakesNothingAfterAFailureUntilItIsRepaired) {
  for (const auto op : {platform::sim::DiskOp::Write, platform::sim::DiskOp::Sync}) {
    Machine machine(1);
    TestLog log(machine);
    ASSERT_TRUE(log.open());
    ASSERT_TRUE(log.append({"zero"}));
    machine.node.disk().fail_next(op);
    EXPECT_EQ(log.append({"one", "two"}).error().code, Code::StorageBusy);
    EXPECT_TRUE(log->needs_repair());
    EXPECT_EQ(log->next(), 1U);
    EXPECT_EQ(log.read(1, 1).error().code, Code::NotFound);
    EXPECT_EQ(log.append({"one"}).error().code, Code::StorageBusy);
    ASSERT_TRUE(log.repair());
    ASSERT_TRUE(log.append({"other"}));
    EXPECT_THAT(*log.read(0, 5), ElementsAre("zero", "other"));
    ASSERT_TRUE(log.close());
    TestLog again(machine);
    ASSERT_TRUE(again.open());
    EXPECT_THAT(again.visited, ElementsAre("zero", "other"));
    EXPECT_THAT(inspect(machine).damage, IsEmpty());
  }
}

TEST(FrameLog, ClosingRepairsWhatHasFailed) {
  Machine machine(1);
  {
    TestLog log(machine);
    ASSERT_TRUE(log.open());
    machine.node.disk().fail_next(platform::sim::DiskOp::Sync);
    EXPECT_FALSE(log.append({"undone"}));
    ASSERT_TRUE(log.close());
  }
  TestLog log(machine);
  ASSERT_TRUE(log.open());
  EXPECT_THAT(log.visited, IsEmpty());
}

platform::Task<void> append_many(FrameLog* log, std::uint64_t count, bool* done) {
  while (log->next() < count) {
    std::vector<std::string> batch;
    for (std::uint64_t i = 0; i < 3; ++i) batch.push_back(frame_text(log->next() + i));
    auto appended = co_await log->append(std::move(batch));
    EXPECT_TRUE(appended);
  }
  *done = true;
}

platform::Task<void> drop_many(FrameLog* log, const bool* done) {
  while (!*done) {
    auto dropped = co_await log->drop_below(log->next() > 40 ? log->next() - 40 : 0);
    EXPECT_TRUE(dropped);
    co_await platform::test::pause(std::chrono::milliseconds(3));
  }
}

platform::Task<void> read_many(FrameLog* log, std::uint64_t seed, const bool* done,
                               std::uint64_t* count) {
  platform::FastRandom random(seed);
  while (!*done) {
    const std::uint64_t first = log->first();
    const std::uint64_t number = first + random.below(log->next() - first + 1);
    auto frames = co_await log->read(number, 1 + random.below(20), 1 + random.below(2000));
    if (!frames) {
      EXPECT_EQ(frames.error().code, Code::NotFound) << frames.error().message;
    } else {
      for (std::uint64_t i = 0; i < frames->size(); ++i) {
        EXPECT_EQ((*frames)[i], frame_text(number + i));
        ++*count;
      }
    }
    co_await platform::test::pause(std::chrono::microseconds(100));
  }
}

TEST(FrameLog, IsReadWhileItIsWrittenAndDropped) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Machine machine(seed);
    TestLog log(machine, 1000);
    ASSERT_TRUE(log.open());
    bool done = false;
    std::uint64_t count = 0;
    {
      using platform::test::Root;
      platform::Executor& core = machine.node.core();
      const Root writer(core, append_many(&*log, 300, &done));
      const Root dropper(core, drop_many(&*log, &done));
      const Root reader(core, read_many(&*log, seed, &done, &count));
      const Root other(core, read_many(&*log, seed + 100, &done, &count));
      machine.run_until(
          [&] { return writer.done() && dropper.done() && reader.done() && other.done(); });
    }
    EXPECT_GT(count, 100U);
    EXPECT_GT(log->first(), 200U);
  }
}

}  // namespace
}  // namespace ron::chain
