// Objects that several tenants hold, on a simulated disk.
#include "volume/holds.h"

#include <memory>
#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "volume/map_key_value.h"
#include "volume/test_volume.h"

namespace ron::volume {
namespace {

using namespace std::chrono_literals;
using base::Code;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kFirstSegment = "/data/segments/0000000001.seg";

class HoldsTest : public ::testing::Test {
 protected:
  HoldsTest() { start(); }

  void start() { life_.emplace(machine_, small_options()); }
  // Stops, and starts again with the index made anew if it is lost.
  void restart(bool index_is_lost) {
    life_->stop();
    life_.reset();
    for (int i = 1; index_is_lost && i < 9; ++i) {
      machine_.node.key_values().damage("/data/index." + std::to_string(i));
    }
    start();
    life_->wait_readable();
  }
  DiskVolume& volume() { return life_->volume(); }

  base::Result<Added> put(const std::string& tenant) {
    return volume::put(machine_, volume(), object_, tenant).get();
  }
  base::Result<Removed> remove(std::optional<std::string> tenant) {
    return volume::remove(machine_, volume(), id_, std::move(tenant)).get();
  }
  std::vector<std::string> holders(std::size_t most = 10) {
    const auto found = run(machine_, volume().holders(id_, most, {}));
    return found ? found->tenants : std::vector<std::string>();
  }
  bool is_there() { return get(machine_, volume(), id_).has_value(); }
  // Until nothing is left that compaction could give back.
  void compact() {
    for (int i = 0; i < 3; ++i) {
      volume().request_compaction();
      machine_.world.run_for(1s);
    }
  }

  Machine machine_{1};
  std::optional<Life> life_;
  const std::vector<std::byte> object_ = sample_bytes(1000, 1);
  const base::ObjectId id_ = b3::hash(object_);
};

TEST_F(HoldsTest, NobodyRemovesWhatAnotherHolds) {
  EXPECT_TRUE(put("acme")->is_new);
  EXPECT_EQ(remove("birch").error().code, Code::NotFound);
  EXPECT_FALSE(put("birch")->is_new);
  EXPECT_THAT(holders(), ElementsAre("acme", "birch"));
  const auto first = remove("acme");
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->length, 1000U);
  EXPECT_FALSE(first->gone);
  EXPECT_TRUE(is_there());
  EXPECT_EQ(remove("acme").error().code, Code::NotFound);
  EXPECT_TRUE(remove("birch")->gone);
  EXPECT_FALSE(is_there());
  EXPECT_EQ(remove("birch").error().code, Code::NotFound);
}

// They are looked at in turns, none twice and none left out.
TEST_F(HoldsTest, EveryoneIsCountedHoweverManyThereAre) {
  constexpr std::size_t kMany = 1500;
  for (std::size_t i = 0; i < kMany; ++i) static_cast<void>(put("t" + std::to_string(i)));
  const TenantUsage tenants = volume().tenants(5);
  EXPECT_EQ(tenants.largest.size(), 5U);
  EXPECT_EQ(tenants.all, (Usage{kMany * 1000, kMany}));
}

TEST_F(HoldsTest, EveryoneWhoHoldsItPays) {
  static_cast<void>(put("acme"));
  static_cast<void>(put("birch"));
  static_cast<void>(put("birch"));
  EXPECT_EQ(volume().usage("acme"), (Usage{1000, 1}));
  EXPECT_EQ(volume().usage("birch"), (Usage{1000, 1}));
  EXPECT_EQ(volume().stats().objects, 1U);
  EXPECT_EQ(volume().stats().object_bytes, 1000U);
  static_cast<void>(remove("acme"));
  EXPECT_EQ(volume().usage("acme"), Usage{});
  EXPECT_EQ(volume().stats().objects, 1U);
  const TenantUsage tenants = volume().tenants(5);
  ASSERT_EQ(tenants.largest.size(), 1U);
  EXPECT_EQ(tenants.largest[0].name, "birch");
  static_cast<void>(remove("birch"));
  EXPECT_EQ(volume().stats().objects, 0U);
  EXPECT_EQ(volume().stats().object_bytes, 0U);
}

TEST_F(HoldsTest, AHoldCostsOneSmallRecordAndASecondOneNothing) {
  static_cast<void>(put("acme"));
  const std::uint64_t before = volume().stats().stored_bytes;
  static_cast<void>(put("birch"));
  const std::uint64_t with_hold = volume().stats().stored_bytes;
  EXPECT_GT(with_hold, before);
  EXPECT_LT(with_hold, before + 256);
  static_cast<void>(put("birch"));
  static_cast<void>(put("acme"));
  EXPECT_EQ(volume().stats().stored_bytes, with_hold);
}

TEST_F(HoldsTest, ACommittedUploadIsHeldByItsTenant) {
  const UploadId id(1, 2, 3);
  static_cast<void>(put("acme"));
  static_cast<void>(begin(machine_, volume(), {id, 1000, id_, "birch", 0}).get());
  static_cast<void>(put_part(machine_, volume(), id, 0, object_).get());
  EXPECT_FALSE(commit(machine_, volume(), id).get()->is_new);
  EXPECT_THAT(holders(), ElementsAre("acme", "birch"));
  EXPECT_TRUE(commit(machine_, volume(), id).get().has_value());
  static_cast<void>(remove("birch"));
  EXPECT_EQ(commit(machine_, volume(), id).get().error().code, Code::NotFound);
  EXPECT_THAT(holders(), ElementsAre("acme"));
}

TEST_F(HoldsTest, AreKeptByRestartsRebuildsAndCompactions) {
  static_cast<void>(put("acme"));
  static_cast<void>(put("birch"));
  static_cast<void>(put("cedar"));
  static_cast<void>(remove("acme"));   // the tenant of the object's own record
  static_cast<void>(remove("cedar"));  // one that was added
  for (const bool index_is_lost : {false, true, true}) {
    restart(index_is_lost);
    EXPECT_THAT(holders(), ElementsAre("birch"));
    EXPECT_EQ(volume().usage("acme"), Usage{});
    EXPECT_EQ(volume().usage("birch"), (Usage{1000, 1}));
    EXPECT_EQ(volume().usage("cedar"), Usage{});
    compact();
    EXPECT_THAT(holders(), ElementsAre("birch"));
  }
  EXPECT_EQ(remove("acme").error().code, Code::NotFound);
  EXPECT_TRUE(remove("birch")->gone);
  compact();
  restart(true);
  EXPECT_THAT(holders(), IsEmpty());
  // Only its tombstone is left.
  EXPECT_EQ(volume().stats().stored_bytes,
            kSegmentHeadBytes + aligned(kFixedHeadBytes + 4 + kChecksumBytes));
}

// The object's own record goes on naming the tenant it began with; of the others nothing is left.
TEST_F(HoldsTest, ARemovedHoldIsForgottenOnceNothingSaysOtherwise) {
  for (const char* tenant : {"acme", "birch", "cedar"}) static_cast<void>(put(tenant));
  static_cast<void>(remove("acme"));
  static_cast<void>(remove("cedar"));
  const auto recorded = [this](const char* tenant) {
    return machine_.node.key_values().value_at("/data/index.1", hold_key(id_, tenant)) != nullptr;
  };
  EXPECT_TRUE(recorded("acme") && recorded("cedar"));
  compact();
  EXPECT_TRUE(recorded("acme"));
  EXPECT_FALSE(recorded("cedar"));
  restart(true);
  EXPECT_THAT(holders(), ElementsAre("birch"));
}

TEST_F(HoldsTest, OfAnObjectThatWasRemovedOutrightNeverComeBack) {
  static_cast<void>(put("acme"));
  static_cast<void>(put("birch"));
  EXPECT_TRUE(remove(std::nullopt)->gone);
  EXPECT_EQ(volume().usage("birch"), Usage{});
  EXPECT_TRUE(put("cedar")->is_new);
  for (const bool index_is_lost : {false, true, true}) {
    EXPECT_THAT(holders(), ElementsAre("cedar"));
    EXPECT_EQ(volume().usage("acme"), Usage{});
    EXPECT_EQ(volume().usage("birch"), Usage{});
    compact();
    restart(index_is_lost);
  }
  EXPECT_TRUE(remove("cedar")->gone);
}

TEST_F(HoldsTest, OnlySomeAreListed) {
  for (const char* tenant : {"d", "b", "a", "c"}) static_cast<void>(put(tenant));
  EXPECT_THAT(holders(3), ElementsAre("a", "b", "c"));
  EXPECT_TRUE(run(machine_, volume().holders(id_, 3, {}))->more);
  EXPECT_FALSE(run(machine_, volume().holders(id_, 4, {}))->more);
  EXPECT_EQ(run(machine_, volume().holders(base::ObjectId(), 4, {})).error().code, Code::NotFound);
}

// Whoever stores a damaged object anew takes nobody's hold, wherever in its writes the power goes.
TEST(Holds, OutliveTheDamageOfTheObject) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Machine machine(seed);
    const auto object = sample_bytes(1000, 1);
    const base::ObjectId id = b3::hash(object);
    auto life = std::make_unique<Life>(machine, small_options());
    for (const char* tenant : {"acme", "birch", "cedar"}) {
      ASSERT_TRUE(put(machine, life->volume(), object, tenant).get().has_value());
    }
    ASSERT_TRUE(remove(machine, life->volume(), id, "acme").get().has_value());
    constexpr std::uint64_t kPayload = kSegmentHeadBytes + kFixedHeadBytes + 4 + kChecksumBytes;
    ASSERT_TRUE(machine.node.disk().flip_bit(kFirstSegment, kPayload, 1));
    ASSERT_FALSE(get(machine, life->volume(), id).has_value());
    machine.run_until([&] { return life->volume().stats().quarantined == 1; });
    auto again = put(machine, life->volume(), object, "dill");
    if (seed % 4 != 0) {
      machine.world.run_for(std::chrono::microseconds(seed * 25));
    } else {
      ASSERT_TRUE(again.get()->is_new);
    }
    const bool acknowledged = again.done();
    machine.node.power_cut();
    life.reset();
    machine.node.restart();
    if (seed % 2 == 0) machine.node.key_values().damage("/data/index.1");
    life = std::make_unique<Life>(machine, small_options());
    life->wait_readable();
    DiskVolume& volume = life->volume();
    const auto found = run(machine, volume.holders(id, 10, {}));
    ASSERT_TRUE(found.has_value());
    const std::set<std::string> all(found->tenants.begin(), found->tenants.end());
    EXPECT_TRUE(all.contains("birch") && all.contains("cedar")) << "seed " << seed;
    EXPECT_FALSE(all.contains("acme")) << "seed " << seed;
    EXPECT_TRUE(all.contains("dill") || !acknowledged) << "seed " << seed;
    for (const std::string& tenant : all) EXPECT_EQ(volume.usage(tenant), (Usage{1000, 1}));
    EXPECT_EQ(volume.stats().objects, 1U) << "seed " << seed;
  }
}

// An index from before objects could have several holders says nothing of all of them together.
TEST(Holds, AnOlderIndexIsAddedUp) {
  Machine machine(1);
  MapKeyValue index;
  platform::KeyValueBatch batch;
  batch.put(usage_key("acme"), encode(Usage{10, 1}));
  batch.put(usage_key("birch"), encode(Usage{20, 2}));
  ASSERT_TRUE(run(machine, index.write(std::move(batch))).has_value());
  EXPECT_EQ(run(machine, load_ledger(&index))->total, (Usage{30, 3}));
  platform::KeyValueBatch newer;
  newer.put(total_key(), encode(Usage{25, 2}));
  ASSERT_TRUE(run(machine, index.write(std::move(newer))).has_value());
  EXPECT_EQ(run(machine, load_ledger(&index))->total, (Usage{25, 2}));
}

}  // namespace
}  // namespace ron::volume
