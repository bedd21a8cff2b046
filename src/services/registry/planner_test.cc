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

  base::Result<Proposal> propose(const Value& change, const std::string& tenant = "") {
    ProposeJob job;
    job.origin.tenant = tenant;
    const Value value = chain::testing::payload_value(change);
    job.payload = base::encode_cbor(value);
    job.parsed = *chain::parse_payload(value);
    return planner_.propose(job, base::Ulid(static_cast<std::uint64_t>(now_), 0, ++ids_), now_,
                            plan_);
  }
  std::string proposed(const Value& change, const std::string& tenant = "") {
    return std::string(propose(change, tenant).value().what->id.text());
  }
  base::Result<TakenBackBy> withdraw(const std::string& id, const std::string& tenant,
                                     bool may_govern = false) {
    WithdrawJob job;
    job.id = id;
    job.may_govern = may_govern;
    job.origin = {.corr_id = {}, .token = "0123abcd", .tenant = tenant};
    return planner_.withdraw(job, now_, plan_);
  }
  static Value revocation() {
    return Value::Map{
        {"kind", "revoke"}, {"signers", Value::Array{signer_of(4).id}}, {"reason", "lost"}};
  }
  base::Result<Approved> approve(const std::string& id, std::uint8_t signer) {
    ApproveJob job;
    job.id = id;
    job.approval.signer = signer_of(signer).id;
    const auto found = planner_.pending().find(id);
    if (found != planner_.pending().end()) job.verified = found->second.what;
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
  JournalReplay replayed;
  for (const std::string& frame : plan_.journal) {
    ASSERT_TRUE(replay(base::as_bytes(frame), replayed));
  }
  ASSERT_TRUE(replay(base::as_bytes(journal_gone(gone)), replayed));
  ASSERT_EQ(replayed.pending.size(), 1);
  const Proposal& proposal = replayed.pending.at(kept);
  EXPECT_EQ(proposal.approvals, planner_.pending().at(kept).approvals);
  EXPECT_EQ(proposal.what->payload_b3, planner_.pending().at(kept).what->payload_b3);
  // A frame that holds all of it at once says the same.
  JournalReplay anew;
  ASSERT_TRUE(replay(base::as_bytes(journal_proposal(proposal)), anew));
  EXPECT_EQ(journal_proposal(anew.pending.at(kept)), journal_proposal(proposal));
}

TEST_F(PlannerTest, TheJournalSaysWhoseProposalItIs) {
  const std::string id = proposed(update_value({node_value("a")}), "acme");
  const std::string nobodys = proposed(update_value({node_value("a")}));
  JournalReplay replayed;
  for (const std::string& frame : plan_.journal) {
    ASSERT_TRUE(replay(base::as_bytes(frame), replayed));
  }
  EXPECT_EQ(replayed.pending.at(id).what->tenant, "acme");
  EXPECT_EQ(replayed.pending.at(nobodys).what->tenant, "");
  // As it was written before tenants were recorded: an array of seven items.
  EXPECT_EQ(plan_.journal.front()[0], '\x88');
  EXPECT_EQ(plan_.journal.back()[0], '\x87');
}

TEST_F(PlannerTest, AnApprovalThatWasNotVerifiedIsNeverTaken) {
  const std::string id = proposed(update_value({node_value("a")}));
  const std::string other = proposed(update_value({node_value("b")}));
  ApproveJob job;
  job.id = id;
  job.approval.signer = signer_of(1).id;
  EXPECT_EQ(code_of(planner_.approve(job, now_, plan_)), Code::InvalidSig);
  job.verified = planner_.pending().at(other).what;
  EXPECT_EQ(code_of(planner_.approve(job, now_, plan_)), Code::InvalidSig);
  EXPECT_TRUE(planner_.pending().at(id).approvals.empty());
  job.verified = planner_.pending().at(id).what;
  EXPECT_TRUE(planner_.approve(job, now_, plan_));
}

TEST_F(PlannerTest, WhyAProposalCannotBeApprovedIsSaid) {
  const std::string id = proposed(update_value({node_value("a")}));
  EXPECT_EQ(planner_.explain(id, now_).code, Code::Busy);
  EXPECT_EQ(planner_.explain("01ARZ3NDEKTSV4RRFFQ69G5FAV", now_).code, Code::NotFound);
  ASSERT_TRUE(withdraw(id, "", true));
  EXPECT_EQ(planner_.explain(id, now_).code, Code::VersionSkew);
}

TEST_F(PlannerTest, AProposalIsWithdrawnByItsTenantOrByWhoGoverns) {
  const std::string own = proposed(update_value({node_value("a")}), "acme");
  const std::string other = proposed(update_value({node_value("b")}), "acme");
  EXPECT_EQ(code_of(withdraw(own, "umbrella")), Code::Forbidden);
  EXPECT_EQ(code_of(withdraw(own, "")), Code::Forbidden);
  EXPECT_EQ(withdraw(own, "acme").value(), TakenBackBy::Proposer);
  EXPECT_EQ(withdraw(other, "umbrella", true).value(), TakenBackBy::Governor);
  EXPECT_TRUE(planner_.pending().empty());
  EXPECT_EQ(plan_.events.back().by, "govern");
  EXPECT_EQ(plan_.events.back().token, "0123abcd");
  // Again, the same, and nothing more is written.
  const std::size_t frames = plan_.journal.size();
  EXPECT_EQ(withdraw(own, "acme").value(), TakenBackBy::Proposer);
  EXPECT_EQ(code_of(withdraw(own, "umbrella")), Code::Forbidden);
  EXPECT_EQ(plan_.journal.size(), frames);
  EXPECT_EQ(code_of(approve(own, 1)), Code::VersionSkew);
  EXPECT_EQ(code_of(commit(own)), Code::VersionSkew);
}

TEST_F(PlannerTest, AProposalOfNoTenantIsWithdrawnOnlyByWhoGoverns) {
  const std::string id = proposed(update_value({node_value("a")}));
  EXPECT_EQ(code_of(withdraw(id, "")), Code::Forbidden);
  EXPECT_EQ(code_of(withdraw(id, "acme")), Code::Forbidden);
  EXPECT_EQ(withdraw(id, "", true).value(), TakenBackBy::Governor);
}

TEST_F(PlannerTest, WhatIsCommittedCannotBeWithdrawn) {
  const std::string id = proposed(update_value({node_value("a")}));
  ASSERT_TRUE(approve(id, 1) && approve(id, 2) && commit(id));
  EXPECT_EQ(code_of(withdraw(id, "", true)), Code::VersionSkew);
  EXPECT_EQ(code_of(withdraw("01ARZ3NDEKTSV4RRFFQ69G5FAV", "", true)), Code::NotFound);
}

TEST_F(PlannerTest, AWithdrawalThatWasNotDurableIsForgotten) {
  const std::string id = proposed(update_value({node_value("a")}));
  const Pending pending = planner_.pending();
  ASSERT_TRUE(withdraw(id, "", true));
  planner_.reset(log_.state(), pending);
  EXPECT_TRUE(approve(id, 1));
  EXPECT_TRUE(planner_.withdrawn().all().empty());
}

TEST_F(PlannerTest, AStartKnowsWhatWasWithdrawn) {
  const std::string id = proposed(update_value({node_value("a")}), "acme");
  ASSERT_TRUE(withdraw(id, "acme"));
  JournalReplay said;
  for (const std::string& frame : plan_.journal) {
    ASSERT_TRUE(replay(base::as_bytes(frame), said));
  }
  EXPECT_TRUE(said.pending.empty());
  ASSERT_EQ(said.withdrawn.size(), 1);
  Planner next;
  next.add_withdrawn(said.withdrawn.front());
  next.reset(log_.state(), {});
  std::swap(next, planner_);
  EXPECT_EQ(withdraw(id, "acme").value(), TakenBackBy::Proposer);
  EXPECT_EQ(code_of(withdraw(id, "umbrella")), Code::Forbidden);
}

TEST_F(PlannerTest, ATenantHasAShareOfWhatIsPending) {
  planner_.set_rules({.ttl_ms = kTtlMs, .max_pending = 8, .max_per_tenant = 2});
  const std::string first = proposed(update_value({node_value("a")}), "acme");
  ASSERT_TRUE(propose(update_value({node_value("a")}), "acme"));
  const auto refused = propose(update_value({node_value("a")}), "acme");
  EXPECT_EQ(code_of(refused), Code::Quota);
  EXPECT_TRUE(propose(update_value({node_value("a")}), "umbrella"));
  EXPECT_TRUE(propose(update_value({node_value("a")})));
  ASSERT_TRUE(withdraw(first, "acme"));
  EXPECT_TRUE(propose(update_value({node_value("a")}), "acme"));
  // What is pending after a start counts as before.
  planner_.reset(log_.state(), Pending(planner_.pending()));
  EXPECT_EQ(code_of(propose(update_value({node_value("a")}), "acme")), Code::Quota);
}

TEST_F(PlannerTest, ATenantHasAShareOfTheBytes) {
  planner_.set_rules({.ttl_ms = kTtlMs, .max_pending = 64, .max_per_tenant = 4});
  const auto propose_large = [this](const std::string& tenant) {
    ProposeJob job;
    const Value value = chain::testing::payload_value(update_value({node_value("a")}));
    job.parsed = *chain::parse_payload(value);
    job.payload.assign(chain::kMaxPayloadBytes - 1, 'x');
    job.origin.tenant = tenant;
    return code_of(planner_.propose(job, base::Ulid(1, 0, ++ids_), now_, plan_));
  };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(propose_large("acme"), Code::Internal) << "it is taken";
  EXPECT_EQ(propose_large("acme"), Code::Quota);
  EXPECT_EQ(propose_large("umbrella"), Code::Internal);
}

TEST_F(PlannerTest, AChangeOfSignersFindsRoomWhenAllElseIsFull) {
  planner_.reset(TestLog(set_of(2, {1, 2, 3, 4})).state(), {});
  planner_.set_rules({.ttl_ms = kTtlMs, .max_pending = 4, .max_per_tenant = 2});
  for (const char* const tenant : {"a", "a", "b", "b"}) {
    ASSERT_TRUE(propose(update_value({node_value("a")}), tenant));
  }
  EXPECT_EQ(code_of(propose(update_value({node_value("a")}), "c")), Code::Busy);
  EXPECT_TRUE(propose(revocation(), "c"));
  EXPECT_TRUE(propose(signers_value("signers", set_of(2, {1, 2, 3})), "c"));
  // The same signers once more are no change of who decides.
  EXPECT_EQ(code_of(propose(signers_value("signers", set_of(2, {1, 2, 3, 4})), "c")), Code::Busy);
  // One tenant cannot use it up either.
  while (propose(revocation(), "a")) {
  }
  EXPECT_EQ(code_of(propose(revocation(), "a")), Code::Quota);
  EXPECT_TRUE(propose(revocation(), "c"));
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
