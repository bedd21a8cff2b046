#include "services/storage/cache.h"

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "b3/hash.h"

namespace ron::storage {
namespace {

ObjectPtr object(const std::string& text) {
  static platform::NoSendArena arena;
  base::Buffer bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return std::make_shared<const Object>(b3::hash(base::as_bytes(text)), std::move(bytes), arena);
}

ObjectPtr sized(int number, std::size_t bytes) {
  std::string text = std::to_string(number);
  text.resize(bytes, '.');
  return object(text);
}

bool load(ObjectCache& cache, const ObjectPtr& loaded) {
  return cache.insert(loaded, cache.ticket(loaded->id));
}

TEST(ObjectCache, FindsWhatWasInserted) {
  ObjectCache cache(base::kMiB);
  const ObjectPtr hello = object("hello");
  EXPECT_EQ(cache.find(hello->id), nullptr);
  EXPECT_TRUE(load(cache, hello));
  EXPECT_EQ(cache.find(hello->id), hello);
  EXPECT_EQ(cache.count(), 1U);
  cache.erase(hello->id);
  EXPECT_EQ(cache.find(hello->id), nullptr);
  EXPECT_EQ(cache.used_bytes(), 0U);
}

TEST(ObjectCache, ASlowReaderCannotBringBackWhatWasErased) {
  ObjectCache cache(base::kMiB);
  const ObjectPtr doomed = object("doomed");
  const ObjectCache::Ticket before = cache.ticket(doomed->id);  // the reader has looked it up
  cache.erase(doomed->id);                                      // and it was removed meanwhile
  EXPECT_FALSE(cache.insert(doomed, before));
  EXPECT_EQ(cache.find(doomed->id), nullptr);
  EXPECT_TRUE(load(cache, doomed));  // stored anew, looked up anew
}

TEST(ObjectCache, StaysWithinItsBound) {
  EXPECT_TRUE(rc::check("bytes are bounded and accounted", [](std::vector<std::uint16_t> sizes) {
    constexpr std::uint64_t kCapacity = 64 * base::kKiB;
    ObjectCache cache(kCapacity);
    int number = 0;
    for (const std::uint16_t size : sizes) {
      const ObjectPtr one = sized(number++, size);
      load(cache, one);
      RC_ASSERT(cache.used_bytes() <= kCapacity);
    }
    cache.set_capacity(0);
    RC_ASSERT(cache.used_bytes() == 0U);
    RC_ASSERT(cache.count() == 0U);
  }));
}

TEST(ObjectCache, AScanDoesNotDriveOutWhatIsWanted) {
  ObjectCache cache(base::kMiB);
  std::vector<ObjectPtr> wanted;
  for (int i = 0; i < 200; ++i) wanted.push_back(sized(i, 1000));
  for (int round = 0; round < 3; ++round) {
    for (const ObjectPtr& one : wanted) {
      if (!cache.find(one->id)) load(cache, one);
    }
  }
  // Ten times what fits, each once, while the others are asked for now and then.
  for (int i = 0; i < 10'000; ++i) {
    load(cache, sized(1'000'000 + i, 1000));
    static_cast<void>(cache.find(wanted[static_cast<std::size_t>(i) % wanted.size()]->id));
  }
  std::size_t kept = 0;
  for (const ObjectPtr& one : wanted) kept += cache.find(one->id) ? 1 : 0;
  EXPECT_EQ(kept, wanted.size());
}

TEST(ObjectCache, WhatComesBackSoonIsKept) {
  ObjectCache cache(64 * base::kKiB);
  for (int i = 0; i < 60; ++i) load(cache, sized(i, 1000));
  const ObjectPtr back = sized(5000, 1000);
  load(cache, back);
  for (int i = 0; i < 60; ++i) load(cache, sized(6000 + i, 1000));
  EXPECT_EQ(cache.find(back->id), nullptr);  // it left, and is remembered
  load(cache, back);
  for (int i = 0; i < 200; ++i) load(cache, sized(7000 + i, 1000));
  EXPECT_NE(cache.find(back->id), nullptr);
}

TEST(ObjectCache, RefusesWhatWouldFillAShard) {
  ObjectCache cache(base::kMiB);
  EXPECT_TRUE(cache.admits(base::kMiB / 2));
  EXPECT_FALSE(cache.admits(base::kMiB));
  EXPECT_FALSE(load(cache, sized(1, base::kMiB)));
  ObjectCache off(0);
  EXPECT_FALSE(off.enabled());
  EXPECT_FALSE(off.admits(1));
  EXPECT_FALSE(load(off, sized(1, 1)));
}

TEST(ObjectCache, AnErasedObjectStaysAwayUnderConcurrentReaders) {
  ObjectCache cache(base::kMiB);
  const ObjectPtr contested = object("contested");
  std::atomic<bool> stored = true;  // what the volume says
  std::atomic<bool> stop = false;
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 3; ++i) {
      readers.emplace_back([&] {
        while (!stop.load()) {
          if (cache.find(contested->id)) continue;
          const ObjectCache::Ticket ticket = cache.ticket(contested->id);
          if (stored.load()) cache.insert(contested, ticket);
        }
      });
    }
    for (int i = 0; i < 2000; ++i) {
      stored = false;
      cache.erase(contested->id);
      EXPECT_EQ(cache.find(contested->id), nullptr);
      stored = true;
    }
    stop = true;
  }
}

}  // namespace
}  // namespace ron::storage
