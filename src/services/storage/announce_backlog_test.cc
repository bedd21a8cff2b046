#include "services/storage/announce_backlog.h"

#include <string>

#include <gtest/gtest.h>

#include "b3/hash.h"

namespace ron::storage {
namespace {

using Noted = AnnounceBacklog::Noted;
using Item = AnnounceBacklog::Item;

base::ObjectId id(int number) { return b3::hash(base::as_bytes(std::to_string(number))); }
platform::TimePoint at(int second) { return platform::TimePoint() + std::chrono::seconds(second); }

TEST(AnnounceBacklog, GivesWhatWaitsLongestFirst) {
  AnnounceBacklog backlog(10);
  EXPECT_EQ(backlog.oldest(), std::nullopt);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(backlog.note(id(i), true, at(i)), Noted::Kept);
  EXPECT_EQ(backlog.oldest(), at(0));
  EXPECT_EQ(backlog.take(2), (std::vector<Item>{{id(0), true, at(0)}, {id(1), true, at(1)}}));
  EXPECT_EQ(backlog.oldest(), at(2));
  EXPECT_EQ(backlog.size(), 1U);
}

TEST(AnnounceBacklog, OfAnObjectOnlyTheLastCounts) {
  AnnounceBacklog backlog(10);
  backlog.note(id(1), true, at(1));
  backlog.note(id(2), true, at(2));
  backlog.note(id(1), false, at(3));
  EXPECT_EQ(backlog.take(9), (std::vector<Item>{{id(1), false, at(1)}, {id(2), true, at(2)}}));
}

TEST(AnnounceBacklog, WhatWasNotSaidWaitsAgainUnlessSomethingNewerIsKnown) {
  AnnounceBacklog backlog(10);
  for (int i = 0; i < 3; ++i) backlog.note(id(i), true, at(i));
  const auto taken = backlog.take(2);
  backlog.note(id(1), false, at(7));
  backlog.put_back(taken);
  EXPECT_EQ(backlog.take(9),
            (std::vector<Item>{{id(0), true, at(0)}, {id(2), true, at(2)}, {id(1), false, at(7)}}));
}

TEST(AnnounceBacklog, ThatAnObjectIsGoneTakesThePlaceOfThoseThatAreThere) {
  AnnounceBacklog backlog(3);
  backlog.note(id(0), true, at(0));
  backlog.note(id(1), false, at(1));
  backlog.note(id(2), true, at(2));
  EXPECT_EQ(backlog.note(id(3), true, at(3)), Noted::ListAgain);
  EXPECT_EQ(backlog.size(), 3U);
  EXPECT_EQ(backlog.note(id(4), false, at(4)), Noted::ListAgain);
  EXPECT_EQ(backlog.note(id(5), false, at(5)), Noted::Kept);
  EXPECT_EQ(backlog.note(id(6), false, at(6)), Noted::Lost);
  EXPECT_EQ(
      backlog.take(9),
      (std::vector<Item>{{id(1), false, at(1)}, {id(4), false, at(4)}, {id(5), false, at(5)}}));
}

}  // namespace
}  // namespace ron::storage
