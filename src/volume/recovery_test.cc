// What a start makes of a log that has rotted, was torn, or cannot be read.
#include "volume/recovery.h"

#include <cerrno>
#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "volume/test_volume.h"

namespace ron::volume {
namespace {

using namespace std::chrono_literals;
using base::Code;
using platform::Task;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kFirstSegment = "/data/segments/0000000001.seg";
constexpr const char* kSecondSegment = "/data/segments/0000000002.seg";

constexpr std::uint64_t kHeadBytes = kFixedHeadBytes + 4 + kChecksumBytes;  // a tenant of 4 letters

// Records of one size, one behind the other.
std::uint64_t record_at(std::uint64_t number, std::uint64_t payload_bytes) {
  return kSegmentHeadBytes + number * aligned(kHeadBytes + payload_bytes);
}

Code code_of(const base::Result<std::vector<std::byte>>& read) {
  return read ? Code{} : read.error().code;
}

std::vector<std::string> names_in(Machine& machine, const std::string& path) {
  std::vector<std::string> names;
  const auto entries = run(machine, machine.node.disk().list(path));
  if (!entries) return names;
  for (const platform::DirectoryEntry& entry : *entries) names.push_back(entry.name);
  return names;
}

template <class Predicate>
bool eventually(Machine& machine, Predicate predicate) {
  return machine.world.run_until(predicate, 10min) == platform::sim::Outcome::Done;
}

// Where in the first segment these bytes are.
std::size_t offset_of(Machine& machine, base::ByteView bytes) {
  auto file = run(machine, machine.node.disk().open(kFirstSegment, {}));
  const auto all = run(machine, (*file)->read_at(0, base::Buffer(*run(machine, (*file)->size()))));
  return base::as_text(all->view()).find(base::as_text(bytes));
}

// Stores objects of this size in one batch, and stops. They come back in the order in which they
// were written.
std::vector<std::vector<std::byte>> store_in_one_batch(Machine& machine, std::size_t count,
                                                       std::size_t size) {
  ComingWrites coming;
  Options options = small_options();
  options.segment_bytes = 8 * base::kMiB;
  options.direct_bytes = UINT64_MAX;
  options.coming_writes = &coming;
  options.tuning.commit_window = 1s;
  Life life(machine, options);
  std::vector<std::vector<std::byte>> objects;
  std::vector<ComingWrites::Announcement> announced;
  for (std::size_t i = 0; i < count; ++i) {
    objects.push_back(sample_bytes(size, i + 1));
    announced.push_back(coming.announce());
  }
  std::vector<std::unique_ptr<Write<Added>>> writes;
  for (std::size_t i = 0; i < count; ++i) {
    NewObject object{
        b3::hash(objects[i]), buffer_of(objects[i]), "acme", {}, std::move(announced[i])};
    writes.push_back(std::make_unique<Write<Added>>(machine, [&](Reply<Added> reply) {
      return life.volume().put(std::move(object), runtime::Deadline(), std::move(reply));
    }));
  }
  for (auto& write : writes) EXPECT_TRUE(write->get().has_value());
  life.stop();
  std::ranges::sort(objects, {}, [&](const auto& object) { return offset_of(machine, object); });
  return objects;
}

void expect_all_but(Machine& machine, Life& life,
                    const std::vector<std::vector<std::byte>>& objects, std::size_t hit,
                    Code expected) {
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const auto read = get(machine, life.volume(), b3::hash(objects[i]));
    if (i == hit) {
      EXPECT_EQ(code_of(read), expected) << i;
    } else {
      EXPECT_EQ(read, objects[i]) << i;
    }
  }
}

TEST(Recovery, ARottenPayloadInTheLastBatchCostsOneObjectThatStaysKnown) {
  for (const std::size_t hit : {0U, 20U, 63U}) {
    Machine machine(1);
    const auto objects = store_in_one_batch(machine, 64, 100);
    ASSERT_TRUE(
        machine.node.disk().flip_bit(kFirstSegment, record_at(hit, 100) + kHeadBytes + 9, 2));
    lose_index(machine);
    Life life(machine, small_options());
    life.wait_readable();
    expect_all_but(machine, life, objects, hit, Code::IntegrityFail);
    EXPECT_EQ(life.volume().stats().objects, 64U);
    EXPECT_EQ(life.volume().stats().quarantined, 1U);
    ASSERT_EQ(life.corrupt.size(), 1U);
    EXPECT_EQ(life.corrupt[0].first, b3::hash(objects[hit]));
    // Nobody is told that it is there already.
    EXPECT_TRUE(put(machine, life.volume(), objects[hit]).get()->is_new);
    expect_all_but(machine, life, objects, objects.size(), Code{});
  }
}

TEST(Recovery, ARottenHeadInTheLastBatchCostsOneObjectWhoseBytesAreKept) {
  for (const std::size_t hit : {0U, 20U, 63U}) {
    Machine machine(1);
    const auto objects = store_in_one_batch(machine, 64, 100);
    ASSERT_TRUE(machine.node.disk().flip_bit(kFirstSegment, record_at(hit, 100) + 20, 2));
    lose_index(machine);
    {
      Life life(machine, small_options());
      life.wait_readable();
      expect_all_but(machine, life, objects, hit, Code::NotFound);
      EXPECT_THAT(life.trouble, Contains(HasSubstr("quarantine")));
      life.stop();
    }
    const auto names = names_in(machine, "/data/quarantine");
    ASSERT_EQ(names.size(), 1U);
    EXPECT_THAT(names[0], HasSubstr("0000000001.seg-"));
    EXPECT_THAT(names[0], HasSubstr(std::to_string(record_at(hit, 100))));
    auto kept = run(machine, machine.node.disk().open("/data/quarantine/" + names[0], {}));
    const auto bytes = run(machine, (*kept)->read_at(kHeadBytes, base::Buffer(100)));
    EXPECT_TRUE(std::ranges::equal(bytes->view(), objects[hit]));
  }
}

// The sector behind this byte of the first segment is as if the power had gone before it was
// written.
void never_wrote(Machine& machine, std::uint64_t at) {
  auto file = run(
      machine, machine.node.disk().open(kFirstSegment, {platform::OpenMode::WriteExisting, false}));
  const std::vector<std::byte> zeros(512);
  EXPECT_TRUE(run(machine, (*file)->write_at((at / 512 + 1) * 512, buffer_of(zeros))).has_value());
  EXPECT_TRUE(run(machine, (*file)->sync()).has_value());
}

TEST(Recovery, ATornRecordIsLeftOutForGoodAndItsNeighboursAreKept) {
  constexpr std::size_t kHit = 2;
  Machine machine(1);
  const auto objects = store_in_one_batch(machine, 5, 3000);
  never_wrote(machine, record_at(kHit, 3000) + kHeadBytes + 1024);
  for (int start = 0; start < 3; ++start) {
    lose_index(machine);
    Life life(machine, small_options());
    life.wait_readable();
    expect_all_but(machine, life, objects, kHit, Code::NotFound);
    EXPECT_EQ(life.volume().stats().objects, 4U);
    EXPECT_EQ(names_in(machine, "/data/quarantine").size(), 1U);
    if (start == 1) static_cast<void>(put(machine, life.volume(), sample_bytes(10, 99)).get());
    if (start == 1)
      static_cast<void>(remove(machine, life.volume(), b3::hash(sample_bytes(10, 99))).get());
    life.stop();
  }
}

// A part and the commit of its upload in one batch, and the power goes: an object that lacks a part
// must not be there, and the upload goes on.
TEST(Recovery, ACommitWhosePartIsTornDoesNotCount) {
  const UploadId id(1, 2, 3);
  const auto object = sample_bytes(kPartBytes + 70'000, 1);
  const base::ByteView last = base::ByteView(object).subspan(kPartBytes);
  Machine machine(1);
  ComingWrites coming;
  Options options = small_options();
  options.segment_bytes = 64 * base::kMiB;
  {
    options.coming_writes = &coming;
    options.tuning.commit_window = 1s;
    Life life(machine, options);
    EXPECT_TRUE(
        begin(machine, life.volume(), {id, object.size(), {}, "acme", 0}).get().has_value());
    EXPECT_TRUE(put_part(machine, life.volume(), id, 0, base::ByteView(object).first(kPartBytes))
                    .get()
                    .has_value());
    const auto more = coming.announce();
    auto part = put_part(machine, life.volume(), id, 1, last);
    machine.world.run_for(10ms);
    auto committed = commit(machine, life.volume(), id);
    EXPECT_TRUE(committed.get().has_value());
    EXPECT_TRUE(part.get().has_value());
  }
  never_wrote(machine, offset_of(machine, last) + 1000);
  lose_index(machine);
  options.coming_writes = nullptr;
  Life life(machine, options);
  life.wait_readable();
  EXPECT_EQ(code_of(get(machine, life.volume(), b3::hash(object))), Code::NotFound);
  const auto upload = run(machine, life.volume().find_upload(id, {}));
  ASSERT_TRUE(upload.has_value());
  ASSERT_EQ(upload->arrived.size(), 1U);
  EXPECT_EQ(upload->arrived[0].last, 0U);
  EXPECT_TRUE(put_part(machine, life.volume(), id, 1, last).get().has_value());
  EXPECT_TRUE(commit(machine, life.volume(), id).get()->is_new);
  EXPECT_EQ(get(machine, life.volume(), b3::hash(object)), object);
}

TEST(Recovery, AnUnreadableHeadDoesNotStopTheStart) {
  for (const bool index_lost : {false, true}) {
    Machine machine(1);
    const auto objects = store_in_one_batch(machine, 20, 3000);
    ASSERT_TRUE(machine.node.disk().break_sector(kFirstSegment, 0));
    if (index_lost) lose_index(machine);
    Life life(machine, small_options());
    ASSERT_TRUE(life.opened.has_value()) << life.opened.error().message;
    life.wait_readable();
    EXPECT_THAT(life.trouble, Contains(HasSubstr("0000000001.seg")));
    // The first two lie, wholly or in part, in the page that cannot be read.
    for (std::size_t i = 2; i < objects.size(); ++i) {
      EXPECT_EQ(get(machine, life.volume(), b3::hash(objects[i])), objects[i]) << i;
    }
    const Code first = code_of(get(machine, life.volume(), b3::hash(objects[0])));
    EXPECT_EQ(first, index_lost ? Code::NotFound : Code::StorageBusy);
    EXPECT_EQ(life.volume().stats().unreadable_bytes, index_lost ? 4096U : 0U);
    EXPECT_TRUE(put(machine, life.volume(), sample_bytes(10, 99)).get().has_value());
  }
}

TEST(Recovery, AnUnreadableSectorIsPassedOverAndCounted) {
  Machine machine(1);
  const auto objects = store_in_one_batch(machine, 40, 3000);
  ASSERT_TRUE(machine.node.disk().break_sector(kFirstSegment, record_at(20, 3000) + 8));
  lose_index(machine);
  {
    Life life(machine, small_options());
    life.wait_readable();
    std::size_t lost = 0;
    for (const auto& object : objects) {
      const auto read = get(machine, life.volume(), b3::hash(object));
      lost += read ? 0 : 1;
      if (read) EXPECT_EQ(read, object);
    }
    EXPECT_GE(lost, 1U);
    EXPECT_LE(lost, 3U) << "no more than what touches the page";
    EXPECT_EQ(life.volume().stats().unreadable_bytes, 4096U);
    EXPECT_THAT(life.trouble, Contains(HasSubstr("cannot read 4096 bytes")));
    life.stop();
  }
  // Nothing was cut off: read again, all of it is there.
  ASSERT_TRUE(machine.node.disk().mend_sectors(kFirstSegment));
  lose_index(machine);
  Life life(machine, small_options());
  life.wait_readable();
  expect_all_but(machine, life, objects, objects.size(), Code{});
}

TEST(Recovery, ASegmentThatCannotBeOpenedIsSetAsideUntilItCan) {
  for (const bool index_lost : {false, true}) {
    Machine machine(1);
    const auto objects = store_in_one_batch(machine, 3, 1000);
    const auto later = sample_bytes(500, 77);
    machine.node.disk().refuse_open(kFirstSegment, EIO);
    if (index_lost) lose_index(machine);
    {
      Life life(machine, small_options());
      ASSERT_TRUE(life.opened.has_value());
      life.wait_readable();
      for (const auto& object : objects) {
        EXPECT_EQ(code_of(get(machine, life.volume(), b3::hash(object))),
                  index_lost ? Code::Degraded : Code::StorageBusy);
      }
      EXPECT_EQ(life.volume().health().reason, index_lost ? "unreadable segments" : "");
      EXPECT_TRUE(put(machine, life.volume(), later).get().has_value());
      life.volume().request_compaction();
      machine.world.run_for(1s);
      life.stop();
    }
    machine.node.disk().refuse_open("", 0);
    Life life(machine, small_options());
    life.wait_readable();
    expect_all_but(machine, life, objects, objects.size(), Code{});
    EXPECT_EQ(get(machine, life.volume(), b3::hash(later)), later);
  }
}

// Five objects in the first segment, their tombstones in the second, which is worth compacting.
std::vector<std::vector<std::byte>> store_and_remove(Machine& machine) {
  const auto objects = store_in_one_batch(machine, 5, 1000);
  Life life(machine, small_options());
  const auto dead = sample_bytes(5000, 50);
  EXPECT_TRUE(put(machine, life.volume(), dead).get().has_value());
  EXPECT_TRUE(remove(machine, life.volume(), b3::hash(dead)).get().has_value());
  for (const auto& object : objects) {
    EXPECT_TRUE(remove(machine, life.volume(), b3::hash(object)).get().has_value());
  }
  life.stop();
  return objects;
}

TEST(Compactor, ASegmentThatCannotBeUnlinkedKeepsItsTombstones) {
  Machine machine(1);
  const auto objects = store_and_remove(machine);
  machine.node.disk().refuse_removal(kFirstSegment, EPERM);
  {
    Life life(machine, small_options());
    for (int i = 0; i < 3; ++i) {
      life.volume().request_compaction();
      machine.world.run_for(1s);
    }
    EXPECT_THAT(life.trouble, Contains(HasSubstr("0000000001.seg")));
    life.stop();
  }
  EXPECT_THAT(names_in(machine, "/data/segments"), Contains("0000000001.seg"));
  lose_index(machine);
  Life life(machine, small_options());
  life.wait_readable();
  for (const auto& object : objects) {
    EXPECT_EQ(code_of(get(machine, life.volume(), b3::hash(object))), Code::NotFound);
  }
  // As soon as it can be, it is.
  machine.node.disk().refuse_removal("", 0);
  life.volume().request_compaction();
  machine.world.run_for(1s);
  EXPECT_THAT(names_in(machine, "/data/segments"), Not(Contains("0000000001.seg")));
}

TEST(Compactor, AnUnlinkThatMayNotLastKeepsTheTombstones) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    Machine machine(seed);
    const auto objects = store_and_remove(machine);
    {
      Life life(machine, small_options());
      machine.node.disk().fail_next(platform::sim::DiskOp::Sync, 2);
      life.volume().request_compaction();
      machine.world.run_for(60ms);
      machine.node.disk().fail_next(platform::sim::DiskOp::Sync, 0);
    }
    machine.node.power_cut();
    machine.node.restart();
    lose_index(machine);
    Life life(machine, small_options());
    life.wait_readable();
    for (const auto& object : objects) {
      EXPECT_EQ(code_of(get(machine, life.volume(), b3::hash(object))), Code::NotFound) << seed;
    }
  }
}

TEST(Compactor, GoesOnBehindASegmentThatCannotBeRead) {
  Machine machine(1);
  const auto objects = store_in_one_batch(machine, 3, 3000);
  const auto dead = sample_bytes(3000, 50);
  {
    Life life(machine, small_options());
    EXPECT_TRUE(put(machine, life.volume(), dead).get().has_value());
    EXPECT_TRUE(remove(machine, life.volume(), b3::hash(dead)).get().has_value());
    EXPECT_TRUE(remove(machine, life.volume(), b3::hash(objects[0])).get().has_value());
    life.stop();
  }
  ASSERT_TRUE(machine.node.disk().break_sector(kFirstSegment, record_at(1, 3000) + 1500));
  Life life(machine, small_options());
  life.volume().request_compaction();
  EXPECT_TRUE(eventually(machine, [&] {
    const auto names = names_in(machine, "/data/segments");
    return std::ranges::find(names, "0000000002.seg") == names.end();
  })) << kSecondSegment;
  EXPECT_EQ(code_of(get(machine, life.volume(), b3::hash(objects[1]))), Code::StorageBusy);
  EXPECT_EQ(get(machine, life.volume(), b3::hash(objects[2])), objects[2]);
}

// A map that, when told so, does what it is asked and then ends its caller.
class ThrowingKeyValues final : public platform::KeyValues {
 public:
  explicit ThrowingKeyValues(platform::KeyValues* inner) : inner_(inner) {}

  Task<base::Result<std::unique_ptr<platform::KeyValue>>> open(
      std::string path, platform::KeyValueOptions options) override {
    auto opened = co_await inner_->open(std::move(path), options);
    if (!opened) co_return base::fail(std::move(opened.error()));
    co_return std::make_unique<Map>(std::move(*opened), &throws_);
  }
  Task<base::Result<void>> destroy(std::string path) override {
    return inner_->destroy(std::move(path));
  }
  void throw_once() { throws_ = true; }

 private:
  class Map final : public platform::KeyValue {
   public:
    Map(std::unique_ptr<platform::KeyValue> inner, bool* throws)
        : inner_(std::move(inner)), throws_(throws) {}
    base::Result<Found> try_get(std::string_view key, std::string& value) override {
      return inner_->try_get(key, value);
    }
    Task<base::Result<std::optional<std::string>>> get(std::string key) override {
      return inner_->get(std::move(key));
    }
    Task<base::Result<std::vector<platform::KeyValuePair>>> scan(std::string from,
                                                                 std::string until,
                                                                 std::size_t limit) override {
      return inner_->scan(std::move(from), std::move(until), limit);
    }
    Task<base::Result<void>> write(platform::KeyValueBatch batch) override {
      auto written = co_await inner_->write(std::move(batch));
      if (std::exchange(*throws_, false)) throw std::bad_alloc();
      co_return written;
    }
    Task<base::Result<void>> flush() override { return inner_->flush(); }
    [[nodiscard]] std::uint64_t memory_bytes() const override { return inner_->memory_bytes(); }

   private:
    std::unique_ptr<platform::KeyValue> inner_;
    bool* throws_;
  };

  platform::KeyValues* inner_;
  bool throws_ = false;
};

TEST(Committer, AnExceptionBehindTheIndexLeavesNoTraceOfTheBatch) {
  Machine machine(1);
  ThrowingKeyValues maps(&machine.node.key_values());
  const platform::Host real = machine.node.host();
  const platform::Host host{real.cores, real.clock, real.random,  real.net,      real.resolver,
                            real.disk,  maps,       real.signals, real.blocking, real.send_arena};
  const auto before = sample_bytes(1000, 1);
  const auto object = sample_bytes(1000, 2);
  Life life(machine, small_options(), host);
  EXPECT_TRUE(put(machine, life.volume(), before).get().has_value());
  maps.throw_once();
  EXPECT_EQ(put(machine, life.volume(), object).get().error().code, Code::Canceled);
  EXPECT_EQ(life.committer_failures, 1);
  life.wait_readable();
  const Code found = code_of(get(machine, life.volume(), b3::hash(object)));
  EXPECT_EQ(found, Code::NotFound) << "the log does not have it";
  EXPECT_EQ(life.volume().usage("acme").objects, 1U);
  EXPECT_TRUE(put(machine, life.volume(), object).get()->is_new);
  EXPECT_EQ(get(machine, life.volume(), b3::hash(object)), object);
  EXPECT_EQ(get(machine, life.volume(), b3::hash(before)), before);
}

TEST(Scrubber, TheTimeToTheNextPassCountsFromTheLastOfAnyProcess) {
  Machine machine(1);
  Options options = small_options();
  options.tuning.scrub_every = 10min;
  {
    Life life(machine, options);
    static_cast<void>(put(machine, life.volume(), sample_bytes(1000, 1)).get());
    machine.world.run_for(11min);
    EXPECT_EQ(life.volume().scrub_progress().passes, 1U);
    life.stop();
  }
  for (int i = 0; i < 2; ++i) {
    Life life(machine, options);
    EXPECT_EQ(life.volume().scrub_progress().passes, 0U);
    machine.world.run_for(4min);
    EXPECT_EQ(life.volume().scrub_progress().passes, 0U);
    EXPECT_NE(life.volume().scrub_progress().finished_unix_s, 0);
    life.stop();
  }
  Life life(machine, options);
  machine.world.run_for(2min);
  EXPECT_EQ(life.volume().scrub_progress().passes, 1U);
}

// Whoever copies a data directory may leave the file out.
TEST(Scrubber, APassIsDueAtOnceWhenNobodyKnowsOfTheLast) {
  Machine machine(1);
  Options options = small_options();
  options.tuning.scrub_every = 10min;
  {
    Life life(machine, options);
    static_cast<void>(put(machine, life.volume(), sample_bytes(1000, 1)).get());
    life.stop();
  }
  EXPECT_TRUE(run(machine, machine.node.disk().remove("/data/SCRUBBED")).has_value());
  Life life(machine, options);
  machine.world.run_for(1s);
  EXPECT_EQ(life.volume().scrub_progress().passes, 1U);
}

}  // namespace
}  // namespace ron::volume
