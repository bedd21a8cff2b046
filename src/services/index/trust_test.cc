#include "services/index/trust.h"

#include <gtest/gtest.h>

#include "services/index/test_targets.h"

namespace ron::index {
namespace {

using namespace test;
using catalog::ProviderRecord;

constexpr std::int64_t kNow = 1'750'000'000'000;
constexpr std::uint64_t kLater = kNow + 60'000;

struct TrustTest : testing::Test {
  sim::World world{1, {.start_unix_ms = kNow}};
  sim::Node& node = world.add_node();
  runtime::Meters meters{"svc-index"};
  auth::SigningKey known = node_key(1);
  auth::SigningKey other_known = node_key(2);
  auth::SigningKey stranger = node_key(3);
  Trust trust{node.host(), meters, policy()};
  std::size_t verified = 0;

  TrustPolicy policy() {
    return {.nodes = {known.public_key(), other_known.public_key()}, .max_ttl = 1h};
  }
  std::vector<ProviderRecord> sift(std::vector<ProviderRecord> records) {
    std::vector<ProviderRecord> out;
    const Root running(node.core(), keep(&trust, std::move(records), &verified, &out));
    EXPECT_EQ(world.run_until([&] { return running.done(); }, 10s), sim::Outcome::Done);
    return out;
  }
  static Task<void> keep(Trust* trust, std::vector<ProviderRecord> records, std::size_t* verified,
                         std::vector<ProviderRecord>* out) {
    *out = co_await trust->sift(address(1), std::move(records), verified);
  }
  std::int64_t refused(std::string_view reason) {
    return http::test::reading(meters, "index_records_refused_total", reason);
  }
};

TEST_F(TrustTest, ARecordOfAKnownNodeCounts) {
  const ProviderRecord good = record_of(known, address(1), kLater);
  EXPECT_EQ(sift({good}), std::vector{good});
  EXPECT_EQ(verified, 1U);
}

TEST_F(TrustTest, OfAnotherAddressItDoesNot) {
  EXPECT_TRUE(sift({record_of(known, address(2), kLater)}).empty());
  EXPECT_EQ(refused("other_address"), 1);
  EXPECT_EQ(verified, 0U) << "what is cheap to see costs no signature";
}

TEST_F(TrustTest, ExpiredItDoesNot) {
  EXPECT_TRUE(sift({record_of(known, address(1), kNow)}).empty());
  EXPECT_EQ(sift({record_of(known, address(1), kNow + 1)}).size(), 1U);
  EXPECT_EQ(refused("expired"), 1);
}

TEST_F(TrustTest, ClaimingToHoldForTooLongItDoesNot) {
  EXPECT_EQ(sift({record_of(known, address(1), kNow + 3'600'000)}).size(), 1U);
  EXPECT_TRUE(sift({record_of(known, address(1), kNow + 3'600'001)}).empty());
  EXPECT_TRUE(sift({record_of(known, address(1), ~std::uint64_t{0})}).empty());
  EXPECT_EQ(refused("too_long"), 2);
}

TEST_F(TrustTest, OfAStrangerItCountsOnlyIfAnyoneDoes) {
  const ProviderRecord foreign = record_of(stranger, address(1), kLater);
  EXPECT_TRUE(sift({foreign}).empty());
  EXPECT_EQ(refused("foreign"), 1);
  trust.set({.anyone = true});
  EXPECT_EQ(sift({foreign}).size(), 1U);
}

TEST_F(TrustTest, ForgedItDoesNot) {
  ProviderRecord record = record_of(known, address(1), kLater);
  record.url = "http://evil.example";
  ProviderRecord borrowed = record_of(stranger, address(1), kLater);
  borrowed.node = known.public_key();
  EXPECT_TRUE(sift({record, borrowed}).empty());
  EXPECT_EQ(refused("forged"), 2);
}

TEST_F(TrustTest, AnOlderOneDoesNotComeBack) {
  EXPECT_EQ(sift({record_of(known, address(1), kLater, 5)}).size(), 1U);
  EXPECT_TRUE(sift({record_of(known, address(1), kLater, 4)}).empty());
  EXPECT_EQ(refused("replayed"), 1);
  EXPECT_EQ(sift({record_of(known, address(1), kLater, 5)}).size(), 1U) << "the same one may";
  EXPECT_EQ(sift({record_of(other_known, address(1), kLater, 1)}).size(), 1U);
}

TEST_F(TrustTest, WhatWasAnnouncedHereIsNewerThanWhatTheDhtHas) {
  EXPECT_TRUE(trust.note(record_of(known, address(1), kLater, 9)));
  EXPECT_TRUE(sift({record_of(known, address(1), kLater, 8)}).empty());
  EXPECT_FALSE(trust.note(record_of(known, address(1), kLater, 8)));
}

TEST_F(TrustTest, OfEachNodeTheNewestCounts) {
  const auto kept =
      sift({record_of(known, address(1), kLater, 1), record_of(other_known, address(1), kLater, 7),
            record_of(known, address(1), kLater, 3), record_of(known, address(1), kLater, 2)});
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].seq, 7U);
  EXPECT_EQ(kept[1].seq, 3U);
}

TEST_F(TrustTest, ALaneCostsSoManySignaturesAndNoMore) {
  ProviderRecord forged = record_of(known, address(1), kLater);
  forged.region = "nowhere";
  EXPECT_TRUE(sift(std::vector(Trust::kMaxVerified, forged)).empty());
  EXPECT_EQ(verified, Trust::kMaxVerified);
  EXPECT_TRUE(sift({record_of(known, address(1), kLater)}).empty());
  EXPECT_EQ(refused("too_many"), 1);
  EXPECT_EQ(verified, Trust::kMaxVerified);
}

TEST(HighestSeqs, ForgetsThePairItHasKnownLongest) {
  HighestSeqs seqs(2);
  const auth::SigningKey key = node_key(1);
  EXPECT_TRUE(seqs.note(record_of(key, address(1), kLater, 5)));
  EXPECT_TRUE(seqs.note(record_of(key, address(2), kLater, 5)));
  EXPECT_FALSE(seqs.note(record_of(key, address(1), kLater, 4)));
  EXPECT_TRUE(seqs.note(record_of(key, address(3), kLater, 5)));
  EXPECT_TRUE(seqs.note(record_of(key, address(1), kLater, 4))) << "it was forgotten";
  EXPECT_FALSE(seqs.note(record_of(key, address(3), kLater, 4)));
}

}  // namespace
}  // namespace ron::index
