#include "volume/disk_volume.h"

#include <gtest/gtest.h>

#include "volume/test_volume.h"

namespace ron::volume {
namespace {

using namespace std::chrono_literals;
using base::Code;

TEST(DiskVolume, KeepsObjectsOfEverySize) {
  Machine machine(1);
  Options options = small_options();
  options.segment_bytes = 64 * base::kMiB;
  std::vector<std::vector<std::byte>> objects;
  for (const std::size_t size : {0U, 1U, 65536U, 65537U, 1000000U, 3000000U, 8388608U}) {
    objects.push_back(sample_bytes(size, 7));
  }
  {
    Life life(machine, options);
    ASSERT_TRUE(life.opened.has_value());
    for (const auto& object : objects) {
      const auto added = put(machine, life.volume(), object).get();
      ASSERT_TRUE(added.has_value()) << added.error().message;
      EXPECT_TRUE(added->is_new);
    }
    for (const auto& object : objects) {
      EXPECT_EQ(get(machine, life.volume(), b3::hash(object)), object) << object.size();
    }
    life.stop();
  }
  Life life(machine, options);
  for (const auto& object : objects) {
    EXPECT_EQ(get(machine, life.volume(), b3::hash(object)), object) << object.size();
  }
}

TEST(DiskVolume, ASecondPutIsNotNew) {
  Machine machine(1);
  Life life(machine, small_options());
  const auto object = sample_bytes(100, 1);
  EXPECT_TRUE(put(machine, life.volume(), object).get()->is_new);
  EXPECT_FALSE(put(machine, life.volume(), object).get()->is_new);
  EXPECT_EQ(life.volume().usage("acme").objects, 1U);
  EXPECT_EQ(life.volume().usage("acme").bytes, 100U);
}

TEST(DiskVolume, ARemovedObjectIsGone) {
  Machine machine(1);
  Life life(machine, small_options());
  const auto object = sample_bytes(100, 1);
  static_cast<void>(put(machine, life.volume(), object).get());
  EXPECT_EQ(remove(machine, life.volume(), b3::hash(object)).get()->length, 100U);
  EXPECT_EQ(get(machine, life.volume(), b3::hash(object)).error().code, Code::NotFound);
  EXPECT_EQ(remove(machine, life.volume(), b3::hash(object)).get().error().code, Code::NotFound);
  EXPECT_EQ(life.volume().usage("acme").objects, 0U);
  EXPECT_TRUE(put(machine, life.volume(), object).get()->is_new);
  EXPECT_EQ(get(machine, life.volume(), b3::hash(object)), object);
}

TEST(DiskVolume, WritesQueuedTogetherShareASync) {
  Machine machine(1);
  Life life(machine, small_options());
  static_cast<void>(put(machine, life.volume(), sample_bytes(10, 1000)).get());
  const auto began = machine.world.now();
  std::vector<std::unique_ptr<Write<Added>>> writes;
  for (std::uint64_t i = 0; i < 100; ++i) {
    writes.push_back(
        std::make_unique<Write<Added>>(put(machine, life.volume(), sample_bytes(10, i))));
  }
  for (auto& write : writes) EXPECT_TRUE(write->get().has_value());
  EXPECT_LT(machine.world.now() - began, 10ms);  // a sync takes up to 1 ms
}

TEST(DiskVolume, ALoneWriterDoesNotPayTheWindow) {
  Machine machine(1);
  Options options = small_options();
  options.tuning.commit_window = 1s;
  Life life(machine, options);
  const auto began = machine.world.now();
  static_cast<void>(put(machine, life.volume(), sample_bytes(10, 1)).get());
  EXPECT_LT(machine.world.now() - began, 100ms);
}

// The put of an object of these bytes, as a service that announces its writes does it.
Write<Added> put_announced(Machine& machine, DiskVolume& volume, base::ByteView bytes,
                           ComingWrites::Announcement announced) {
  NewObject object{b3::hash(bytes), buffer_of(bytes), "acme", {}, std::move(announced)};
  return {machine, [&](Reply<Added> reply) {
            return volume.put(std::move(object), runtime::Deadline(), std::move(reply));
          }};
}

TEST(DiskVolume, AnAnnouncedWriterThatIsAloneDoesNotPayTheWindow) {
  Machine machine(1);
  ComingWrites coming;
  Options options = small_options();
  options.tuning.commit_window = 1s;
  options.coming_writes = &coming;
  Life life(machine, options);
  const auto began = machine.world.now();
  for (std::uint64_t i = 0; i < 10; ++i) {
    auto write = put_announced(machine, life.volume(), sample_bytes(10, i), coming.announce());
    EXPECT_TRUE(write.get().has_value());
  }
  EXPECT_LT(machine.world.now() - began, 100ms);
  EXPECT_FALSE(coming.any());
}

TEST(DiskVolume, AnnouncedWritesShareOneSync) {
  Machine machine(1);
  ComingWrites coming;
  Options options = small_options();
  options.tuning.commit_window = 1s;
  options.coming_writes = &coming;
  Life life(machine, options);
  static_cast<void>(put(machine, life.volume(), sample_bytes(10, 0)).get());  // begins the segment
  const auto syncs = [&] { return machine.world.trace_count(platform::sim::TraceKind::DiskSync); };
  const std::uint64_t before = syncs();
  auto first = coming.announce();
  auto second = coming.announce();
  auto one = put_announced(machine, life.volume(), sample_bytes(10, 1), std::move(first));
  machine.world.run_for(20ms);  // many times what a sync takes
  EXPECT_FALSE(one.done());
  auto two = put_announced(machine, life.volume(), sample_bytes(10, 2), std::move(second));
  EXPECT_TRUE(one.get().has_value());
  EXPECT_TRUE(two.get().has_value());
  EXPECT_EQ(syncs() - before, 1U);
}

TEST(DiskVolume, AWriteThatWasGivenUpHoldsTheOthersForTheWindowAtMost) {
  Machine machine(1);
  ComingWrites coming;
  Options options = small_options();
  options.tuning.commit_window = 1s;
  options.coming_writes = &coming;
  Life life(machine, options);
  const auto never = coming.announce();
  const auto began = machine.world.now();
  auto write = put_announced(machine, life.volume(), sample_bytes(10, 1), coming.announce());
  EXPECT_TRUE(write.get().has_value());
  EXPECT_GE(machine.world.now() - began, 1s);
  EXPECT_LT(machine.world.now() - began, 1100ms);
}

TEST(DiskVolume, UploadsPublishLargeObjects) {
  Machine machine(1);
  Options options = small_options();
  options.segment_bytes = 2 * base::kMiB;
  const auto object = sample_bytes(3 * kPartBytes + 12345, 5);
  const UploadId id(1, 2, 3);
  const auto part = [&](std::size_t n) {
    return base::ByteView(object).subspan(
        n * kPartBytes, std::min<std::size_t>(kPartBytes, object.size() - n * kPartBytes));
  };
  {
    Life life(machine, options);
    DiskVolume& volume = life.volume();
    EXPECT_EQ(begin(machine, volume, {id, object.size(), b3::hash(object), "acme", 0}).get(), true);
    EXPECT_EQ(begin(machine, volume, {id, object.size(), b3::hash(object), "acme", 0}).get(),
              false);
    for (const std::size_t n : {3U, 0U, 1U}) {
      const auto value = put_part(machine, volume, id, n, part(n)).get();
      ASSERT_TRUE(value.has_value());
      EXPECT_EQ(*value, b3::subtree(part(n), n * 1024));
    }
    const auto early = commit(machine, volume, id).get();
    EXPECT_EQ(early.error().code, Code::PreconditionFailed);
    EXPECT_EQ(early.error().details.front().second, "2");
    const auto found = run(machine, volume.find_upload(id, {}));
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(found->arrived.size(), 2U);
    EXPECT_EQ(found->arrived[1].first, 3U);
    EXPECT_EQ(volume.stats().uploads, 1U);
    EXPECT_EQ(get(machine, volume, b3::hash(object)).error().code, Code::NotFound);
    EXPECT_EQ(put_part(machine, volume, id, 2, part(1).first(100)).get().error().code,
              Code::Malformed);
    EXPECT_TRUE(put_part(machine, volume, id, 2, part(1)).get().has_value());
    EXPECT_EQ(commit(machine, volume, id).get().error().code, Code::HashMismatch);
    EXPECT_TRUE(put_part(machine, volume, id, 2, part(2)).get().has_value());
    const auto added = commit(machine, volume, id).get();
    ASSERT_TRUE(added.has_value()) << added.error().message;
    EXPECT_TRUE(added->is_new);
    EXPECT_EQ(added->id, b3::hash(object));
    EXPECT_FALSE(commit(machine, volume, id).get()->is_new);
    EXPECT_EQ(get(machine, volume, b3::hash(object)), object);
    EXPECT_EQ(volume.stats().uploads, 0U);
  }
  Life life(machine, options);
  EXPECT_EQ(get(machine, life.volume(), b3::hash(object)), object);
  EXPECT_EQ(remove(machine, life.volume(), b3::hash(object)).get()->length, object.size());
  EXPECT_EQ(get(machine, life.volume(), b3::hash(object)).error().code, Code::NotFound);
}

// The first time by hash, later by fingerprint, and in between by hash again where only some of it
// is known.
TEST(DiskVolume, AnyRangeIsTheSameHoweverOftenItIsRead) {
  Machine machine(1);
  Options options = small_options();
  options.segment_bytes = 8 * base::kMiB;
  Life life(machine, options);
  const auto plain = sample_bytes(300'001, 1);
  const auto large = sample_bytes(2 * kPartBytes + 70'000, 2);
  ASSERT_TRUE(put(machine, life.volume(), plain).get().has_value());
  ASSERT_TRUE(store_in_parts(machine, life.volume(), UploadId(1, 2, 3), large).has_value());
  platform::FastRandom dice(7);
  for (const auto* object : {&plain, &large}) {
    const auto located = run(machine, life.volume().locate(b3::hash(*object), {}));
    ASSERT_TRUE(located.has_value());
    for (int i = 0; i < 400; ++i) {
      const std::uint64_t offset = dice.next() % object->size();
      const std::uint64_t wanted = 1 + dice.next() % 150'000;
      const auto piece = run(machine, life.volume().read(*located, offset, wanted, {}));
      ASSERT_TRUE(piece.has_value()) << piece.error().message;
      const std::uint64_t in_part = object == &large ? kPartBytes - offset % kPartBytes : wanted;
      ASSERT_EQ(piece->bytes.size(), std::min({wanted, object->size() - offset, in_part}));
      ASSERT_TRUE(std::ranges::equal(piece->bytes,
                                     base::ByteView(*object).subspan(offset, piece->bytes.size())));
    }
  }
}

// Everything submitted before the first answer.
platform::Task<base::Result<Added>> upload_at_once(DiskVolume* volume, UploadId id,
                                                   base::Buffer bytes) {
  const std::uint64_t size = bytes.size();
  auto begun = runtime::oneshot<base::Result<bool>>();
  auto part = runtime::oneshot<base::Result<b3::ChainingValue>>();
  auto committed = runtime::oneshot<base::Result<Added>>();
  const runtime::Deadline never;
  co_await volume->begin_upload({id, size, std::nullopt, "acme", 0}, never, std::move(begun.first));
  if (size != 0) {
    co_await volume->put_part({id, 0, std::move(bytes)}, never, std::move(part.first));
  }
  co_await volume->commit_upload(id, never, std::move(committed.first));
  auto answer = co_await committed.second.recv(never);
  co_return std::move(*answer);
}

TEST(DiskVolume, SmallUploadsBecomePlainObjects) {
  for (const std::size_t size : {0U, 100U, 100000U, 1048576U}) {
    Machine machine(size);
    Life life(machine, small_options());
    const auto object = sample_bytes(size, 5);
    const UploadId id(1, 2, 3);
    // All in one batch: the commit has to wait for its part.
    const auto added = run(machine, upload_at_once(&life.volume(), id, buffer_of(object)));
    ASSERT_TRUE(added.has_value()) << added.error().message;
    EXPECT_EQ(added->id, b3::hash(object));
    EXPECT_EQ(get(machine, life.volume(), b3::hash(object)), object);
  }
}

// Of one part and of several, and of what was there already: across compaction and a
// restart.
TEST(DiskVolume, ACommitCanBeRepeatedUntilTheUploadWouldHaveExpired) {
  Machine machine(1);
  Options options = small_options();
  options.segment_bytes = 4 * base::kMiB;
  const std::int64_t expires = machine.world.unix_ms() / 1000 + 3600;
  std::vector<std::vector<std::byte>> objects;
  for (const std::size_t size : {std::size_t{100}, std::size_t{2 * kPartBytes + 1}}) {
    objects.push_back(sample_bytes(size, 3));
    objects.push_back(objects.back());
  }
  const auto check_all = [&](DiskVolume& volume) {
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const UploadId id(1, 0, i);
      const auto again = commit(machine, volume, id).get();
      ASSERT_TRUE(again.has_value()) << i << again.error().message;
      EXPECT_EQ(again->id, b3::hash(objects[i])) << i;
      EXPECT_EQ(again->length, objects[i].size()) << i;
      EXPECT_FALSE(again->is_new) << i;
      const auto found = run(machine, volume.find_upload(id, {}));
      ASSERT_TRUE(found.has_value()) << i;
      EXPECT_EQ(found->committed, b3::hash(objects[i])) << i;
      EXPECT_EQ(found->upload.expires_unix_s, expires) << i;
    }
  };
  {
    Life life(machine, options);
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const auto added =
          store_in_parts(machine, life.volume(), UploadId(1, 0, i), objects[i], expires);
      ASSERT_TRUE(added.has_value());
      EXPECT_EQ(added->is_new, i % 2 == 0);
    }
    check_all(life.volume());
    const std::uint64_t before = life.volume().stats().stored_bytes;
    life.volume().request_compaction();
    machine.run_until([&] { return life.volume().stats().stored_bytes < before; });
    machine.world.run_for(1s);
    check_all(life.volume());
    life.stop();
  }
  Life life(machine, options);
  check_all(life.volume());
  EXPECT_EQ(remove(machine, life.volume(), b3::hash(objects[0])).get()->length, objects[0].size());
  EXPECT_EQ(commit(machine, life.volume(), UploadId(1, 0, 0)).get().error().code, Code::NotFound);
}

TEST(DiskVolume, UploadsExpire) {
  Machine machine(1);
  Life life(machine, small_options());
  const UploadId id(1, 2, 3);
  static_cast<void>(begin(machine, life.volume(), {id, 100, std::nullopt, "acme", 1000}).get());
  static_cast<void>(put_part(machine, life.volume(), id, 0, sample_bytes(100, 1)).get());
  EXPECT_EQ(*run(machine, life.volume().expire(999)), 0U);
  EXPECT_EQ(*run(machine, life.volume().expire(1000)), 1U);
  EXPECT_EQ(run(machine, life.volume().find_upload(id, {})).error().code, Code::NotFound);
  EXPECT_EQ(commit(machine, life.volume(), id).get().error().code, Code::NotFound);
}

}  // namespace
}  // namespace ron::volume
