#include "services/index/decide.h"

#include <gtest/gtest.h>

#include "services/index/test_index.h"

namespace ron::index {
namespace {

using base::Code;
using testing::address_of;
using testing::named;
using testing::removed;
using testing::TestStore;

class Decide : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(store_.open()); }

  Code refused(const base::Result<NameSet>& result) {
    EXPECT_FALSE(result);
    return result ? Code::Internal : result.error().code;
  }

  volume::Machine machine_{1};
  TestStore store_{machine_};
};

TEST_F(Decide, VersionsCountUpAndAreKept) {
  const auto first = store_.set(named("docs", "1"));
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->is_new);
  EXPECT_EQ(first->version.version, 1U);
  const auto second = store_.set(named("docs", "2"));
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->is_new);
  EXPECT_EQ(second->version.version, 2U);
  EXPECT_EQ(store_.name("docs@1")->target, address_of("1"));
  EXPECT_EQ(store_.name("docs")->target, address_of("2"));
  EXPECT_FALSE(store_.name("docs@3"));
}

TEST_F(Decide, TheSameAgainIsNoNewVersion) {
  ASSERT_TRUE(store_.set(named("docs", "1")));
  const auto again = store_.set(named("docs", "1"));
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->has_changed);
  EXPECT_EQ(again->version.version, 1U);
  // But whoever compares and sets gets a version of his own.
  const auto compared = store_.set(named("docs", "1"), 1);
  ASSERT_TRUE(compared);
  EXPECT_EQ(compared->version.version, 2U);
}

TEST_F(Decide, OnlyTheExpectedVersionIsReplaced) {
  EXPECT_EQ(refused(store_.set(named("docs", "1"), 1)), Code::VersionSkew);
  ASSERT_TRUE(store_.set(named("docs", "1"), 0));
  EXPECT_EQ(refused(store_.set(named("docs", "2"), 0)), Code::VersionSkew);
  ASSERT_TRUE(store_.set(named("docs", "2"), 1));
  EXPECT_EQ(refused(store_.set(removed("docs"), 1)), Code::VersionSkew);
  ASSERT_TRUE(store_.set(removed("docs"), 2));
  // It is not there, and it is at version 3.
  ASSERT_TRUE(store_.set(named("docs", "4"), 0));
  ASSERT_TRUE(store_.set(removed("docs"), 4));
  ASSERT_TRUE(store_.set(named("docs", "6"), 5));
  EXPECT_EQ(store_.name("docs")->version, 6U);
}

TEST_F(Decide, ARemovalIsAVersionAndNoName) {
  EXPECT_EQ(refused(store_.set(removed("docs"))), Code::NotFound);
  ASSERT_TRUE(store_.set(named("docs", "1")));
  const auto gone = store_.set(removed("docs"));
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->version.version, 2U);
  EXPECT_EQ(refused(store_.set(removed("docs"))), Code::NotFound);
  EXPECT_TRUE(store_.list({.limit = 10}).names.empty());
}

TEST_F(Decide, ANameIsItsTenants) {
  ASSERT_TRUE(store_.set(named("docs", "1", "alice")));
  EXPECT_EQ(refused(store_.set(named("docs", "2", "bob"))), Code::Forbidden);
  EXPECT_EQ(refused(store_.set(removed("docs", "bob"))), Code::Forbidden);
  // An operator may, and it stays hers; also when it was removed.
  ASSERT_TRUE(store_.set(removed("docs", "root"), {}, {.is_admin = true}));
  EXPECT_EQ(refused(store_.set(named("docs", "2", "bob"))), Code::Forbidden);
  ASSERT_TRUE(store_.set(named("docs", "3", "alice")));
}

TEST_F(Decide, ATenantHasOnlySoManyNames) {
  const WriteRules rules{.names_per_tenant = 2};
  ASSERT_TRUE(store_.set(named("a", "1", "alice"), {}, {}, rules));
  ASSERT_TRUE(store_.set(named("b", "1", "alice"), {}, {}, rules));
  EXPECT_EQ(refused(store_.set(named("c", "1", "alice"), {}, {}, rules)), Code::Quota);
  ASSERT_TRUE(store_.set(named("a", "2", "alice"), {}, {}, rules));
  ASSERT_TRUE(store_.set(named("c", "1", "bob"), {}, {}, rules));
  ASSERT_TRUE(store_.set(removed("a", "alice"), {}, {}, rules));
  ASSERT_TRUE(store_.set(named("d", "1", "alice"), {}, {}, rules));
}

ProviderEntry provider(std::string_view object, std::uint64_t seq, std::uint64_t expires_ms,
                       bool is_own = true) {
  ProviderEntry entry;
  entry.record.addr = address_of(object);
  entry.record.url = "http://a.example";
  entry.record.node.bytes.fill(std::byte{1});
  entry.record.seq = seq;
  entry.record.expires_ms = expires_ms;
  entry.is_own = is_own;
  return entry;
}

TEST_F(Decide, ALowerSequenceDoesNotCount) {
  const auto far = static_cast<std::uint64_t>(store_.now_ms) + 1000;
  EXPECT_EQ(store_.announce({provider("x", 5, far)})->accepted, 1U);
  EXPECT_EQ(store_.announce({provider("x", 4, far)})->stale, 1U);
  EXPECT_EQ(store_.announce({provider("x", 5, far)})->accepted, 1U);
  EXPECT_EQ(store_.announce({provider("x", 6, far)})->accepted, 1U);
  ASSERT_EQ(store_.providers(address_of("x")).size(), 1U);
  EXPECT_EQ(store_.providers(address_of("x")).front().record.seq, 6U);
}

TEST_F(Decide, AWithdrawalKeepsOlderRecordsOut) {
  const auto now = static_cast<std::uint64_t>(store_.now_ms);
  EXPECT_EQ(store_.announce({provider("x", 5, now)})->expired, 1U);
  ASSERT_EQ(store_.announce({provider("x", 5, now + 5000)})->accepted, 1U);
  ASSERT_EQ(store_.announce({provider("x", 6, now)})->accepted, 1U);
  // The record before it would still hold.
  EXPECT_EQ(store_.prune(now + 100).value(), 0U);
  EXPECT_EQ(store_.announce({provider("x", 5, now + 5000)})->stale, 1U);
  EXPECT_EQ(store_.prune(now + 5001).value(), 1U);
  EXPECT_TRUE(store_.providers(address_of("x")).empty());
}

TEST_F(Decide, WhatWasAnnouncedStaysSoWhenItIsHeardOf) {
  const auto far = static_cast<std::uint64_t>(store_.now_ms) + 1000;
  ASSERT_TRUE(store_.announce({provider("x", 1, far)}));
  ASSERT_TRUE(store_.announce({provider("x", 2, far, false)}));
  EXPECT_TRUE(store_.providers(address_of("x")).front().is_own);
}

TEST(Draft, AJobThatIsDroppedLeavesNoTrace) {
  volume::Machine machine(1);
  TestStore store(machine);
  ASSERT_TRUE(store.open());
  ASSERT_TRUE(store.commit({{{"kept", "2"}}}));
  Draft draft(&store->map());
  draft.put("a", "1");
  EXPECT_EQ(draft.keep_job().size(), 1U);
  draft.put("a", "2");
  draft.erase("a");
  draft.put("b", "3");
  draft.put("kept", "lost");
  draft.drop_job();
  EXPECT_EQ(testing::run(machine, draft.get("a")).value(), "1");
  EXPECT_EQ(testing::run(machine, draft.get("b")).value(), std::nullopt);
  EXPECT_EQ(testing::run(machine, draft.get("kept")).value(), "2");
  EXPECT_TRUE(draft.keep_job().empty());
}

}  // namespace
}  // namespace ron::index
