#include "services/index/dht_answer.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "services/index/test_targets.h"

namespace ron::index {
namespace {

using namespace test;
using base::Code;
using catalog::ProviderRecord;

struct DhtAnswerTest : testing::Test {
  DhtAnswer answer;
  std::vector<ProviderRecord> records;
  ProviderRecord record = record_of(node_key(1), address(1), 1'750'000'100'000);

  base::Result<void> take(std::string_view text) {
    return answer.take(base::as_bytes(text), records);
  }
};

TEST_F(DhtAnswerTest, EveryLineIsAValue) {
  EXPECT_TRUE(take(dht_line(record) + dht_line(record)));
  EXPECT_TRUE(answer.finish(records));
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0], record);
  EXPECT_EQ(answer.skipped(), 0U);
}

TEST_F(DhtAnswerTest, ALineIsTakenAsSoonAsItEnds) {
  const std::string line = dht_line(record);
  EXPECT_TRUE(take(line.substr(0, 100)));
  EXPECT_TRUE(records.empty());
  EXPECT_TRUE(take(line.substr(100)));
  EXPECT_EQ(records.size(), 1U);
}

TEST_F(DhtAnswerTest, TheLastLineMayLackItsEnd) {
  const std::string line = dht_line(record);
  EXPECT_TRUE(take(line.substr(0, line.size() - 1)));
  EXPECT_TRUE(records.empty());
  EXPECT_TRUE(answer.finish(records));
  EXPECT_EQ(records.size(), 1U);
}

TEST_F(DhtAnswerTest, WhateverThePiecesAreTheRecordsAreTheSame) {
  const std::string whole = dht_line(record) + dht_line("something else") + dht_line(record);
  EXPECT_TRUE(rc::check([&] {
    DhtAnswer cut;
    std::vector<ProviderRecord> found;
    for (std::size_t at = 0; at < whole.size();) {
      const std::size_t size = *rc::gen::inRange<std::size_t>(1, 200);
      RC_ASSERT(cut.take(base::as_bytes(std::string_view(whole).substr(at, size)), found));
      at += size;
    }
    RC_ASSERT(cut.finish(found));
    RC_ASSERT(found.size() == 2U);
    RC_ASSERT(cut.skipped() == 1U);
  }));
}

TEST_F(DhtAnswerTest, ValuesThatAreNoRecordsAreSkippedAndCounted) {
  EXPECT_TRUE(take(dht_line("hello world") + "{\"cypher\":\"AAAA\"}\n{\"data\":7}\n" +
                   "{\"data\":\"%%%\"}\n" + dht_line(record)));
  EXPECT_EQ(records.size(), 1U);
  EXPECT_EQ(answer.skipped(), 4U);
}

TEST_F(DhtAnswerTest, NothingIsAnAnswerToo) {
  EXPECT_TRUE(answer.finish(records));
  EXPECT_TRUE(take("\n\r\n"));
  EXPECT_TRUE(records.empty());
}

TEST_F(DhtAnswerTest, GarbageIsNoAnswer) {
  EXPECT_EQ(take("<html>\n").error().code, Code::UpstreamFail);
  DhtAnswer other;
  EXPECT_FALSE(other.take(base::as_bytes("[1]\n"), records));
  DhtAnswer unfinished;
  EXPECT_TRUE(unfinished.take(base::as_bytes("{\"data\":"), records));
  EXPECT_FALSE(unfinished.finish(records));
}

TEST_F(DhtAnswerTest, ALineHasABound) {
  const std::string piece(1024, 'x');
  std::size_t taken = 0;
  while (take(piece)) taken += piece.size();
  EXPECT_EQ(taken, DhtAnswer::kMaxLineBytes);
}

TEST_F(DhtAnswerTest, SoHaveTheLines) {
  for (std::size_t i = 0; i < DhtAnswer::kMaxLines; ++i) ASSERT_TRUE(take(dht_line(record)));
  EXPECT_EQ(take(dht_line(record)).error().code, Code::UpstreamFail);
  EXPECT_EQ(records.size(), DhtAnswer::kMaxLines);
}

TEST_F(DhtAnswerTest, SoHasTheWhole) {
  const std::string line = "{\"data\":\"" + std::string(60'000, 'A') + "\"}\n";
  std::size_t taken = 0;
  while (take(line)) taken += line.size();
  EXPECT_LE(taken, DhtAnswer::kMaxBytes);
  EXPECT_GT(taken + line.size(), DhtAnswer::kMaxBytes);
}

}  // namespace
}  // namespace ron::index
