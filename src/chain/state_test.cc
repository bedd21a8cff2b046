#include "chain/state.h"

#include <gtest/gtest.h>

#include "chain/snapshot.h"
#include "chain/test_signers.h"

namespace ron::chain {
namespace {

using base::Code;
using base::Value;
using testing::key_of;
using testing::node_value;
using testing::set_of;
using testing::signer_of;
using testing::signers_value;
using testing::TestLog;
using testing::update_value;

Value revoke_value(const std::vector<std::uint8_t>& numbers) {
  Value::Array ids;
  for (const std::uint8_t number : numbers) ids.emplace_back(signer_of(number).id);
  return Value::Map{{"kind", "revoke"}, {"signers", std::move(ids)}, {"reason", "lost"}};
}

Value supersede_value(std::uint64_t version, Value change) {
  return Value::Map{{"kind", "supersede"},
                    {"version", version},
                    {"reason", "wrong"},
                    {"change", std::move(change)}};
}

Code code_of(const base::Result<Entry>& taken) {
  return taken ? Code::Internal : taken.error().code;
}

TEST(State, BeginsWithAGenesisWhoseHashIsTheLogsId) {
  TestLog log(set_of(2, {1, 2, 3}));
  EXPECT_EQ(log.state().head().version, 0);
  EXPECT_EQ(log.state().log(), log.state().head().hash);
  EXPECT_EQ(log.state().governance().set, set_of(2, {1, 2, 3}));
  EXPECT_EQ(code_of(log.add(signers_value("genesis", set_of(1, {4, 5})), {1, 2})),
            Code::NotAllowed);
}

TEST(State, AnUpdateNeedsTheThreshold) {
  TestLog log(set_of(2, {1, 2, 3}));
  const Value change = update_value({node_value("a"), node_value("b")});
  EXPECT_EQ(code_of(log.add(change, {1})), Code::QuorumFailed);
  EXPECT_EQ(code_of(log.add(change, {1, 4})), Code::QuorumFailed);
  ASSERT_TRUE(log.add(change, {1, 3}));
  EXPECT_EQ(log.state().descriptors().size(), 2);
  ASSERT_TRUE(log.add(update_value({node_value("a", "us")}, {"node/b", "node/none"}), {2, 3}));
  ASSERT_EQ(log.state().descriptors().size(), 1);
  EXPECT_EQ(log.state().descriptors().at("node/a")->value, node_value("a", "us"));
}

TEST(State, AnApprovalCountsForItsProposalOfItsLogOnly) {
  TestLog log(set_of(2, {1, 2, 3}));
  TestLog other(set_of(2, {1, 2, 4}));
  const Value change = update_value({node_value("a")});
  Entry entry = log.draft(change);
  other.approve(entry, {1, 2});
  EXPECT_EQ(code_of(log.take(encode(entry))), Code::InvalidSig);
  entry = log.draft(change);
  log.approve(entry, {1, 2});
  Entry replayed = log.draft(update_value({node_value("b")}));
  replayed.approvals = entry.approvals;
  EXPECT_EQ(code_of(log.take(encode(replayed))), Code::InvalidSig);
  replayed = entry;
  replayed.proposal = base::Ulid(1, 2, 3);
  EXPECT_EQ(code_of(log.take(encode(replayed))), Code::InvalidSig);
  replayed = entry;
  replayed.expires_ms += 1000;
  EXPECT_EQ(code_of(log.take(encode(replayed))), Code::InvalidSig);
  entry.approvals.front().signature[5] ^= std::byte{1};
  EXPECT_EQ(code_of(log.take(encode(entry))), Code::InvalidSig);
}

TEST(State, TheChainHasNoGapsAndItsTimesDoNotGoBack) {
  TestLog log(set_of(1, {1, 2}));
  const Value change = update_value({node_value("a")});
  const auto refused = [&](auto edit) {
    Entry entry = log.draft(change);
    edit(entry);
    log.approve(entry, {1});
    return code_of(log.take(encode(entry)));
  };
  EXPECT_EQ(refused([](Entry& e) { e.version = 2; }), Code::ChainMismatch);
  EXPECT_EQ(refused([](Entry& e) { e.prev = {}; }), Code::ChainMismatch);
  EXPECT_EQ(refused([](Entry& e) { e.at_ms = testing::kStartMs - 1; }), Code::ChainMismatch);
  EXPECT_EQ(refused([](Entry& e) { e.at_ms = e.expires_ms; }), Code::ChainMismatch);
  EXPECT_EQ(refused([](Entry& e) { e.expires_ms += 1; }), Code::ChainMismatch);
  EXPECT_EQ(refused([](Entry&) {}), Code::Internal);  // good
}

TEST(State, IfHeadIsACompareAndSet) {
  TestLog log(set_of(1, {1, 2}));
  const auto with_head = [&](const Head& head) {
    Entry entry = log.draft(update_value({node_value("a")}));
    entry.payload = base::encode_cbor(
        Value::Map{{"change", update_value({node_value("a")})}, {"if_head", to_value(head)}});
    log.approve(entry, {1});
    return log.take(encode(entry));
  };
  const Head first = log.state().head();
  EXPECT_EQ(code_of(with_head({first.version, base::ObjectId()})), Code::ChainMismatch);
  EXPECT_TRUE(with_head(first));
  EXPECT_EQ(code_of(with_head(first)), Code::ChainMismatch);
}

TEST(State, OtherSignersNeedTheOldThresholdAndTheNew) {
  TestLog log(set_of(2, {1, 2, 3}));
  const Value change = signers_value("signers", set_of(2, {3, 4, 5}));
  EXPECT_EQ(code_of(log.add(change, {1, 2})), Code::QuorumFailed);
  EXPECT_EQ(code_of(log.add(change, {4, 5})), Code::QuorumFailed);
  EXPECT_EQ(code_of(log.add(change, {3, 4})), Code::QuorumFailed);
  ASSERT_TRUE(log.add(change, {1, 3, 4}));
  EXPECT_EQ(code_of(log.add(update_value({node_value("a")}), {1, 3})), Code::QuorumFailed);
  EXPECT_TRUE(log.add(update_value({node_value("a")}), {4, 5}));
}

TEST(State, TheThresholdStaysBelowTheNumberOfSigners) {
  EXPECT_FALSE(make_signer_set(0, {signer_of(1), signer_of(2)}));
  EXPECT_FALSE(make_signer_set(2, {signer_of(1), signer_of(2)}));
  EXPECT_FALSE(make_signer_set(1, {signer_of(1), signer_of(1)}));
  EXPECT_TRUE(make_signer_set(1, {signer_of(1), signer_of(2)}));
  TestLog log(set_of(2, {1, 2, 3}));
  EXPECT_EQ(code_of(log.add(revoke_value({3}), {1, 2})), Code::NotAllowed);
}

TEST(State, ARevokedSignerNeverCountsAgain) {
  TestLog log(set_of(2, {1, 2, 3, 4}));
  ASSERT_TRUE(log.add(revoke_value({4}), {1, 2}));
  EXPECT_EQ(code_of(log.add(update_value({node_value("a")}), {1, 4})), Code::QuorumFailed);
  EXPECT_EQ(code_of(log.add(update_value({node_value("a")}), {1, 2, 4})), Code::RevokedKey);
  EXPECT_EQ(code_of(log.add(signers_value("signers", set_of(1, {1, 4})), {1, 2, 4})),
            Code::RevokedKey);
  EXPECT_EQ(code_of(log.add(revoke_value({4}), {1, 2})), Code::VersionSkew);
}

TEST(State, AnExpiredKeyDoesNotCount) {
  auto set = make_signer_set(
      1, {signer_of(1, testing::kStartMs / 1000 - 1), signer_of(2, testing::kStartMs / 1000 + 10)});
  TestLog log(*set);
  EXPECT_EQ(code_of(log.add(update_value({node_value("a")}), {1})), Code::QuorumFailed);
  EXPECT_TRUE(log.add(update_value({node_value("a")}), {2}));
}

TEST(State, ASupersedeUndoesHeadAndChangesSomethingElse) {
  TestLog log(set_of(1, {1, 2}));
  ASSERT_TRUE(log.add(update_value({node_value("a"), node_value("b")}), {1}));
  ASSERT_TRUE(log.add(update_value({node_value("a", "us"), node_value("c")}, {"node/b"}), {1}));
  EXPECT_EQ(code_of(log.add(supersede_value(1, update_value({})), {1})), Code::ChainMismatch);
  ASSERT_TRUE(log.add(supersede_value(2, update_value({node_value("d")})), {1}));
  EXPECT_EQ(log.state().descriptors().size(), 3);  // a and b as they were, and d
  EXPECT_EQ(log.state().descriptors().at("node/a")->value, node_value("a"));
  // And that in turn: back to version 2's state.
  ASSERT_TRUE(log.add(supersede_value(3, update_value({})), {1}));
  EXPECT_EQ(log.state().descriptors().size(), 2);
  EXPECT_EQ(log.state().descriptors().at("node/a")->value, node_value("a", "us"));
  EXPECT_TRUE(log.state().descriptors().contains("node/c"));
}

TEST(State, ASupersededRotationGivesTheOldSignersBack) {
  TestLog log(set_of(2, {1, 2, 3}));
  ASSERT_TRUE(log.add(signers_value("signers", set_of(2, {3, 4, 5})), {1, 3, 4}));
  // Those who decide now, and those who will again.
  EXPECT_EQ(code_of(log.add(supersede_value(1, update_value({})), {4, 5})), Code::QuorumFailed);
  ASSERT_TRUE(log.add(supersede_value(1, update_value({})), {3, 4, 1}));
  EXPECT_EQ(log.state().governance().set, set_of(2, {1, 2, 3}));
}

TEST(State, TheGenesisCannotBeSuperseded) {
  TestLog log(set_of(1, {1, 2}));
  EXPECT_EQ(code_of(log.add(supersede_value(0, update_value({})), {1})), Code::NotAllowed);
}

TEST(Snapshot, RestoresTheStateAndWhatCanBeUndone) {
  TestLog log(set_of(2, {1, 2, 3}));
  ASSERT_TRUE(log.add(update_value({node_value("a")}), {1, 2}));
  ASSERT_TRUE(log.add(signers_value("signers", set_of(2, {3, 4, 5})), {1, 3, 4}));
  ASSERT_TRUE(log.add(update_value({node_value("a", "us")}), {4, 5}));
  const Snapshot snapshot = take_snapshot(log.state());
  const auto bytes = decode_snapshot(base::as_bytes(encode(snapshot)));
  ASSERT_TRUE(bytes);
  auto restored = restore(*bytes, Signatures::Verify);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(take_snapshot(*restored).hash(), snapshot.hash());
  const std::string next = log.next(supersede_value(3, update_value({})), {3, 4});
  ASSERT_TRUE(log.take(next));
  ASSERT_TRUE(take_next(*restored, base::as_bytes(next), Signatures::Verify));
  EXPECT_EQ(restored->descriptors().at("node/a")->value, node_value("a"));
  EXPECT_EQ(take_snapshot(*restored).hash(), take_snapshot(log.state()).hash());
}

TEST(Snapshot, RestoresRightBehindAGovernanceChange) {
  TestLog log(set_of(2, {1, 2, 3}));
  ASSERT_TRUE(log.add(signers_value("signers", set_of(2, {3, 4, 5})), {1, 3, 4}));
  auto restored = restore(take_snapshot(log.state()), Signatures::Verify);
  ASSERT_TRUE(restored) << restored.error().message;
  const std::string next = log.next(supersede_value(1, update_value({})), {1, 3, 4});
  ASSERT_TRUE(take_next(*restored, base::as_bytes(next), Signatures::Verify));
  EXPECT_EQ(restored->governance().set, set_of(2, {1, 2, 3}));
}

TEST(Snapshot, EveryFlippedByteIsNoticed) {
  TestLog log(set_of(1, {1, 2}));
  ASSERT_TRUE(log.add(update_value({node_value("a")}), {1}));
  const Snapshot good = take_snapshot(log.state());
  const std::string bytes = encode(good);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string bad = bytes;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    const auto parsed = decode_snapshot(base::as_bytes(bad));
    if (!parsed || parsed->hash() != good.hash()) continue;
    EXPECT_FALSE(restore(*parsed, Signatures::Trust)) << i;
  }
}

}  // namespace
}  // namespace ron::chain
