// Assets and the disk: what it has, what it does not give or take, and how much of it they use.
#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "services/edge/assets.h"
#include "services/edge/test_assets.h"

namespace ron::edge {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::Asked;
using testing::fresh_for;
using testing::kUrl;
using testing::noise;
using testing::OriginAnswer;

class AssetsOnDisk : public testing::AssetsTest {};

TEST_F(AssetsOnDisk, LargeBodiesAreStreamedFromDisk) {
  for (const bool says_length : {true, false}) {
    const std::string target =
        says_length ? "/edge/assets/example.org/big" : "/edge/assets/example.org/chunked";
    start();
    answer_.says_length = says_length;
    answer_.body = noise(11'000'123, says_length ? 1 : 2);
    const Answer miss = get(target);
    EXPECT_EQ(miss.status, 200);
    EXPECT_TRUE(miss.body == answer_.body);
    const Answer hit = get(target);
    EXPECT_EQ(hit.field("X-Cache"), "hit");
    EXPECT_TRUE(hit.body == answer_.body);
    const Answer part = get(target, "Range: bytes=10000000-10000999\r\n");
    EXPECT_EQ(part.status, 206);
    EXPECT_TRUE(part.body == answer_.body.substr(10'000'000, 1000));
    EXPECT_EQ(get(target, "", "HEAD").status, 200);
    life_->settle();
    const auto stats = life_->core().assets().store()->volume().stats();
    EXPECT_EQ(stats.uploads, 0U);
    EXPECT_EQ(stats.objects, says_length ? 1U : 2U);
    life_->stop();
  }
}

TEST_F(AssetsOnDisk, ARestartKeepsWhatIsThere) {
  start();
  get();
  answer_.body = noise(300'000);
  get("/edge/assets/example.org/b");
  life_->stop();
  start();
  EXPECT_EQ(life_->table().entries(), 2U);
  const Answer hit = get();
  EXPECT_EQ(hit.body, "hello");
  EXPECT_EQ(hit.field("X-Cache"), "hit");
  EXPECT_TRUE(get("/edge/assets/example.org/b").body == answer_.body);
  EXPECT_EQ(asked(), 2U);
}

TEST_F(AssetsOnDisk, DamagedBytesAreFilledAgainAndNeverServed) {
  start();
  answer_.body = noise(200'000);
  get();
  life_->stop();
  life_.reset();
  bool flipped = false;
  for (std::uint64_t at = 60'000; at < 61'000; ++at) {
    flipped |= node_.disk().flip_bit("/edge/objects/segments/0000000001.seg", at, 3);
  }
  ASSERT_TRUE(flipped);
  start();
  const Answer again = get();
  EXPECT_EQ(again.status, 200);
  EXPECT_TRUE(again.body == answer_.body);
  EXPECT_EQ(again.field("X-Cache"), "miss");
  EXPECT_EQ(asked(), 2U);
  EXPECT_EQ(get().field("X-Cache"), "hit");
}

// What a disk does not give in one moment it may give in the next.
TEST_F(AssetsOnDisk, TroubleOfTheDiskForgetsNothing) {
  start({"edge.cache.ram_bytes=0"});
  answer_.body = noise(200'000);
  get();
  const AssetPtr copy = life_->table().find("https://example.org/a.txt", {}).asset;
  const std::size_t before = asked();
  node_.disk().fail_next(platform::sim::DiskOp::Read, 1);
  // The origin is asked instead, without conditions, and the copy stays.
  const Answer through = get();
  EXPECT_EQ(through.status, 200);
  EXPECT_TRUE(through.body == answer_.body);
  EXPECT_EQ(through.field("X-Cache"), "miss");
  EXPECT_EQ(asked(), before + 1);
  EXPECT_TRUE(origins_.asked.back().validators.etag.empty());
  EXPECT_TRUE(life_->table().has(*copy));
  const Answer again = get();
  EXPECT_EQ(again.field("X-Cache"), "hit");
  EXPECT_TRUE(again.body == answer_.body);
  EXPECT_EQ(asked(), before + 1);
}

TEST_F(AssetsOnDisk, TroubleOfTheDiskIsSaidOfLargeOnes) {
  start({"edge.cache.ram_bytes=0"});
  answer_.body = noise(11'000'000);
  get();
  const std::size_t before = asked();
  node_.disk().fail_next(platform::sim::DiskOp::Read, 1);
  EXPECT_EQ(get().status, 503) << "from its origin it would pass through the disk as well";
  const Answer again = get();
  EXPECT_EQ(again.field("X-Cache"), "hit");
  EXPECT_TRUE(again.body == answer_.body);
  EXPECT_EQ(asked(), before);
}

TEST_F(AssetsOnDisk, TroubleOfTheDiskIsSaidWhenNobodyElseHasIt) {
  for (const std::size_t size : {200'000U, 11'000'000U}) {
    const std::string target = "/edge/assets/example.org/" + std::to_string(size);
    start({"edge.cache.ram_bytes=0"});
    answer_.body = noise(size);
    get(target);
    life_->stop();
    life_.reset();
    life_.emplace(world_, node_, origins_,
                  std::vector<std::string>{"edge.mode=offline", "edge.cache.ram_bytes=0"}, "/edge");
    const std::size_t before = asked();
    node_.disk().fail_next(platform::sim::DiskOp::Read, 1);
    EXPECT_EQ(get(target).status, 503);
    EXPECT_EQ(get(target).field("X-Cache"), "hit");
    // A copy past its time is as good as it was, too.
    world_.run_for(61s);
    node_.disk().fail_next(platform::sim::DiskOp::Read, 1);
    EXPECT_EQ(get(target).status, 503);
    EXPECT_EQ(get(target).field("X-Cache"), "stale");
    EXPECT_EQ(asked(), before);
    life_->stop();
  }
}

TEST_F(AssetsOnDisk, TheDiskIsBoundedAndWhatIsAskedForStays) {
  start({"edge.cache.bytes=1MiB", "edge.cache.ram_bytes=0"});
  const std::string wanted(20'000, 'w');
  origins_.script = [&](const FetchRequest& request) {
    OriginAnswer answer;
    answer.body = request.target == "/wanted" ? wanted : noise(20'000, asked());
    answer.fields = fresh_for(100'000);
    answer.takes = 1ms;
    return answer;
  };
  get("/edge/assets/example.org/wanted");
  get("/edge/assets/example.org/wanted");
  for (int i = 0; i < 300; ++i) {
    get("/edge/assets/example.org/scan/" + std::to_string(i));
    if (i % 10 == 0) EXPECT_EQ(get("/edge/assets/example.org/wanted").field("X-Cache"), "hit");
    EXPECT_LE(life_->table().bytes(), base::kMiB);
  }
  life_->settle();
  const auto stats = life_->core().assets().store()->volume().stats();
  EXPECT_LE(stats.object_bytes, base::kMiB);
  EXPECT_EQ(stats.objects, life_->table().entries());
  EXPECT_GT(life_->counted("edge_evictions_total"), 200U);
}

// What is let go is freed in the background; a burst that is faster than that is not kept.
TEST_F(AssetsOnDisk, ABurstTakesNoMoreOfTheDiskThanItMay) {
  start({"edge.cache.bytes=1MiB", "edge.cache.ram_bytes=1MiB", "edge.workers=4"});
  origins_.script = [&](const FetchRequest&) {
    OriginAnswer answer;
    answer.body = noise(900'000, asked());
    answer.fields = fresh_for(100'000);
    answer.takes = 100us;
    return answer;
  };
  std::uint64_t most = 0;
  std::vector<std::unique_ptr<Asked>> burst;
  for (int i = 0; i < 400; ++i) {
    burst.push_back(life_->ask("/edge/assets/example.org/" + std::to_string(i)));
    world_.run_for(1ms);
    most = std::max(most, life_->core().assets().store()->volume().stats().stored_bytes);
  }
  life_->run_until(
      [&] { return std::ranges::all_of(burst, [](auto& one) { return one->done(); }); });
  for (const auto& one : burst) EXPECT_EQ((*one)->status, 200);
  std::uint64_t bound = 4 * 900'000;  // being written
  bound += 2 * base::kMiB + 4 * 8 * base::kMiB;
  EXPECT_LE(most, bound);
  EXPECT_GT(most, bound / 2);
  // And then it is used again.
  world_.run_for(10s);
  EXPECT_LE(life_->core().assets().store()->volume().stats().stored_bytes, 10 * base::kMiB);
  get("/edge/assets/example.org/after");
  EXPECT_FALSE(life_->table().find("https://example.org/after", {}).asset->facts.hold.empty());
}

TEST_F(AssetsOnDisk, WithoutADiskEverythingIsInMemoryOrRefused) {
  start({"edge.cache.ram_bytes=1MiB"}, true);
  EXPECT_EQ(get().field("X-Cache"), "miss");
  EXPECT_EQ(get().field("X-Cache"), "hit");
  answer_.body = noise(2'000'000);
  const Answer refused = get("/edge/assets/example.org/big");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("Amnesia"), std::string::npos);
  EXPECT_EQ(life_->counted("edge_rejects_total", "amnesia"), 1U);
  answer_.body = noise(100'000);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(get("/edge/assets/example.org/" + std::to_string(i)).status, 200);
  }
  EXPECT_LE(life_->core().loader().memory().used_bytes(), base::kMiB);
  EXPECT_TRUE(get("/edge/assets/example.org/0").body == answer_.body);
}

TEST_F(AssetsOnDisk, ADiskThatIsFullStillLetsAnswersThrough) {
  start();
  get();
  node_.disk().fail_next(platform::sim::DiskOp::Sync, 1000);
  answer_.body = "other";
  const Answer through = get("/edge/assets/example.org/other");
  EXPECT_EQ(through.status, 200);
  EXPECT_EQ(through.body, "other");
  // It is in memory, and no further request is made of the origin.
  const std::size_t before = asked();
  EXPECT_EQ(get("/edge/assets/example.org/other").field("X-Cache"), "hit");
  EXPECT_EQ(asked(), before);
  life_->settle();
  EXPECT_EQ(life_->core().assets().store()->volume().stats().objects, 1U);
}

// What is in memory only is gone with it, and filled again.
TEST_F(AssetsOnDisk, WhatTheDiskDidNotTakeMayLeaveMemory) {
  start({"edge.cache.ram_bytes=1MiB"});
  node_.disk().fail_next(platform::sim::DiskOp::Sync, 1000);
  answer_.body = noise(100'000);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(get("/edge/assets/example.org/" + std::to_string(i)).status, 200);
  }
  const Answer again = get("/edge/assets/example.org/0");
  EXPECT_EQ(again.status, 200);
  EXPECT_TRUE(again.body == answer_.body);
}

}  // namespace
}  // namespace ron::edge
