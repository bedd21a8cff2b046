#include "services/storage/ram_store.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "b3/hash.h"

namespace ron::storage {
namespace {

ObjectPtr object(std::string_view text) {
  static platform::NoSendArena arena;
  base::Buffer bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return std::make_shared<const Object>(b3::hash(base::as_bytes(text)), std::move(bytes), arena);
}

TEST(RamStore, FindsWhatWasAdded) {
  RamStore store(base::kMiB);
  const ObjectPtr hello = object("hello");
  EXPECT_EQ(*store.add(hello), Adding::New);
  EXPECT_EQ(*store.add(object("hello")), Adding::Existing);
  EXPECT_EQ(base::as_text(store.find(hello->id)->bytes()), "hello");
  EXPECT_EQ(store.find(b3::hash(base::as_bytes("other"))), nullptr);
  EXPECT_EQ(store.objects(), 1U);
}

TEST(RamStore, FullSaysAmnesiaAndRecovers) {
  RamStore store(4096);
  const ObjectPtr first = object(std::string(2000, 'a'));
  ASSERT_TRUE(store.add(first));
  const auto refused = store.add(object(std::string(2000, 'b')));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Code::Amnesia);
  EXPECT_TRUE(store.full());
  EXPECT_TRUE(store.remove(first->id));
  EXPECT_FALSE(store.full());
  EXPECT_TRUE(store.add(object(std::string(2000, 'b'))));
}

TEST(RamStore, ReadersKeepWhatIsRemovedAndItCountsUntilTheyAreDone) {
  std::optional<RamStore> store(base::kMiB);
  const base::ObjectId id = object("kept")->id;
  ASSERT_TRUE(store->add(object("kept")));
  ObjectPtr reading = store->find(id);
  ObjectPtr also_reading = reading;
  const std::uint64_t cost = reading->footprint();
  EXPECT_TRUE(store->remove(id));
  EXPECT_FALSE(store->remove(id));
  EXPECT_EQ(base::as_text(reading->bytes()), "kept");
  also_reading.reset();
  EXPECT_EQ(store->used_bytes(), cost);
  reading.reset();
  EXPECT_EQ(store->used_bytes(), 0U);
  ASSERT_TRUE(store->add(object("kept")));
  reading = store->find(id);
  store.reset();
  EXPECT_EQ(base::as_text(reading->bytes()), "kept");
}

TEST(RamStore, AccountsExactly) {
  EXPECT_TRUE(rc::check("used bytes are the sum of the footprints",
                        [](const std::vector<std::string>& texts) {
                          RamStore store(base::kGiB);
                          std::uint64_t expected = 0;
                          for (const std::string& text : texts) {
                            const ObjectPtr added = object(text);
                            if (*store.add(added) == Adding::New) expected += added->footprint();
                          }
                          RC_ASSERT(store.used_bytes() == expected);
                          for (const std::string& text : texts) store.remove(object(text)->id);
                          RC_ASSERT(store.used_bytes() == 0U);
                          RC_ASSERT(store.objects() == 0U);
                        }));
}

TEST(RamStore, TheBoundHoldsForConcurrentWriters) {
  constexpr std::uint64_t kCapacity = 64 * 1024;
  RamStore store(kCapacity);
  {
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < 4; ++writer) {
      writers.emplace_back([&store, writer] {
        for (int i = 0; i < 200; ++i) {
          const auto added =
              store.add(object(std::string(1000, 'x') + std::to_string(writer * 1000 + i)));
          EXPECT_LE(store.used_bytes(), kCapacity + 4 * 2000);
          if (!added) EXPECT_EQ(added.error().code, base::Code::Amnesia);
        }
      });
    }
  }
  EXPECT_LE(store.used_bytes(), kCapacity);
  EXPECT_TRUE(store.full());
}

TEST(RamStore, PagesOfAListAreInOrderAndComplete) {
  EXPECT_TRUE(rc::check("all pages together are what is there", [] {
    RamStore store(base::kMiB);
    std::set<base::ObjectId> model;
    const auto count = *rc::gen::inRange<std::size_t>(0, 200);
    for (std::size_t i = 0; i < count; ++i) {
      const ObjectPtr one = object(std::to_string(i));
      RC_ASSERT(store.add(one));
      model.insert(one->id);
    }
    const auto limit = *rc::gen::inRange<std::size_t>(1, 50);
    std::vector<base::ObjectId> listed;
    for (;;) {
      const auto after = listed.empty() ? std::nullopt : std::optional(listed.back());
      const std::vector<ObjectPtr> page = store.list(after, limit);
      RC_ASSERT(page.size() <= limit);
      for (const ObjectPtr& one : page) listed.push_back(one->id);
      if (page.size() < limit) break;
    }
    RC_ASSERT(std::ranges::equal(listed, model));
  }));
}

TEST(RamStore, WhatOneHoldsStaysWhateverOthersDo) {
  RamStore store(base::kMiB);
  const base::ObjectId id = object("shared")->id;
  {
    std::vector<std::jthread> tenants;
    for (OwnerNumber owner = 0; owner < 4; ++owner) {
      tenants.emplace_back([&store, &id, owner] {
        for (int i = 0; i < 2000; ++i) {
          const auto added = store.add(object("shared"), owner);
          ASSERT_TRUE(added && *added != Adding::Existing);
          ASSERT_NE(store.find(id), nullptr);
          const auto taken = store.remove(id, owner);
          ASSERT_TRUE(taken);
          ASSERT_EQ(taken->holders, std::vector{owner});
          ASSERT_FALSE(store.remove(id, owner));
        }
      });
    }
  }
  EXPECT_EQ(store.used_bytes(), 0U);
  EXPECT_EQ(store.objects(), 0U);
}

}  // namespace
}  // namespace ron::storage
