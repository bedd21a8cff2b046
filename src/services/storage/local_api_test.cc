#include "services/storage/local_api.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "b3/hash.h"
#include "services/storage/test_core.h"

namespace ron::storage {
namespace {

using namespace std::chrono_literals;
using base::Code;
using base::Result;
using storage_api::Change;
using storage_api::ObjectInfo;
using storage_api::Range;
using testing::buffer;
using testing::noise;

class LocalApiTest : public testing::CoreFixture {
 protected:
  void begin(const Flags& flags = {}) {
    start(flags);
    start_workers();
    api_.emplace(*core_);
  }
  storage_api::Call call(const std::string& tenant = "t") { return {soon(), tenant}; }
  base::ObjectId store(const std::string& text) {
    const auto stored = get(api_->put({buffer(text)}, call()));
    EXPECT_TRUE(stored);
    return stored ? stored->object.id : base::ObjectId();
  }
  // All a stream brings.
  std::string drain(storage_api::ObjectStream& stream) {
    std::string all;
    for (;;) {
      const auto piece = get(stream.body->next());
      EXPECT_TRUE(piece);
      if (!piece || piece->empty()) return all;
      all += base::as_text(*piece);
    }
  }

  std::optional<LocalApi> api_;
};

TEST_F(LocalApiTest, WhatIsPutCanBeReadWholeAndInParts) {
  for (const Flags& flags : {Flags{}, Flags{"storage.cache_bytes=0"}}) {
    SCOPED_TRACE(flags.size());
    begin(flags);
    const std::string text = noise(300'000);
    const auto stored = get(api_->put({buffer(text)}, call()));
    ASSERT_TRUE(stored);
    EXPECT_TRUE(stored->is_new);
    const ObjectInfo info{b3::hash(base::as_bytes(text)), text.size()};
    EXPECT_EQ(stored->object, info);
    EXPECT_EQ(*get(api_->stat(info.id, soon())), info);
    for (const Range range : {Range{1000, 200'000}, Range{0, text.size()}, Range{299'990, 10}}) {
      auto part = get(api_->open(info.id, range, soon()));
      ASSERT_TRUE(part);
      EXPECT_EQ(part->object_length, text.size());
      EXPECT_EQ(part->range, range);
      EXPECT_EQ(drain(*part), text.substr(range.offset, range.length));
    }
    auto whole = get(api_->open(info.id, std::nullopt, soon()));
    ASSERT_TRUE(whole);
    EXPECT_EQ(drain(*whole), text);
    TearDown();
    api_.reset();
  }
}

TEST_F(LocalApiTest, ARangeIsCutAtTheEndOfTheObject) {
  begin();
  const base::ObjectId id = store("0123456789");
  auto part = get(api_->open(id, Range{8, 100}, soon()));
  ASSERT_TRUE(part);
  EXPECT_EQ(part->range, (Range{8, 2}));
  EXPECT_EQ(drain(*part), "89");
  EXPECT_EQ(get(api_->open(id, Range{10, 1}, soon())).error().code, Code::RangeNotSatisfiable);
  auto empty = get(api_->open(store(""), std::nullopt, soon()));
  ASSERT_TRUE(empty);
  EXPECT_EQ(drain(*empty), "");
}

TEST_F(LocalApiTest, WhatIsNotThereIsNotFound) {
  begin();
  const base::ObjectId id = b3::hash({});
  EXPECT_EQ(get(api_->stat(id, soon())).error().code, Code::NotFound);
  EXPECT_EQ(get(api_->open(id, std::nullopt, soon())).error().code, Code::NotFound);
  EXPECT_EQ(get(api_->remove(id, call())).error().code, Code::NotFound);
}

TEST_F(LocalApiTest, AStreamBringsNothingThatDidNotVerify) {
  begin({"storage.cache_bytes=0"});
  const base::ObjectId id = store(noise(200'000));
  auto stream = get(api_->open(id, std::nullopt, soon()));
  ASSERT_TRUE(stream);
  ASSERT_TRUE(get(stream->body->next()));
  volumes_[0]->read_error = base::Error(Code::IntegrityFail, "");
  EXPECT_EQ(get(stream->body->next()).error().code, Code::IntegrityFail);
  EXPECT_EQ(get(api_->open(id, std::nullopt, soon())).error().code, Code::IntegrityFail);
}

TEST_F(LocalApiTest, AnUploadBelongsToItsTenant) {
  begin();
  const std::string text = noise(volume::kPartBytes + 5);
  const auto begun = get(api_->begin_upload({text.size()}, call("a")));
  ASSERT_TRUE(begun);
  const auto part = [&](std::uint64_t number, std::size_t length, const std::string& tenant) {
    const std::size_t offset = std::min(number * volume::kPartBytes, text.size());
    base::Buffer bytes = buffer(text.substr(offset, length));
    return get(api_->put_part(begun->id, number, std::move(bytes), call(tenant)));
  };
  EXPECT_EQ(part(1, 5, "b").error().code, Code::NotFound);
  EXPECT_EQ(part(1, 4, "a").error().code, Code::Malformed);
  EXPECT_EQ(part(2, 0, "a").error().code, Code::Malformed);
  ASSERT_TRUE(part(1, 5, "a"));
  EXPECT_EQ(get(api_->commit_upload(begun->id, call("a"))).error().code, Code::PreconditionFailed);
  const auto state = get(api_->stat_upload(begun->id, call("a")));
  ASSERT_TRUE(state);
  ASSERT_EQ(state->arrived.size(), 1U);
  EXPECT_EQ(state->arrived[0].first, 1U);
  ASSERT_TRUE(part(0, volume::kPartBytes, "a"));
  const auto stored = get(api_->commit_upload(begun->id, call("a")));
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->object.id, b3::hash(base::as_bytes(text)));
  EXPECT_EQ(get(api_->abort_upload(begun->id, call("a"))).error().code, Code::NotFound);
}

// Who listens first and lists then knows all there is.
TEST_F(LocalApiTest, ListenersHearWhatIsStoredAndRemoved) {
  begin({"storage.channels.events=4"});
  const base::ObjectId before = store("before");
  const auto changes = api_->listen();
  const auto listed = get(api_->list(std::nullopt, 10, soon()));
  ASSERT_TRUE(listed);
  EXPECT_EQ(*listed, (std::vector<ObjectInfo>{{before, 6}}));
  const base::ObjectId after = store("after it");
  ASSERT_TRUE(get(api_->remove(before, call())));
  const auto first = get(changes->next(soon()));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->kind, Change::Kind::Stored);
  EXPECT_EQ(first->object, (ObjectInfo{after, 8}));
  const auto second = get(changes->next(soon()));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->kind, Change::Kind::Removed);
  EXPECT_EQ(second->object.id, before);
  EXPECT_EQ(get(changes->next(soon())).error().code, Code::Timeout);
  for (int i = 0; i < 10; ++i) store("object " + std::to_string(i));
  EXPECT_EQ(get(changes->next(soon()))->kind, Change::Kind::Missed);
}

TEST_F(LocalApiTest, AHoldThatOthersShareIsNoRemoval) {
  begin();
  const auto changes = api_->listen();
  const base::ObjectId id = store("shared");
  ASSERT_TRUE(get(api_->put({buffer("shared")}, call("other"))));
  ASSERT_TRUE(get(api_->remove(id, call())));
  EXPECT_EQ(get(changes->next(soon()))->kind, Change::Kind::Stored);
  EXPECT_EQ(get(changes->next(soon())).error().code, Code::Timeout);
  EXPECT_TRUE(get(api_->stat(id, soon())));
}

}  // namespace
}  // namespace ron::storage
