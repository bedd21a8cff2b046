// What a volume does when the medium lies, fails or is full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "volume/test_volume.h"

namespace ron::volume {
namespace {

using namespace std::chrono_literals;
using base::Code;
using platform::sim::DiskOp;

constexpr const char* kFirstSegment = "/data/segments/0000000001.seg";

// Where the first record of the segment keeps its payload, for a tenant of four letters.
constexpr std::uint64_t kFirstPayload = kSegmentHeadBytes + kFixedHeadBytes + 4 + kChecksumBytes;

template <class Predicate>
bool eventually(Machine& machine, Predicate predicate) {
  return machine.world.run_until(predicate, 10min) == platform::sim::Outcome::Done;
}

template <class Change>
void forge_entry(Machine& machine, const base::ObjectId& id, Change change) {
  std::string* const value = machine.node.key_values().value_at("/data/index.1", object_key(id));
  ASSERT_NE(value, nullptr);
  auto entry = parse_entry<ObjectEntry>(*value);
  ASSERT_TRUE(entry.has_value());
  change(*entry);
  *value = encode(*entry);
}

TEST(DiskVolume, DamagedBytesAreWithheldAndQuarantined) {
  Machine machine(1);
  Life life(machine, small_options());
  const auto object = sample_bytes(1000, 1);
  const base::ObjectId id = b3::hash(object);
  static_cast<void>(put(machine, life.volume(), object).get());
  ASSERT_TRUE(machine.node.disk().flip_bit(kFirstSegment, kFirstPayload + 10, 3));
  EXPECT_EQ(get(machine, life.volume(), id).error().code, Code::IntegrityFail);
  ASSERT_EQ(life.corrupt.size(), 1U);
  EXPECT_EQ(life.corrupt[0].first, id);
  EXPECT_TRUE(eventually(machine, [&] { return life.volume().stats().quarantined == 1; }));
  EXPECT_EQ(get(machine, life.volume(), id).error().code, Code::IntegrityFail);
  EXPECT_EQ(life.corrupt.size(), 1U) << "known damage is not reported again";
  // Stored anew, it is well.
  EXPECT_TRUE(put(machine, life.volume(), object).get()->is_new);
  EXPECT_EQ(life.volume().stats().quarantined, 0U);
  EXPECT_EQ(life.volume().usage("acme").objects, 1U);
  EXPECT_EQ(get(machine, life.volume(), id), object);
}

// Nothing of an empty object is read, so its address alone says whether it is one.
TEST(DiskVolume, NothingIsServedUnderAnotherAddressThanItsOwn) {
  Machine machine(1);
  Life life(machine, small_options());
  const base::ObjectId wrong = b3::hash(sample_bytes(10, 1));
  const auto put_empty = [&](const base::ObjectId& id) {
    return Write<Added>(machine, [&](Reply<Added> reply) {
      return life.volume().put({id, base::Buffer(), "acme", {}}, runtime::Deadline(),
                               std::move(reply));
    });
  };
  ASSERT_TRUE(put_empty(b3::hash({})).get().has_value());
  ASSERT_TRUE(put_empty(wrong).get().has_value());  // as damage of the index might have it
  EXPECT_TRUE(get(machine, life.volume(), b3::hash({})).has_value());
  EXPECT_EQ(run(machine, life.volume().locate(wrong, {})).error().code, Code::IntegrityFail);
  EXPECT_TRUE(eventually(machine, [&] { return life.volume().stats().quarantined == 1; }));
}

// What was read before is still checked each time.
TEST(DiskVolume, DamageAfterTheFirstReadIsNoticed) {
  for (const std::size_t size : {std::size_t{1000}, std::size_t{65'536}, std::size_t{200'000}}) {
    Machine machine(1);
    Life life(machine, small_options());
    const auto object = sample_bytes(size, 1);
    const base::ObjectId id = b3::hash(object);
    static_cast<void>(put(machine, life.volume(), object).get());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(get(machine, life.volume(), id), object);
    const std::uint64_t values = groups_stored(RecordKind::Object, size) * 32;
    ASSERT_TRUE(machine.node.disk().flip_bit(kFirstSegment, kFirstPayload + values + size - 10, 3));
    EXPECT_EQ(get(machine, life.volume(), id).error().code, Code::IntegrityFail);
    ASSERT_EQ(life.corrupt.size(), 1U);
    EXPECT_EQ(life.corrupt[0].second, b3::group_count(size) - 1);
  }
}

// Bytes that were hashed once can be told from others without what they were to hash to.
TEST(DiskVolume, ReadsAgainWithoutTheValuesOfGroups) {
  const auto object = sample_bytes(200'000, 1);
  const base::ObjectId id = b3::hash(object);
  for (const bool was_read : {true, false}) {
    Machine machine(1);
    Life life(machine, small_options());
    static_cast<void>(put(machine, life.volume(), object).get());
    if (was_read) EXPECT_EQ(get(machine, life.volume(), id), object);
    ASSERT_TRUE(machine.node.disk().flip_bit(kFirstSegment, kFirstPayload + 10, 3));
    const auto read = get(machine, life.volume(), id);
    if (was_read && ProvenCells::worthwhile()) {
      EXPECT_EQ(read, object);
    } else {
      EXPECT_EQ(read.error().code, Code::IntegrityFail);
    }
  }
}

// An entry of the index that says less than was stored: nobody gets the beginning for the whole.
TEST(DiskVolume, AShorterLengthInTheIndexIsNoticed) {
  const auto object = sample_bytes(200'000, 1);
  const base::ObjectId id = b3::hash(object);
  for (const std::uint64_t length : {16'384U, 65'536U, 196'608U, 199'999U}) {
    Machine machine(1);
    Life life(machine, small_options());
    static_cast<void>(put(machine, life.volume(), object).get());
    EXPECT_EQ(get(machine, life.volume(), id), object);
    forge_entry(machine, id, [&](ObjectEntry& entry) {
      entry.length = length;
      entry.place.payload_bytes = static_cast<std::uint32_t>(length);
    });
    EXPECT_EQ(get(machine, life.volume(), id).error().code, Code::IntegrityFail) << length;
  }
}

TEST(DiskVolume, AShorterLengthOfAnUploadedObjectIsNoticed) {
  const auto object = sample_bytes(kPartBytes + 200'000, 1);
  const base::ObjectId id = b3::hash(object);
  for (const std::uint64_t less : {16'384U, 131'072U, 1U}) {
    Machine machine(1);
    Options options = small_options();
    options.segment_bytes = 64 * base::kMiB;
    Life life(machine, options);
    ASSERT_TRUE(store_in_parts(machine, life.volume(), UploadId(1, 2, 3), object).has_value());
    EXPECT_EQ(get(machine, life.volume(), id), object);
    forge_entry(machine, id, [&](ObjectEntry& entry) {
      entry.length -= less;
      ++entry.sequence;  // the parts are looked up anew
    });
    EXPECT_EQ(get(machine, life.volume(), id).error().code, Code::IntegrityFail) << less;
  }
}

TEST(DiskVolume, NamesTheDamagedGroupOfAPart) {
  Machine machine(1);
  Options options = small_options();
  options.segment_bytes = 64 * base::kMiB;
  Life life(machine, options);
  const auto object = sample_bytes(2 * kPartBytes, 5);
  ASSERT_TRUE(store_in_parts(machine, life.volume(), UploadId(1, 2, 3), object).has_value());
  EXPECT_EQ(get(machine, life.volume(), b3::hash(object)), object);
  // Near the end of the second part's record.
  const std::uint64_t begun = kFixedHeadBytes + 4 + kChecksumBytes;
  const std::uint64_t part_bytes = kFixedHeadBytes + 16 * 32 + kChecksumBytes + kPartBytes;
  const std::uint64_t at = kSegmentHeadBytes + aligned(begun) + 2 * aligned(part_bytes) - 100;
  ASSERT_TRUE(machine.node.disk().flip_bit(kFirstSegment, at, 0));
  EXPECT_EQ(get(machine, life.volume(), b3::hash(object)).error().code, Code::IntegrityFail);
  ASSERT_FALSE(life.corrupt.empty());
  EXPECT_EQ(life.corrupt[0].second, 31U);
  // Stored anew over the damaged one, its parts are dead.
  EXPECT_TRUE(eventually(machine, [&] { return life.volume().stats().quarantined == 1; }));
  EXPECT_TRUE(put(machine, life.volume(), object).get()->is_new);
  EXPECT_GE(life.volume().stats().dead_bytes, 2 * kPartBytes);
  EXPECT_EQ(get(machine, life.volume(), b3::hash(object)), object);
}

TEST(Scrubber, FindsDamageInPayloadsAndHeads) {
  for (const std::uint64_t at : {kFirstPayload + 5, std::uint64_t{kSegmentHeadBytes} + 20}) {
    Machine machine(1);
    Life life(machine, small_options());
    const auto object = sample_bytes(1000, 1);
    static_cast<void>(put(machine, life.volume(), object).get());
    static_cast<void>(put(machine, life.volume(), sample_bytes(1000, 2)).get());
    ASSERT_TRUE(machine.node.disk().flip_bit(kFirstSegment, at, 0));
    life.volume().request_scrub();
    EXPECT_TRUE(
        eventually(machine, [&] { return life.volume().scrub_progress().finished_unix_s != 0; }));
    const ScrubProgress progress = life.volume().scrub_progress();
    EXPECT_EQ(progress.found, 1U) << at;
    EXPECT_EQ(progress.bytes_done, progress.bytes_total);
    ASSERT_EQ(life.corrupt.size(), 1U);
    EXPECT_EQ(life.corrupt[0].first, b3::hash(object));
  }
}

// Nobody has asked for the object since: the scrub is the first to meet the damaged entry.
TEST(Scrubber, HasADamagedIndexMadeAnewAndGoesOn) {
  Machine machine(1);
  Life life(machine, small_options());
  const auto object = sample_bytes(1000, 1);
  static_cast<void>(put(machine, life.volume(), object).get());
  ASSERT_TRUE(machine.node.key_values().damage_key("/data/index.1", object_key(b3::hash(object))));
  life.volume().request_scrub();
  EXPECT_TRUE(eventually(machine, [&] { return life.volume().scrub_progress().passes == 1; }));
  EXPECT_EQ(life.volume().scrub_progress().found, 0U);
  EXPECT_EQ(get(machine, life.volume(), b3::hash(object)), object);
}

TEST(Scrubber, FindsNothingWhereNothingIsWrong) {
  Machine machine(1);
  Options options = small_options();
  options.tuning.scrub_every = 10min;
  Life life(machine, options);
  for (std::uint64_t i = 0; i < 5; ++i) {
    static_cast<void>(put(machine, life.volume(), sample_bytes(100'000, i)).get());
  }
  static_cast<void>(remove(machine, life.volume(), b3::hash(sample_bytes(100'000, 0))).get());
  machine.world.run_for(11min);
  EXPECT_NE(life.volume().scrub_progress().finished_unix_s, 0);
  EXPECT_EQ(life.volume().scrub_progress().found, 0U);
}

TEST(Compactor, GivesSpaceBackAndKeepsWhatCounts) {
  Machine machine(1);
  Options options = small_options();
  options.direct_bytes = UINT64_MAX;  // whole pages would blur what comes back
  Life life(machine, options);
  std::vector<std::vector<std::byte>> objects;
  for (std::uint64_t i = 0; i < 20; ++i) objects.push_back(sample_bytes(50'000, i));
  for (const auto& object : objects) static_cast<void>(put(machine, life.volume(), object).get());
  const auto located = run(machine, life.volume().locate(b3::hash(objects[0]), {}));
  for (std::size_t i = 0; i < 20; i += 2) {
    static_cast<void>(remove(machine, life.volume(), b3::hash(objects[i])).get());
  }
  const std::uint64_t used = machine.node.disk().used_bytes();
  life.volume().request_compaction();
  EXPECT_TRUE(eventually(machine, [&] { return life.volume().stats().dead_bytes < 20'000; }));
  machine.world.run_for(1s);
  for (std::size_t i = 0; i < 20; ++i) {
    const auto read = get(machine, life.volume(), b3::hash(objects[i]));
    EXPECT_EQ(read.has_value(), i % 2 == 1) << i;
  }
  // Whoever had found an object before can still read it; its space comes back afterwards.
  const auto piece = run(machine, life.volume().read(*located, 0, 100, {}));
  EXPECT_TRUE(piece.has_value());
  EXPECT_LT(machine.node.disk().used_bytes(), used - 5 * 50'000);
}

TEST(Compactor, WritesNothingAnewForPagesThatAreNotFull) {
  Machine machine(1);
  Options options = small_options();
  options.direct_bytes = 64 * base::kKiB;
  Life life(machine, options);
  for (std::uint64_t i = 0; i < 4; ++i) {
    static_cast<void>(put(machine, life.volume(), sample_bytes(100'000, i)).get());
  }
  const std::uint64_t padding = life.volume().stats().dead_bytes;
  const std::uint64_t used = machine.node.disk().used_bytes();
  EXPECT_GT(padding, 0U);
  life.volume().request_compaction();
  machine.world.run_for(1min);
  EXPECT_EQ(life.volume().stats().dead_bytes, padding);
  EXPECT_LE(machine.node.disk().used_bytes(), used);
  static_cast<void>(remove(machine, life.volume(), b3::hash(sample_bytes(100'000, 0))).get());
  life.volume().request_compaction();
  EXPECT_TRUE(
      eventually(machine, [&] { return machine.node.disk().used_bytes() < used - 90'000; }));
}

TEST(DiskVolume, RefusesWritesBeforeTheDiskIsFull) {
  Machine machine(1);
  Options options = small_options();
  options.tuning.min_free_bytes = 10 * base::kMiB;
  Life life(machine, options);
  const auto object = sample_bytes(1000, 1);
  static_cast<void>(put(machine, life.volume(), object).get());
  machine.node.disk().set_capacity(machine.node.disk().used_bytes() + 5 * base::kMiB);
  machine.world.run_for(200ms);  // far from full, free space is measured ten times a second
  const auto refused = put(machine, life.volume(), sample_bytes(1000, 2)).get();
  ASSERT_EQ(refused.error().code, Code::StorageFull);
  EXPECT_EQ(refused.error().details.size(), 3U);
  EXPECT_EQ(life.volume().health().reason, "disk full");
  EXPECT_TRUE(remove(machine, life.volume(), b3::hash(object)).get().has_value());
  machine.node.disk().set_capacity(1 * base::kGiB);
  EXPECT_TRUE(eventually(machine, [&] { return life.volume().health().writable; }));
  EXPECT_TRUE(put(machine, life.volume(), sample_bytes(1000, 2)).get().has_value());
}

TEST(DiskVolume, AFailedSyncFailsTheBatchAndIsOvercome) {
  Machine machine(1);
  Life life(machine, small_options());
  static_cast<void>(put(machine, life.volume(), sample_bytes(10, 1)).get());
  machine.node.disk().fail_next(DiskOp::Sync);
  const auto refused = put(machine, life.volume(), sample_bytes(10, 2)).get();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::StorageBusy);
  EXPECT_EQ(refused.error().message, "the disk reports errors");
  ASSERT_EQ(refused.error().details.size(), 3U);
  EXPECT_EQ(refused.error().details[0], std::pair(std::string("errno"), std::string("EIO")));
  EXPECT_EQ(refused.error().details[1], std::pair(std::string("failed_writes"), std::string("1")));
  EXPECT_EQ(refused.error().details[2].first, "free_bytes");
  ASSERT_FALSE(life.trouble.empty());
  EXPECT_THAT(life.trouble.front(), testing::HasSubstr(".seg"));
  EXPECT_EQ(life.volume().health().reason, "disk errors");
  EXPECT_EQ(get(machine, life.volume(), b3::hash(sample_bytes(10, 2))).error().code,
            Code::NotFound);
  // Without traffic, too.
  EXPECT_TRUE(eventually(machine, [&] { return life.volume().health().writable; }));
  EXPECT_TRUE(put(machine, life.volume(), sample_bytes(10, 2)).get()->is_new);
}

// Its bytes are there, as far as anybody can see, but somebody was told that it failed and then
// that the object is not there.
TEST(DiskVolume, AWriteThatFailedAndCouldNotBeCutOffIsNotBackAfterAStop) {
  Machine machine(1);
  const auto object = sample_bytes(1000, 2);
  {
    Life life(machine, small_options());
    static_cast<void>(put(machine, life.volume(), sample_bytes(1000, 1)).get());
    const auto writes = [&] {
      return machine.world.trace_count(platform::sim::TraceKind::DiskWrite);
    };
    const std::uint64_t before = writes();
    machine.node.disk().fail_next(DiskOp::Sync);
    auto write = put(machine, life.volume(), object);
    machine.run_until([&] { return writes() > before; });
    machine.node.disk().fail_next(DiskOp::Write);
    EXPECT_FALSE(write.get().has_value());
    EXPECT_EQ(get(machine, life.volume(), b3::hash(object)).error().code, Code::NotFound);
    life.stop();
  }
  Life life(machine, small_options());
  EXPECT_FALSE(get(machine, life.volume(), b3::hash(object)).has_value());
}

TEST(DiskVolume, ADamagedIndexIsMadeAnewWhileTheVolumeRuns) {
  Machine machine(1);
  Life life(machine, small_options());
  const auto object = sample_bytes(1000, 1);
  static_cast<void>(put(machine, life.volume(), object).get());
  ASSERT_TRUE(machine.node.key_values().damage_key("/data/index.1", object_key(b3::hash(object))));
  EXPECT_EQ(get(machine, life.volume(), b3::hash(object)).error().code, Code::Degraded);
  EXPECT_FALSE(life.volume().health().readable);
  EXPECT_EQ(put(machine, life.volume(), sample_bytes(10, 2)).get().error().code, Code::Degraded);
  life.wait_readable();
  EXPECT_EQ(get(machine, life.volume(), b3::hash(object)), object);
  EXPECT_TRUE(put(machine, life.volume(), sample_bytes(10, 2)).get().has_value());
}

TEST(DiskVolume, ListsInOrderOfAddress) {
  Machine machine(1);
  Life life(machine, small_options());
  std::set<base::ObjectId> ids;
  for (std::uint64_t i = 0; i < 10; ++i) {
    ids.insert(put(machine, life.volume(), sample_bytes(10, i)).get()->id);
  }
  static_cast<void>(remove(machine, life.volume(), *ids.begin()).get());
  ids.erase(ids.begin());
  std::vector<base::ObjectId> seen;
  std::optional<base::ObjectId> after;
  for (;;) {
    const auto page = run(machine, life.volume().list(after, 4, {}));
    ASSERT_TRUE(page.has_value());
    for (const auto& listed : *page) seen.push_back(listed.id);
    if (page->empty()) break;
    after = page->back().id;
  }
  EXPECT_TRUE(std::ranges::equal(seen, ids));
}

TEST(DiskVolume, AnIndexAheadOfTheLogIsMadeAnew) {
  const auto kept = sample_bytes(1000, 1);
  const auto lost = sample_bytes(1000, 2);
  for (const bool whole_segment : {false, true}) {
    Machine machine(1);
    {
      Life life(machine, small_options());
      static_cast<void>(put(machine, life.volume(), kept).get());
      if (!whole_segment) static_cast<void>(put(machine, life.volume(), lost).get());
      life.stop();
    }
    if (whole_segment) {  // a new life writes to a new segment
      Life life(machine, small_options());
      static_cast<void>(put(machine, life.volume(), lost).get());
      life.stop();
    }
    auto& disk = machine.node.disk();
    if (whole_segment) {
      EXPECT_TRUE(run(machine, disk.remove("/data/segments/0000000002.seg")).has_value());
    } else {
      auto file =
          run(machine, disk.open(kFirstSegment, {platform::OpenMode::WriteExisting, false}));
      EXPECT_TRUE(run(machine, (*file)->truncate(kFirstPayload + 1004)).has_value());
    }
    Life life(machine, small_options());
    life.wait_readable();
    EXPECT_EQ(get(machine, life.volume(), b3::hash(kept)), kept);
    EXPECT_EQ(get(machine, life.volume(), b3::hash(lost)).error().code, Code::NotFound);
    EXPECT_TRUE(put(machine, life.volume(), lost).get()->is_new);
    EXPECT_EQ(get(machine, life.volume(), b3::hash(lost)), lost);
  }
}

TEST(DiskVolume, ALostIdentityIsReadFromASegment) {
  Machine machine(1);
  const auto object = sample_bytes(1000, 1);
  {
    Life life(machine, small_options());
    static_cast<void>(put(machine, life.volume(), object).get());
    life.stop();
  }
  EXPECT_TRUE(run(machine, machine.node.disk().remove("/data/VOLUME")).has_value());
  Life life(machine, small_options());
  ASSERT_TRUE(life.opened.has_value());
  EXPECT_EQ(get(machine, life.volume(), b3::hash(object)), object);
}

}  // namespace
}  // namespace ron::volume
