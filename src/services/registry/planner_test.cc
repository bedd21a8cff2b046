#include "services/registry/planner.h"

#include <gtest/gtest.h>

#include "chain/test_signers.h"

namespace ron::registry {
namespace {

using base::Code;
using base::Value;
using chain::testing::key_of;
using chain::testing::kStartMs;
using chain::testing::node_value;
using chain::testing::set_of;
using chain::testing::signer_of;
using chain::testing::signers_value;
using chain::testing::TestLog;
using chain::testing::update_value;

constexpr std::int64_t kTtlMs = 10'000;

class PlannerTest : public ::testing::Test {
 protected:
  PlannerTest() {
    planner_.set_rules({kTtlMs, 4});
    planner_.reset(log_.state(), {});
  }

  base::Result<Proposal> propose(const Value& change) {
    ProposeJob job;
    const Value value = chain::testing::payload_value(change);
    job.payload = base::encode_cbor(value);
    job.parsed = *chain::parse_payload(value);
    return planner_.propose(job, base::Ulid(static_cast<std::uint64_t>(now_), 0, ++ids_), now_,
                            plan_);
  }
  std::string proposed(const Value& change) {
    return std::string(propose(change).value().what->id.text());
  }
  base::Result<Approved> approve(const std::string& id, std::uint8_t signer) {
    ApproveJob job;
    job.id = id;
    job.approval.signer = signer_of(signer).id;
    return planner_.approve(job, now_, plan_);
  }
  base::Result<CommittedAs> commit(const std::string& id) {
    CommitJob job;
    job.id = id;
    return planner_.commit(job, now_, plan_);
  }
  template <class T>
  static Code code_of(const base::Result<T>& result) {
    return result ? Code::Internal : result.error().code;
  }

  TestLog log_{set_of(2, {1, 2, 3})};
  Planner planner_;
  Plan plan_;
  std::int64_t now_ = kStartMs + 1;
  std::uint64_t ids_ = 0;
};

TEST_F(PlannerTest, AVersionNeedsItsQuorum) {
  const std::string id = proposed(update_value({node_value("a")}));
  const auto early = commit(id);
  EXPECT_EQ(code_of(early), Code::QuorumFailed);
  EXPECT_EQ(early.error().details,
            (std::vector<std::pair<std::string, std::string>>{{"have", "0"}, {"need", "2"}}));
  EXPECT_FALSE(approve(id, 1)->tally.is_quorum());
  EXPECT_EQ(code_of(approve(id, 1)), Code::DuplicateApproval);
  EXPECT_EQ(code_of(approve(id, 9)), Code::NotAllowed);
  EXPECT_TRUE(approve(id, 2)->tally.is_quorum());
  const auto done = commit(id);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->is_new);
  EXPECT_EQ(done->head.version, 1);
  EXPECT_EQ(plan_.versions.size(), 1);
}

TEST_F(PlannerTest, ACommitIsAnsweredTheSameAgain) {
  const std::string id = proposed(update_value({node_value("a")}));
  ASSERT_TRUE(approve(id, 1) && approve(id, 2));
  const chain::Head head = commit(id)->head;
  const auto again = commit(id);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(again->head, head);
  EXPECT_EQ(plan_.versions.size(), 1);
  EXPECT_EQ(code_of(approve(id, 3)), Code::VersionSkew);
}

TEST_F(PlannerTest, WhatWasNotDurableIsForgotten) {
  const std::string id = proposed(update_value({node_value("a")}));
  ASSERT_TRUE(approve(id, 1) && approve(id, 2));
  const Pending pending = planner_.pending();
  ASSERT_TRUE(commit(id));
  planner_.reset(log_.state(), pending);
  plan_ = {};
  const auto again = commit(id);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->is_new);
  EXPECT_EQ(again->head.version, 1);
}

TEST_F(PlannerTest, WhoeverWasRevokedSinceDoesNotCount) {
  planner_.reset(TestLog(set_of(2, {1, 2, 3, 4})).state(), {});
  const std::string id = proposed(update_value({node_value("a")}));
  ASSERT_TRUE(approve(id, 1) && approve(id, 4));
  const std::string revocation = proposed(Value::Map{
      {"kind", "revoke"}, {"signers", Value::Array{signer_of(4).id}}, {"reason", "lost"}});
  ASSERT_TRUE(approve(revocation, 1) && approve(revocation, 2));
  ASSERT_TRUE(commit(revocation));
  EXPECT_EQ(code_of(commit(id)), Code::QuorumFailed);
  ASSERT_TRUE(approve(id, 3));
  ASSERT_TRUE(commit(id));
  EXPECT_EQ(plan_.versions.back().entry.approvals.size(), 2);
}

TEST_F(PlannerTest, AProposalEnds) {
  const std::string id = proposed(update_value({node_value("a")}));
  ASSERT_TRUE(approve(id, 1) && approve(id, 2));
  now_ += kTtlMs;
  EXPECT_EQ(code_of(commit(id)), Code::VersionSkew);
  EXPECT_EQ(code_of(approve(id, 3)), Code::VersionSkew);
  plan_ = {};
  planner_.expire(now_, plan_);
  EXPECT_EQ(plan_.journal.size(), 1);
  EXPECT_TRUE(planner_.pending().empty());
  EXPECT_EQ(code_of(commit(id)), Code::VersionSkew);
  EXPECT_EQ(code_of(commit("01ARZ3NDEKTSV4RRFFQ69G5FAV")), Code::NotFound);
}

TEST_F(PlannerTest, OnlySoManyMayWait) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(propose(update_value({node_value("a")})));
  EXPECT_EQ(code_of(propose(update_value({node_value("a")}))), Code::Busy);
}

TEST_F(PlannerTest, TimesDoNotGoBackWithTheClock) {
  const std::string id = proposed(update_value({node_value("a")}));
  ASSERT_TRUE(approve(id, 1) && approve(id, 2));
  now_ = kStartMs - 5000;
  ASSERT_TRUE(commit(id));
  EXPECT_EQ(plan_.versions.back().entry.at_ms, kStartMs);
}

TEST_F(PlannerTest, OfTwoThatWantTheSameHeadOneIsCommitted) {
  const auto with_head = [this] {
    const Value value = Value::Map{{"change", update_value({node_value("a")})},
                                   {"if_head", chain::to_value(log_.state().head())}};
    ProposeJob job;
    job.payload = base::encode_cbor(value);
    job.parsed = *chain::parse_payload(value);
    const auto made = planner_.propose(job, base::Ulid(1, 0, ++ids_), now_, plan_);
    const std::string id(made->what->id.text());
    EXPECT_TRUE(approve(id, 1) && approve(id, 2));
    return id;
  };
  const std::string first = with_head();
  const std::string second = with_head();
  EXPECT_TRUE(commit(first));
  EXPECT_EQ(code_of(commit(second)), Code::ChainMismatch);
}

TEST_F(PlannerTest, TheJournalSaysWhatIsPending) {
  const std::string kept = proposed(update_value({node_value("a")}));
  const std::string gone = proposed(update_value({node_value("b")}));
  ASSERT_TRUE(approve(kept, 1) && approve(kept, 2) && approve(gone, 3));
  Pending replayed;
  for (const std::string& frame : plan_.journal) {
    ASSERT_TRUE(replay(base::as_bytes(frame), replayed));
  }
  ASSERT_TRUE(replay(base::as_bytes(journal_gone(gone)), replayed));
  ASSERT_EQ(replayed.size(), 1);
  const Proposal& proposal = replayed.at(kept);
  EXPECT_EQ(proposal.approvals, planner_.pending().at(kept).approvals);
  EXPECT_EQ(proposal.what->payload_b3, planner_.pending().at(kept).what->payload_b3);
  // A frame that holds all of it at once says the same.
  Pending anew;
  ASSERT_TRUE(replay(base::as_bytes(journal_proposal(proposal)), anew));
  EXPECT_EQ(journal_proposal(anew.at(kept)), journal_proposal(proposal));
}

TEST(RecentCommits, KeepsTheLatest) {
  RecentCommits recent;
  for (std::uint64_t i = 0; i <= RecentCommits::kMost; ++i) {
    recent.add(std::to_string(i), {i, {}});
  }
  EXPECT_FALSE(recent.find("0"));
  EXPECT_TRUE(recent.find("1"));
  recent.forget_above(10);
  EXPECT_TRUE(recent.find("10"));
  EXPECT_FALSE(recent.find("11"));
}

}  // namespace
}  // namespace ron::registry
