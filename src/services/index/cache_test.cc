#include "services/index/cache.h"

#include <chrono>

#include <gtest/gtest.h>

#include "services/index/test_index.h"

namespace ron::index {
namespace {

using namespace std::chrono_literals;
using platform::TimePoint;
using testing::address_of;

class CacheTest : public ::testing::Test {
 protected:
  AnswerPtr answer(std::string key, base::Duration ttl = 60s) {
    auto made = std::make_shared<Answer>();
    made->key = std::move(key);
    made->is_found = true;
    made->address = address_of(made->key);
    made->basis.name_slot = Epochs::slot_of(made->key);
    made->basis.address_slot = Epochs::slot_of(made->address);
    made->basis.name_epoch = epochs_.at(made->basis.name_slot);
    made->basis.address_epoch = epochs_.at(made->basis.address_slot);
    made->expires = now_ + ttl;
    render(*made);
    return made;
  }

  TimePoint now_{1h};
  Epochs epochs_;
  Cache cache_{epochs_, 1600};
};

TEST_F(CacheTest, WhatWasPutIsFoundUntilItsTime) {
  cache_.put(answer("docs", 10s), now_);
  EXPECT_TRUE(cache_.find("docs", now_ + 9s));
  EXPECT_FALSE(cache_.find("docs", now_ + 10s));
  EXPECT_FALSE(cache_.find("doc", now_));
  EXPECT_EQ(cache_.sweep(now_ + 10s), 1U);
  EXPECT_EQ(cache_.size(), 0U);
}

TEST_F(CacheTest, AChangeVoidsWhatWasMadeBeforeIt) {
  const AnswerPtr before = answer("docs");
  cache_.put(before, now_);
  epochs_.advance(Epochs::slot_of("docs"));
  EXPECT_FALSE(cache_.find("docs", now_));
  // One that was under way comes too late.
  cache_.put(before, now_);
  EXPECT_FALSE(cache_.find("docs", now_));
  cache_.put(answer("docs"), now_);
  EXPECT_TRUE(cache_.find("docs", now_));
  epochs_.advance(Epochs::slot_of(address_of("docs")));
  EXPECT_FALSE(cache_.find("docs", now_));
}

TEST_F(CacheTest, WhileAChangeIsWrittenNothingIsFound) {
  cache_.put(answer("docs"), now_);
  epochs_.begin(Epochs::slot_of("docs"));
  EXPECT_FALSE(cache_.find("docs", now_));
  // What is made meanwhile may be of before or after it.
  cache_.put(answer("docs"), now_);
  EXPECT_FALSE(cache_.find("docs", now_));
  epochs_.finish(Epochs::slot_of("docs"));
  EXPECT_FALSE(cache_.find("docs", now_));
  cache_.put(answer("docs"), now_);
  EXPECT_TRUE(cache_.find("docs", now_));
  // One who was aborted leaves it begun.
  epochs_.begin(Epochs::slot_of("docs"));
  epochs_.settle();
  cache_.put(answer("docs"), now_);
  EXPECT_TRUE(cache_.find("docs", now_));
}

TEST_F(CacheTest, ItNeverHoldsMoreThanItMay) {
  for (int i = 0; i < 20'000; ++i) cache_.put(answer("n" + std::to_string(i)), now_);
  EXPECT_LE(cache_.size(), 1600U);
  EXPECT_GT(cache_.size(), 1500U);
}

TEST_F(CacheTest, WhatIsAskedForAgainStays) {
  cache_.put(answer("wanted"), now_);
  for (int i = 0; i < 20'000; ++i) {
    cache_.put(answer("n" + std::to_string(i)), now_);
    if (i % 20 == 0) EXPECT_TRUE(cache_.find("wanted", now_)) << i;
  }
}

TEST_F(CacheTest, TheLatestAnswerReplacesTheOneBefore) {
  cache_.put(answer("docs", 1s), now_);
  cache_.put(answer("docs", 9s), now_);
  EXPECT_EQ(cache_.size(), 1U);
  EXPECT_TRUE(cache_.find("docs", now_ + 5s));
  EXPECT_EQ(cache_.purge(), 1U);
  EXPECT_FALSE(cache_.find("docs", now_));
}

TEST_F(CacheTest, FewerEntriesTakeEffect) {
  for (int i = 0; i < 1000; ++i) cache_.put(answer("n" + std::to_string(i)), now_);
  cache_.set_entries(160);
  for (int i = 0; i < 1000; ++i) cache_.put(answer("m" + std::to_string(i)), now_);
  EXPECT_LE(cache_.size(), 160U);
}

}  // namespace
}  // namespace ron::index
