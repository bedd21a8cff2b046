#include "services/storage/ram_volume.h"

#include <atomic>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "b3/hash.h"
#include "runtime/test_executor.h"

namespace ron::storage {
namespace {

using base::Code;
using base::Result;
using platform::Task;
using volume::kPartBytes;

class TestClock final : public platform::Clock {
 public:
  std::int64_t unix_s = 1000;
  [[nodiscard]] platform::TimePoint monotonic() const noexcept override { return {}; }
  [[nodiscard]] std::int64_t unix_ms() const noexcept override { return unix_s * 1000; }
};

std::string noise(std::size_t size) {
  std::string text(size, '\0');
  platform::FastRandom random(size);
  for (char& c : text) c = static_cast<char>(random.next());
  return text;
}

base::Buffer buffer(std::string_view text) {
  base::Buffer bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

class RamVolumeTest : public ::testing::Test {
 protected:
  template <class T>
  T get(Task<T> task) {
    runtime::Running<T> running(cores_[0], std::move(task));
    cores_.run();
    return std::move(running.value());
  }
  // Nothing in memory waits: the reply is there when the task has ended.
  template <class T, class... Args>
  Result<T> ask(Task<void> (volume::Volume::*what)(Args...), auto argument) {
    auto [sender, receiver] = runtime::oneshot<Result<T>>();
    volume::Volume& volume = volume_;
    runtime::Running<void> done(
        cores_[0], (volume.*what)(std::move(argument), runtime::Deadline(), std::move(sender)));
    cores_.run();
    auto reply = get(receiver.recv(runtime::Deadline()));
    return std::move(*reply);
  }
  Result<volume::Added> put(const std::string& text, const std::string& tenant = "") {
    const base::ObjectId id = b3::hash(base::as_bytes(text));
    return ask<volume::Added>(&volume::Volume::put,
                              volume::NewObject{id, buffer(text), tenant, {}});
  }
  Result<volume::Removed> remove(const base::ObjectId& id,
                                 std::optional<std::string> tenant = std::nullopt) {
    return ask<volume::Removed>(&volume::Volume::remove, volume::Removal{id, std::move(tenant)});
  }
  volume::Upload begin(std::uint64_t length, std::optional<base::ObjectId> expected = {}) {
    volume::Upload upload;
    upload.id = volume::UploadId(1, 0, ++next_id_);
    upload.length = length;
    upload.expected = expected;
    upload.tenant = "t";
    upload.expires_unix_s = clock_.unix_s + 100;
    EXPECT_TRUE(ask<bool>(&volume::Volume::begin_upload, upload));
    return upload;
  }
  Result<b3::ChainingValue> part(const volume::Upload& upload, std::uint64_t number,
                                 std::string_view bytes) {
    return ask<b3::ChainingValue>(&volume::Volume::put_part,
                                  volume::NewPart{upload.id, number, buffer(bytes)});
  }
  Result<volume::Added> commit(const volume::Upload& upload) {
    return ask<volume::Added>(&volume::Volume::commit_upload, upload.id);
  }
  Result<volume::Added> upload(const std::string& text) {
    const volume::Upload open = begin(text.size());
    for (std::uint64_t n = open.parts(); n-- > 0;) {
      const auto kept =
          part(open, n, std::string_view(text).substr(n * kPartBytes, open.part_length(n)));
      EXPECT_TRUE(kept) << kept.error().message;
    }
    return commit(open);
  }
  std::string read_all(const base::ObjectId& id) {
    const auto located = get(volume_.locate(id, {}));
    if (!located) return "not there";
    std::string text;
    while (text.size() < located->length) {
      const auto piece = get(volume_.read(*located, text.size(), 100'000, {}));
      text += base::as_text(piece->bytes);
    }
    return text;
  }

  runtime::TestCores cores_;
  platform::NoSendArena arena_;
  TestClock clock_;
  RamVolume volume_{20 * base::kMiB, arena_, clock_};
  std::uint64_t next_id_ = 0;
};

TEST_F(RamVolumeTest, UploadsHaveTheAddressOfTheirBytes) {
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{1}, kPartBytes - 1, kPartBytes, kPartBytes + 1,
        2 * kPartBytes, 5 * kPartBytes + kPartBytes / 2}) {
    const std::string text = noise(size);
    const auto added = upload(text);
    ASSERT_TRUE(added) << size << added.error().message;
    EXPECT_EQ(added->id, b3::hash(base::as_bytes(text))) << size;
    EXPECT_TRUE(added->is_new);
    EXPECT_TRUE(read_all(added->id) == text) << size;
  }
  EXPECT_EQ(volume_.stats().objects, 7U);
  EXPECT_EQ(volume_.stats().uploads, 0U);
}

TEST_F(RamVolumeTest, EverythingIsGivenBack) {
  const std::string text = noise(3 * kPartBytes + 5);
  const auto large = upload(text);
  const auto again = upload(text);
  ASSERT_TRUE(large && again);
  EXPECT_FALSE(again->is_new);
  const auto small = upload("small");
  EXPECT_FALSE(put("small")->is_new);
  const volume::Upload open = begin(2 * kPartBytes);
  ASSERT_TRUE(part(open, 1, noise(kPartBytes)));
  ASSERT_TRUE(part(open, 1, noise(kPartBytes)));
  EXPECT_EQ(volume_.usage("t").objects, 2U);
  EXPECT_EQ(volume_.usage("t").bytes, text.size() + 5);
  EXPECT_EQ(remove(large->id)->length, text.size());
  EXPECT_EQ(remove(small->id)->length, 5U);
  EXPECT_EQ(remove(small->id).error().code, Code::NotFound);
  EXPECT_TRUE(ask<bool>(&volume::Volume::abort_upload, open.id));
  EXPECT_EQ(ask<bool>(&volume::Volume::abort_upload, open.id).error().code, Code::NotFound);
  const volume::VolumeStats stats = volume_.stats();
  EXPECT_EQ(stats.stored_bytes, 0U);
  EXPECT_EQ(stats.object_bytes, 0U);
  EXPECT_EQ(stats.objects, 0U);
  EXPECT_EQ(volume_.usage("t").bytes, 0U);
}

TEST_F(RamVolumeTest, ObjectsGoWithTheirLastHold) {
  const std::string large = noise(2 * kPartBytes);
  for (const std::string& text : {std::string("small"), large}) {
    const base::ObjectId id = upload(text)->id;  // by "t"
    EXPECT_EQ(remove(id, "a").error().code, Code::NotFound);
    for (const char* tenant : {"a", "b", "a"}) EXPECT_FALSE(put(text, tenant)->is_new);
    EXPECT_FALSE(upload(text)->is_new);
    EXPECT_EQ(volume_.usage("a"), (volume::Usage{text.size(), 1}));
    EXPECT_EQ(volume_.usage("t"), (volume::Usage{text.size(), 1}));
    EXPECT_EQ(volume_.stats().objects, 1U);
    EXPECT_EQ(volume_.stats().object_bytes, text.size());
    EXPECT_EQ(get(volume_.holders(id, 2, {}))->tenants, (std::vector<std::string>{"a", "b"}));
    EXPECT_TRUE(get(volume_.holders(id, 2, {}))->more);
    EXPECT_FALSE(remove(id, "t")->gone);
    EXPECT_EQ(remove(id, "t").error().code, Code::NotFound);
    EXPECT_EQ(volume_.usage("t"), volume::Usage{});
    EXPECT_FALSE(*get(volume_.holds(id, "t", {})));
    EXPECT_TRUE(*get(volume_.holds(id, "b", {})));
    EXPECT_FALSE(remove(id, "a")->gone);
    EXPECT_TRUE(read_all(id) == text);
    EXPECT_TRUE(remove(id, "b")->gone);
    EXPECT_EQ(get(volume_.locate(id, {})).error().code, Code::NotFound);
    EXPECT_EQ(volume_.stats().stored_bytes, 0U);
  }
}

TEST_F(RamVolumeTest, AnOutrightRemovalTakesEveryHold) {
  const base::ObjectId id = upload(noise(2 * kPartBytes))->id;
  ASSERT_TRUE(put(noise(2 * kPartBytes), "a"));
  EXPECT_TRUE(remove(id)->gone);
  EXPECT_EQ(volume_.usage("a"), volume::Usage{});
  EXPECT_EQ(volume_.usage("t"), volume::Usage{});
  EXPECT_TRUE(volume_.tenants(5).largest.empty());
  EXPECT_EQ(volume_.stats().stored_bytes, 0U);
}

// Any puts, uploads and removals by several tenants, against sets of who holds what.
TEST_F(RamVolumeTest, HoldsAreWhatTheirTenantsDid) {
  const std::vector<std::string> texts = {"", "one", "two", noise(kPartBytes + 1)};
  const std::vector<std::string> tenants = {"t", "a", ""};
  EXPECT_TRUE(rc::check([&] {
    std::vector<std::set<std::string>> model(texts.size());
    for (int i = *rc::gen::inRange(0, 30); i > 0; --i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, texts.size());
      const std::string& tenant = tenants[*rc::gen::inRange<std::size_t>(0, tenants.size())];
      const base::ObjectId id = b3::hash(base::as_bytes(texts[at]));
      std::set<std::string>& holders = model[at];
      const int what = *rc::gen::inRange(0, 7);
      if (what < 4) {
        const auto added = what == 0 ? upload(texts[at]) : put(texts[at], tenant);
        RC_ASSERT(added.has_value());
        RC_ASSERT(added->is_new == holders.empty());
        holders.insert(what == 0 ? "t" : tenant);
      } else if (what == 4) {
        RC_ASSERT(remove(id).has_value() == !holders.empty());
        holders.clear();
      } else {
        const auto removed = remove(id, tenant);
        RC_ASSERT(removed.has_value() == (holders.erase(tenant) != 0));
        if (removed) RC_ASSERT(removed->gone == holders.empty());
      }
    }
    std::uint64_t objects = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const base::ObjectId id = b3::hash(base::as_bytes(texts[i]));
      RC_ASSERT(get(volume_.locate(id, {})).has_value() == !model[i].empty());
      objects += model[i].empty() ? 0U : 1U;
    }
    RC_ASSERT(volume_.stats().objects == objects);
    for (const std::string& tenant : tenants) {
      volume::Usage expected;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        if (!model[i].contains(tenant)) continue;
        expected.bytes += texts[i].size();
        ++expected.objects;
      }
      RC_ASSERT(volume_.usage(tenant) == expected);
    }
    for (const std::string& text : texts) {
      static_cast<void>(remove(b3::hash(base::as_bytes(text))));
    }
    RC_ASSERT(volume_.stats().stored_bytes == 0U);
  }));
}

TEST_F(RamVolumeTest, AReaderKeepsALargeObjectThatIsRemoved) {
  const std::string text = noise(2 * kPartBytes);
  const auto added = upload(text);
  auto located = get(volume_.locate(added->id, {}));
  ASSERT_TRUE(remove(added->id));
  EXPECT_EQ(get(volume_.locate(added->id, {})).error().code, Code::NotFound);
  auto piece = get(volume_.read(std::move(*located), kPartBytes - 10, kPartBytes, {}));
  EXPECT_EQ(base::as_text(piece->bytes), text.substr(kPartBytes - 10, 10));  // up to the part's end
  EXPECT_GE(volume_.stats().stored_bytes, text.size());  // it takes memory as long as it is read
  *piece = {};
  EXPECT_EQ(volume_.stats().stored_bytes, 0U);
}

TEST_F(RamVolumeTest, ACommitThatFailsLeavesTheUpload) {
  const volume::Upload open = begin(kPartBytes + 1, b3::hash(base::as_bytes("another")));
  ASSERT_TRUE(part(open, 1, "x"));
  EXPECT_EQ(commit(open).error().code, Code::PreconditionFailed);
  ASSERT_TRUE(part(open, 0, noise(kPartBytes)));
  EXPECT_EQ(commit(open).error().code, Code::HashMismatch);
  const auto state = get(volume_.find_upload(open.id, {}));
  ASSERT_TRUE(state);
  ASSERT_EQ(state->arrived.size(), 1U);
  EXPECT_EQ(state->arrived[0].last, 1U);
  EXPECT_TRUE(part(open, 1, "y"));
}

TEST_F(RamVolumeTest, ACommitCanBeRepeatedUntilTheUploadWouldHaveExpired) {
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{9}, 2 * kPartBytes}) {
    const std::string text = noise(size);
    for (const bool is_new : {true, false}) {
      const volume::Upload open = begin(size);
      for (std::uint64_t n = 0; n < open.parts(); ++n) {
        ASSERT_TRUE(part(open, n, std::string_view(text).substr(n * kPartBytes, kPartBytes)));
      }
      const auto first = commit(open);
      const auto again = commit(open);
      ASSERT_TRUE(first && again) << size;
      EXPECT_EQ(first->is_new, is_new);
      EXPECT_FALSE(again->is_new);
      EXPECT_EQ(again->id, first->id);
      EXPECT_EQ(again->length, size);
      EXPECT_EQ(get(volume_.find_upload(open.id, {}))->committed, first->id);
      EXPECT_EQ(volume_.stats().uploads, 0U);
      clock_.unix_s = open.expires_unix_s;
      EXPECT_EQ(commit(open).error().code, Code::NotFound);
      EXPECT_EQ(get(volume_.find_upload(open.id, {})).error().code, Code::NotFound);
    }
  }
}

// On threads of their own, for the sanitizers; models/ has every schedule of it.
TEST_F(RamVolumeTest, AnUploadIsLookedAtWhileItIsCommitted) {
  constexpr std::uint64_t kParts = 2;
  const std::string text = noise(kPartBytes);
  for (int round = 0; round < 200; ++round) {
    RamVolume volume(20 * base::kMiB, arena_, clock_);
    volume::Upload open;
    open.id = volume::UploadId(1, 0, 1);
    open.length = kPartBytes + 1;
    open.expires_unix_s = clock_.unix_s + 100;
    const auto tell = [&]<class T>(runtime::TestCores& cores, auto submit) {
      auto [sender, receiver] = runtime::oneshot<Result<T>>();
      runtime::Running<void> done(cores[0], submit(std::move(sender)));
      cores.run();
    };
    tell.operator()<bool>(cores_, [&](volume::Reply<bool> reply) {
      return volume.begin_upload(open, runtime::Deadline(), std::move(reply));
    });
    for (std::uint64_t n = 0; n < kParts; ++n) {
      tell.operator()<b3::ChainingValue>(cores_, [&](volume::Reply<b3::ChainingValue> reply) {
        const auto length = static_cast<std::size_t>(open.part_length(n));
        return volume.put_part({open.id, n, buffer(text.substr(0, length))}, runtime::Deadline(),
                               std::move(reply));
      });
    }
    std::atomic<int> ready = 0;
    const auto look = [&] {
      runtime::TestCores cores;
      ++ready;
      for (bool gone = false; !gone;) {
        runtime::Running<Result<volume::UploadState>> found(cores[0],
                                                            volume.find_upload(open.id, {}));
        cores.run();
        const Result<volume::UploadState>& state = found.value();
        ASSERT_TRUE(state);
        gone = state->committed.has_value();
        if (gone) break;
        ASSERT_EQ(state->arrived.size(), 1U);
        ASSERT_EQ(state->arrived[0].last, kParts - 1);
      }
    };
    const std::jthread first(look);
    const std::jthread second(look);
    while (ready < 2) std::this_thread::yield();
    tell.operator()<volume::Added>(cores_, [&](volume::Reply<volume::Added> reply) {
      return volume.commit_upload(open.id, runtime::Deadline(), std::move(reply));
    });
  }
}

TEST_F(RamVolumeTest, ARepeatedCommitDoesNotPromiseWhatWasRemoved) {
  const volume::Upload open = begin(3);
  ASSERT_TRUE(part(open, 0, "abc"));
  const auto added = commit(open);
  ASSERT_TRUE(remove(added->id));
  EXPECT_EQ(commit(open).error().code, Code::NotFound);
}

TEST_F(RamVolumeTest, PartsCountAgainstTheCapacity) {
  const volume::Upload open = begin(10 * kPartBytes);
  ASSERT_TRUE(put(noise(8 * kPartBytes)));
  Result<b3::ChainingValue> last = b3::ChainingValue();
  for (std::uint64_t n = 0; n < 10 && last; ++n) last = part(open, n, noise(kPartBytes));
  EXPECT_TRUE(last);
  ASSERT_TRUE(put(noise(kPartBytes)));
  const auto refused = put(noise(kPartBytes + 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Amnesia);
  EXPECT_EQ(volume_.health().reason, "memory");
  volume::Upload more = open;
  more.id = volume::UploadId(9, 9, 9);
  EXPECT_EQ(ask<bool>(&volume::Volume::begin_upload, more).error().code, Code::StorageFull);
  clock_.unix_s += 101;  // what has expired makes room
  EXPECT_TRUE(put(noise(kPartBytes + 1)));
  EXPECT_EQ(part(open, 0, noise(kPartBytes)).error().code, Code::NotFound);
}

TEST_F(RamVolumeTest, ListsInOrderOfAddress) {
  std::vector<base::ObjectId> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(put(std::to_string(i))->id);
  ids.push_back(upload(noise(kPartBytes + 3))->id);
  std::ranges::sort(ids);
  std::vector<base::ObjectId> seen;
  std::optional<base::ObjectId> after;
  for (;;) {
    const auto page = get(volume_.list(after, 4, {}));
    if (page->empty()) break;
    for (const auto& one : *page) seen.push_back(one.id);
    after = seen.back();
  }
  EXPECT_EQ(seen, ids);
}

}  // namespace
}  // namespace ron::storage
