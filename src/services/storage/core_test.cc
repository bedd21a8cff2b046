#include "services/storage/core.h"

#include <string>

#include <gtest/gtest.h>

#include "b3/hash.h"
#include "services/storage/test_core.h"

namespace ron::storage {
namespace {

using namespace std::chrono_literals;
using base::Code;
using base::Result;
using platform::test::Root;
using testing::buffer;
using testing::noise;
using testing::TestVolume;

using CoreTest = testing::CoreFixture;

// Streams under way are as many as there are connections: they leave room for new requests.
TEST_F(CoreTest, ReadsThatWaitLeaveHalfOfTheQueueToOthers) {
  start({"storage.channels.work=4"});
  start_workers();
  const base::ObjectId id = put("hello");
  const LocatedObject at = found(id);
  get_worker_.reset();
  std::vector<std::unique_ptr<Asked<Result<volume::Piece>>>> pieces;
  for (int i = 0; i < 10; ++i) {
    const ReadRequest asked{
        .offset = 0, .length = 5, .deadline = soon(), .when_full = kit::WhenFull::Wait};
    pieces.push_back(
        std::make_unique<Asked<Result<volume::Piece>>>(node_.core(), core_->read(at, asked)));
  }
  world_.run_for(1s);
  EXPECT_EQ(core_->work().depth(), 2U);
  EXPECT_TRUE(core_->check_room());
  put("another");
  get_worker_.emplace(node_.core(), core_->get_worker({}));
  world_.run_for(1s);
  for (const auto& piece : pieces) EXPECT_TRUE(piece->done() && (*piece)->has_value());
}

TEST_F(CoreTest, AnObjectIsGoneFromMemoryBeforeItsRemovalIsAnswered) {
  start();
  start_workers();
  const base::ObjectId id = put("doomed");
  ASSERT_TRUE(get(core_->load(found(id), soon())));
  volumes_[0]->hold_removes = true;
  Asked<Result<void>> removal(node_.core(), core_->remove({id, ""}, soon()));
  world_.run_for(1s);
  EXPECT_FALSE(removal.done());
  volumes_[0]->release_removes();
  EXPECT_EQ(core_->cached(id), nullptr);
  world_.run_for(1s);
  ASSERT_TRUE(removal.done());
  EXPECT_TRUE(*removal);
}

TEST_F(CoreTest, AnObjectIsGoneFromMemoryAlsoWhenTheClientHasLeft) {
  start();
  start_workers();
  const base::ObjectId id = put("doomed");
  ASSERT_TRUE(get(core_->load(found(id), soon())));
  volumes_[0]->hold_removes = true;
  {
    const Asked<Result<void>> removal(node_.core(), core_->remove({id, ""}, soon()));
    world_.run_for(1s);
  }
  volumes_[0]->release_removes();
  EXPECT_EQ(core_->cached(id), nullptr);
}

TEST_F(CoreTest, AFullQueueIsToldAtOnceAndStreamsWait) {
  start({"storage.channels.work=1", "storage.cache_bytes=0"});
  start_workers();
  const base::ObjectId id = put("queued");
  const LocatedObject there = found(id);
  get_worker_.reset();
  ReadRequest asked{
      .offset = 0, .length = 6, .deadline = soon(), .when_full = kit::WhenFull::Refuse};
  Asked<Result<volume::Piece>> queued(node_.core(), core_->read(there, asked));
  world_.run_for(1s);
  EXPECT_EQ(get(core_->read(there, asked)).error().code, Code::Busy);
  EXPECT_EQ(core_->check_room().error().code, Code::Busy);
  asked.when_full = kit::WhenFull::Wait;
  Asked<Result<volume::Piece>> waiting(node_.core(), core_->read(there, asked));
  world_.run_for(1s);
  EXPECT_FALSE(waiting.done());
  get_worker_.emplace(node_.core(), core_->get_worker({}));
  world_.run_for(1s);
  ASSERT_TRUE(queued.done() && waiting.done());
  EXPECT_TRUE(*queued);
  EXPECT_TRUE(*waiting);
}

TEST_F(CoreTest, WorkNobodyWaitsForIsSkipped) {
  start({"storage.cache_bytes=0"});
  start_workers();
  const base::ObjectId id = put("unwanted");
  const LocatedObject there = found(id);
  get_worker_.reset();
  ReadRequest asked{
      .offset = 0, .length = 8, .deadline = soon(), .when_full = kit::WhenFull::Refuse};
  {
    const Asked<Result<volume::Piece>> gone(node_.core(), core_->read(there, asked));
    world_.run_for(1s);
  }
  get_worker_.emplace(node_.core(), core_->get_worker({}));
  world_.run_for(1s);
  EXPECT_EQ(volumes_[0]->reads, 0U);
  EXPECT_EQ(core_->work().depth(), 0U);
}

TEST_F(CoreTest, QuotasCountWhatIsHeldAndSpareWhatIsHeldAlready) {
  start({"storage.quota.bytes=10"});
  start_workers();
  put("12345", "a");
  put("12345678", "b");
  const auto refused = get(core_->put({buffer("123456"), std::nullopt, "a"}, soon()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Quota);
  // What others store costs whoever wants to hold it, too.
  EXPECT_EQ(get(core_->put({buffer("12345678"), std::nullopt, "a"}, soon())).error().code,
            Code::Quota);
  EXPECT_FALSE(get(core_->put({buffer("12345678"), std::nullopt, "b"}, soon()))->is_new);
  ASSERT_TRUE(get(core_->remove({b3::hash(base::as_bytes("12345")), "a"}, soon())));
  put("123456", "a");
}

TEST_F(CoreTest, AnUploadReservesItsLengthUntilItEnds) {
  start({"storage.quota.bytes=10"});
  start_workers();
  const auto begun = get(core_->begin_upload({8, std::nullopt, "a"}, soon()));
  ASSERT_TRUE(begun);
  EXPECT_EQ(get(core_->put({buffer("123"), std::nullopt, "a"}, soon())).error().code, Code::Quota);
  ASSERT_TRUE(get(core_->abort_upload(begun->id, "a", soon())));
  put("123", "a");
}

TEST_F(CoreTest, AnExpiredUploadLetsGoOfItsQuota) {
  start({"storage.quota.bytes=10", "storage.uploads.expire_after=1h"});
  start_workers();
  ASSERT_TRUE(get(core_->begin_upload({8, std::nullopt, "a"}, soon())));
  ASSERT_TRUE(get(core_->begin_upload({8, std::nullopt, "b"}, soon())));
  EXPECT_EQ(get(core_->put({buffer("123"), std::nullopt, "a"}, soon())).error().code, Code::Quota);
  world_.run_for(1h + 1s);
  put("123", "a");
  EXPECT_EQ(core_->quotas().standing("a").reserved, volume::Usage{});
  EXPECT_EQ(core_->quotas().standing("b").reserved, volume::Usage{});
}

TEST_F(CoreTest, WhatOthersHoldStaysInMemoryAndOnTheVolume) {
  start();
  start_workers();
  const base::ObjectId id = put("hello", "a");
  put("hello", "b");
  ASSERT_TRUE(get(core_->load(found(id), soon())));
  EXPECT_EQ(get(core_->remove({id, "c"}, soon())).error().code, Code::NotFound);
  ASSERT_TRUE(get(core_->remove({id, "a"}, soon())));
  EXPECT_NE(core_->cached(id), nullptr);
  EXPECT_EQ(get(core_->remove({id, "a"}, soon())).error().code, Code::NotFound);
  ASSERT_TRUE(get(core_->remove({id, "b"}, soon())));
  EXPECT_EQ(core_->cached(id), nullptr);
  EXPECT_EQ(get(core_->locate(id, {})).error().code, Code::NotFound);
}

TEST_F(CoreTest, AnOutrightRemovalLeavesNoHold) {
  start({"storage.quota.bytes=10"});
  start_workers();
  const base::ObjectId id = put("1234567", "a");
  put("1234567", "b");
  ASSERT_TRUE(get(core_->remove({id, std::nullopt}, soon())));
  EXPECT_EQ(get(core_->locate(id, {})).error().code, Code::NotFound);
  put("12345678", "a");
  put("12345678", "b");
}

// On two volumes at once, which a race may do: each tenant goes on where it is.
TEST_F(CoreTest, ATenantHoldsAnObjectOnOneVolumeOnly) {
  start({}, {10 * base::kMiB, 20 * base::kMiB});
  start_workers();
  const std::string text = noise(base::kMiB);
  const base::ObjectId id = b3::hash(base::as_bytes(text));
  const auto put_on = [&](TestVolume* volume, const std::string& tenant) {
    auto [sender, receiver] = runtime::oneshot<Result<volume::Added>>();
    const Root root(node_.core(),
                    volume->put({id, buffer(text), tenant, {}}, soon(), std::move(sender)));
    world_.run_for(1s);
    EXPECT_TRUE(*get(receiver.recv(soon())));
  };
  put_on(volumes_[0], "a");
  put_on(volumes_[1], "b");
  put(text, "b");
  put(text, "c");
  EXPECT_EQ(core_->volumes().usage("b").objects, 1U);
  const auto holders = get(core_->volumes().holders(id, 10, {}));
  ASSERT_TRUE(holders);
  EXPECT_EQ(holders->tenants, (std::vector<std::string>{"a", "b", "c"}));
  ASSERT_TRUE(get(core_->remove({id, "a"}, soon())));
  ASSERT_TRUE(get(core_->remove({id, "b"}, soon())));
  EXPECT_TRUE(get(core_->locate(id, {})));
  ASSERT_TRUE(get(core_->remove({id, "c"}, soon())));
  EXPECT_EQ(get(core_->locate(id, {})).error().code, Code::NotFound);
}

TEST_F(CoreTest, ObjectsGoWhereThereIsRoomAndAreStoredOnce) {
  start({}, {10 * base::kMiB, 20 * base::kMiB});
  start_workers();
  const base::ObjectId id = put(noise(base::kMiB));
  EXPECT_EQ(found(id).volume, volumes_[1]);
  for (std::size_t i = 1; i <= 12; ++i) put(noise(base::kMiB - i));
  EXPECT_GT(volumes_[0]->stats().objects, 0U);
  EXPECT_LT(volumes_[1]->stats().free_bytes, 12 * base::kMiB);
  EXPECT_FALSE(get(core_->put({buffer(noise(base::kMiB)), std::nullopt, ""}, soon()))->is_new);
  EXPECT_EQ(core_->volumes().totals().objects, 13U);
  const auto listed = get(core_->volumes().list(std::nullopt, 5, {}));
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->size(), 5U);
  ASSERT_TRUE(get(core_->remove({id, ""}, soon())));
  EXPECT_EQ(get(core_->remove({id, ""}, soon())).error().code, Code::NotFound);
}

TEST_F(CoreTest, UploadsAreFoundAgainAfterARestart) {
  start();
  start_workers();
  volume::Upload upload;
  upload.id = volume::UploadId(1, 2, 3);
  upload.length = 3;
  upload.tenant = "a";
  upload.expires_unix_s = world_.unix_ms() / 1000 + 60;
  auto [sender, receiver] = runtime::oneshot<Result<bool>>();
  Root begun(node_.core(), volumes_[0]->begin_upload(upload, soon(), std::move(sender)));
  world_.run_for(1s);
  EXPECT_EQ(get(core_->open_upload(upload.id, "b", soon())).error().code, Code::NotFound);
  const auto open = get(core_->open_upload(upload.id, "a", soon()));
  ASSERT_TRUE(open);
  EXPECT_TRUE(get(core_->put_part(*open, 0, buffer("abc"), soon())));
  EXPECT_EQ(get(core_->commit_upload(upload.id, "a", soon()))->id, b3::hash(base::as_bytes("abc")));
  // Again, for whom it belongs to: the first answer may have been lost.
  const auto again = get(core_->commit_upload(upload.id, "a", soon()));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->id, b3::hash(base::as_bytes("abc")));
  EXPECT_EQ(again->length, 3U);
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(get(core_->commit_upload(upload.id, "b", soon())).error().code, Code::NotFound);
  EXPECT_EQ(get(core_->upload_state(upload.id, "a", soon())).error().code, Code::NotFound);
  EXPECT_EQ(get(core_->open_upload(upload.id, "a", soon())).error().code, Code::NotFound);
  world_.run_for(2min);
  EXPECT_EQ(get(core_->commit_upload(upload.id, "a", soon())).error().code, Code::NotFound);
  EXPECT_EQ(get(core_->open_upload(upload.id, "a", soon())).error().code, Code::NotFound);
}

}  // namespace
}  // namespace ron::storage
