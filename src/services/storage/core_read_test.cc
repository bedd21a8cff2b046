// Core: reading objects.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "services/storage/object_source.h"
#include "services/storage/test_core.h"

namespace ron::storage {
namespace {

using namespace std::chrono_literals;
using base::Code;
using base::Result;
using testing::buffer;
using testing::noise;

using CoreReadTest = testing::CoreFixture;

TEST_F(CoreReadTest, WhatWasReadOnceIsReadFromMemory) {
  start();
  start_workers();
  const base::ObjectId id = put("hello");
  EXPECT_EQ(core_->cached(id), nullptr);
  ASSERT_TRUE(core_->loads_whole(5));
  const auto object = get(core_->load(found(id), soon()));
  ASSERT_TRUE(object);
  EXPECT_EQ(base::as_text((*object)->bytes()), "hello");
  EXPECT_EQ(core_->cached(id), *object);
  ASSERT_TRUE(get(core_->load(found(id), soon())));
  EXPECT_EQ(volumes_[0]->reads, 1U);
}

TEST_F(CoreReadTest, ASlowReadDoesNotBringBackWhatWasRemoved) {
  start();
  start_workers();
  const base::ObjectId id = put("doomed");
  volumes_[0]->read_takes = 5s;
  Asked<Result<ObjectPtr>> reading(node_.core(), core_->load(found(id), soon()));
  world_.run_for(1s);
  ASSERT_TRUE(get(core_->remove({id, ""}, soon())));
  world_.run_for(10s);
  ASSERT_TRUE(reading.done());
  EXPECT_TRUE(*reading);  // it began before the removal
  EXPECT_EQ(core_->cached(id), nullptr);
  EXPECT_EQ(get(core_->locate(id, {})).error().code, Code::NotFound);
}

TEST_F(CoreReadTest, BytesThatDoNotVerifyAreCountedAndWithheld) {
  start();
  start_workers();
  const base::ObjectId id = put("damaged");
  volumes_[0]->read_error = base::Error(Code::IntegrityFail, "").with("group", "0");
  EXPECT_EQ(get(core_->load(found(id), soon())).error().code, Code::IntegrityFail);
  EXPECT_EQ(core_->cached(id), nullptr);
  EXPECT_EQ(counted("integrity_fail_total"), 1U);
}

// Everyone who wants an object that is not in memory gets it from one read.
TEST_F(CoreReadTest, ConcurrentColdReadsLoadAnObjectOnce) {
  start();
  start_workers();
  const base::ObjectId id = put("wanted by many");
  volumes_[0]->read_takes = 1s;
  std::vector<std::unique_ptr<Asked<Result<ObjectPtr>>>> loads;
  for (int i = 0; i < 1000; ++i) {
    loads.push_back(
        std::make_unique<Asked<Result<ObjectPtr>>>(node_.core(), core_->load(found(id), soon())));
  }
  world_.run_for(500ms);
  EXPECT_EQ(core_->work().depth(), 0U);
  world_.run_for(1s);
  EXPECT_EQ(volumes_[0]->reads, 1U);
  for (const auto& load : loads) {
    ASSERT_TRUE(load->done() && load->operator*());
    EXPECT_EQ(**load, core_->cached(id));
  }
  EXPECT_EQ(counted("storage_cache_misses_total"), 1000U);
  EXPECT_EQ(counted("storage_loads_joined_total"), 999U);
}

TEST_F(CoreReadTest, ALoadGoesOnWithoutTheOneWhoBeganIt) {
  start();
  start_workers();
  const base::ObjectId id = put("wanted by two");
  volumes_[0]->read_takes = 1s;
  auto first =
      std::make_unique<Asked<Result<ObjectPtr>>>(node_.core(), core_->load(found(id), soon()));
  Asked<Result<ObjectPtr>> second(node_.core(), core_->load(found(id), soon()));
  world_.run_for(500ms);
  first.reset();
  world_.run_for(600ms);
  ASSERT_TRUE(second.done() && *second);
  EXPECT_EQ(volumes_[0]->reads, 1U);
}

TEST_F(CoreReadTest, EachWhoWaitsForALoadHasItsOwnDeadline) {
  start();
  start_workers();
  const base::ObjectId id = put("slow");
  volumes_[0]->read_takes = 5s;
  const runtime::Deadline hasty(world_.now() + 1s);
  Asked<Result<ObjectPtr>> first(node_.core(), core_->load(found(id), hasty));
  Asked<Result<ObjectPtr>> second(node_.core(), core_->load(found(id), soon()));
  world_.run_for(2s);
  ASSERT_TRUE(first.done());
  EXPECT_EQ(first->error().code, Code::Timeout);
  EXPECT_FALSE(second.done());
  world_.run_for(4s);
  EXPECT_TRUE(second.done() && *second);
}

// One worker, busy with a read that takes long: when the last client has left it takes the next
// job.
TEST_F(CoreReadTest, AWorkerWhoseClientsLeftIsFreeAtOnce) {
  start({"storage.read_timeout=10m"});
  start_workers();
  const base::ObjectId slow = put("slow");
  const base::ObjectId next = put("next");
  const LocatedObject there = found(slow);
  volumes_[0]->read_takes = 5min;
  {
    const Asked<Result<ObjectPtr>> one(node_.core(), core_->load(there, soon()));
    const Asked<Result<ObjectPtr>> other(node_.core(), core_->load(there, soon()));
    world_.run_for(1s);
  }
  volumes_[0]->read_takes = {};
  Asked<Result<ObjectPtr>> waiting(node_.core(), core_->load(found(next), soon()));
  world_.run_for(100ms);
  EXPECT_TRUE(waiting.done() && *waiting);
  EXPECT_EQ(counted("work_abandoned_total", "running"), 1U);
  EXPECT_EQ(core_->cached(slow), nullptr);

  volumes_[0]->read_takes = 5min;
  {
    const ReadRequest asked{
        .offset = 0, .length = 4, .deadline = soon(), .when_full = kit::WhenFull::Refuse};
    const Asked<Result<volume::Piece>> piece(node_.core(), core_->read(there, asked));
    const Asked<Result<volume::Piece>> queued(node_.core(), core_->read(there, asked));
    world_.run_for(1s);
  }
  volumes_[0]->read_takes = {};
  EXPECT_TRUE(get(core_->load(there, soon())));
  EXPECT_EQ(counted("work_abandoned_total", "running"), 2U);
  EXPECT_EQ(counted("work_abandoned_total", "queued"), 1U);
}

TEST_F(CoreReadTest, ALoadThatIsRefusedIsRefusedToAllWhoWait) {
  start({"storage.channels.work=1"});
  start_workers();
  const base::ObjectId id = put("one");
  const LocatedObject there = found(id);
  get_worker_.reset();
  const ReadRequest asked{
      .offset = 0, .length = 3, .deadline = soon(), .when_full = kit::WhenFull::Refuse};
  const Asked<Result<volume::Piece>> filling(node_.core(), core_->read(there, asked));
  world_.run_for(1s);
  EXPECT_EQ(get(core_->load(there, soon())).error().code, Code::Busy);
  EXPECT_EQ(counted("storage_loads_joined_total"), 0U);
  get_worker_.emplace(node_.core(), core_->get_worker({}));
  EXPECT_TRUE(get(core_->load(there, soon())));
}

TEST_F(CoreReadTest, ALoadThatDiesWithItsWorkerIsCanceledForAllWhoWait) {
  start();
  start_workers();
  const base::ObjectId id = put("unlucky");
  volumes_[0]->read_takes = 1s;
  Asked<Result<ObjectPtr>> one(node_.core(), core_->load(found(id), soon()));
  Asked<Result<ObjectPtr>> other(node_.core(), core_->load(found(id), soon()));
  world_.run_for(500ms);
  get_worker_.reset();
  world_.run_for(1ms);
  ASSERT_TRUE(one.done() && other.done());
  EXPECT_EQ(one->error().code, Code::Canceled);
  EXPECT_EQ(other->error().code, Code::Canceled);
  get_worker_.emplace(node_.core(), core_->get_worker({}));
  EXPECT_TRUE(get(core_->load(found(id), soon())));
}

TEST_F(CoreReadTest, ARangeOfAColdObjectReadsOnlyWhatItNeeds) {
  start();
  start_workers();
  const std::string text = noise(300'000);
  const base::ObjectId id = put(text);
  ASSERT_TRUE(core_->loads_whole(text.size()));
  const auto part = get(open_range(&*core_, {found(id), 100'000, 10}, soon()));
  ASSERT_TRUE(part);
  EXPECT_EQ(base::as_text(part->first.bytes), text.substr(100'000, 10));
  EXPECT_EQ(volumes_[0]->read_lengths, (std::vector<std::uint64_t>{10}));
  EXPECT_EQ(core_->cached(id), nullptr);
  const auto all = get(open_range(&*core_, {found(id), 0, text.size()}, soon()));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->cached, core_->cached(id));
}

TEST_F(CoreReadTest, ALookUpEndsAtItsDeadline) {
  start();
  start_workers();
  const base::ObjectId id = put("somewhere");
  volumes_[0]->locate_takes = 1h;
  const platform::TimePoint began = world_.now();
  const runtime::Deadline deadline(began + 1s);
  EXPECT_EQ(get(core_->locate(id, deadline)).error().code, Code::Timeout);
  EXPECT_EQ(get(core_->remove({id, ""}, deadline)).error().code, Code::Timeout);
  EXPECT_LT(world_.now() - began, 2s);
}

TEST_F(CoreReadTest, AStreamIsReadInAlignedPieces) {
  start({"storage.cache_bytes=0"});
  start_workers();
  const std::string text = noise(300'000);
  const base::ObjectId id = put(text);
  EXPECT_FALSE(core_->loads_whole(text.size()));
  ObjectRange range{found(id), 1000, text.size() - 1000};
  ReadRequest asked;
  asked.offset = range.offset;
  asked.length = piece_length(range.offset, range.length, core_->chunk_bytes());
  asked.deadline = soon();
  auto first = get(core_->read(range.object, asked));
  ASSERT_TRUE(first);
  ObjectSource source(*core_, std::move(range), std::move(*first));
  std::string read;
  for (;;) {
    const auto piece = get(source.next());
    ASSERT_TRUE(piece);
    if (piece->empty()) break;
    read += base::as_text(*piece);
  }
  EXPECT_EQ(read, text.substr(1000));
  EXPECT_EQ(volumes_[0]->read_lengths,
            (std::vector<std::uint64_t>{65536 - 1000, 65536, 65536, 65536, 300'000 - 4 * 65536}));
}

TEST_F(CoreReadTest, APieceIsAskedForAgainWhenItsWorkerDies) {
  start({"storage.cache_bytes=0"});
  start_workers();
  const base::ObjectId id = put("survivor");
  volumes_[0]->read_takes = 1s;
  ReadRequest asked{
      .offset = 0, .length = 8, .deadline = soon(), .when_full = kit::WhenFull::Refuse};
  Asked<Result<volume::Piece>> reading(node_.core(), core_->read(found(id), asked));
  world_.run_for(500ms);
  get_worker_.reset();
  get_worker_.emplace(node_.core(), core_->get_worker({}));
  world_.run_for(500ms);
  get_worker_.reset();
  get_worker_.emplace(node_.core(), core_->get_worker({}));
  world_.run_for(5s);
  ASSERT_TRUE(reading.done());
  ASSERT_FALSE(*reading);  // once more, not for ever
  EXPECT_EQ(reading->error().code, Code::Canceled);
  EXPECT_EQ(volumes_[0]->reads, 2U);
  EXPECT_EQ(base::as_text(get(core_->read(found(id), asked))->bytes), "survivor");
}

// Whatever moment a worker dies at: the stream goes on with the next worker, and its bytes are
// those of the object; with no worker left it fails, and never ends early as if it were whole.
TEST_F(CoreReadTest, AStreamOutlivesItsWorkerOrFails) {
  start({"storage.cache_bytes=0", "storage.read_timeout=5s"});
  start_workers();
  const std::string text = noise(300'000);
  const base::ObjectId id = put(text);
  volumes_[0]->read_takes = 1s;
  for (const bool respawned : {true, false}) {
    for (int killed = 1; killed < 5; ++killed) {
      SCOPED_TRACE(::testing::Message() << "piece " << killed << ", respawned " << respawned);
      get_worker_.emplace(node_.core(), core_->get_worker({}));
      ReadRequest asked{
          .offset = 0, .length = 65536, .deadline = soon(), .when_full = kit::WhenFull::Wait};
      auto first = get(core_->read(found(id), asked));
      ASSERT_TRUE(first);
      ObjectSource source(*core_, {found(id), 0, text.size()}, std::move(*first));
      std::string read;
      std::optional<Code> failed;
      for (int piece = 0;; ++piece) {
        Asked<Result<base::ByteView>> next(node_.core(), source.next());
        if (piece == killed) {
          world_.run_for(500ms);
          get_worker_.reset();
          if (respawned) get_worker_.emplace(node_.core(), core_->get_worker({}));
        }
        world_.run_for(20s);
        ASSERT_TRUE(next.done());
        if (!*next) failed = next->error().code;
        if (failed || (*next)->empty()) break;
        read += base::as_text(**next);
      }
      EXPECT_EQ(failed, respawned ? std::nullopt : std::optional(Code::Timeout));
      EXPECT_EQ(read, respawned ? text : text.substr(0, 65536 * static_cast<unsigned>(killed)));
    }
  }
}

}  // namespace
}  // namespace ron::storage
