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
using testing::payload_value;
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

Payload payload_of(const Value& change) { return *parse_payload(payload_value(change)); }

Value supersede_value(const State& state, Value change) {
  return Value::Map{{"kind", "supersede"},
                    {"version", state.head().version},
                    {"reason", "wrong"},
                    {"change", std::move(change)}};
}

std::size_t bytes_of(const State& state) {
  std::size_t bytes = 0;
  for (const auto& [key, descriptor] : state.descriptors()) {
    bytes += base::encode_cbor(descriptor->value).size();
  }
  return bytes;
}

TEST(State, KnowsHowManyBytesItsDescriptorsHave) {
  TestLog log(set_of(1, {1, 2}));
  ASSERT_TRUE(log.add(update_value({node_value("a"), node_value("b")}), {1}));
  EXPECT_EQ(log.state().descriptors_bytes(), bytes_of(log.state()));
  ASSERT_TRUE(
      log.add(update_value({node_value("a", "us-east"), node_value("c")}, {"node/b"}), {1}));
  EXPECT_EQ(log.state().descriptors_bytes(), bytes_of(log.state()));
  ASSERT_TRUE(log.add(supersede_value(log.state(), update_value({node_value("d")})), {1}));
  EXPECT_EQ(log.state().descriptors_bytes(), bytes_of(log.state()));
  const auto restored = restore(take_snapshot(log.state()), Signatures::Verify);
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->descriptors_bytes(), bytes_of(log.state()));
}

TEST(State, ACopyStaysAsItIs) {
  TestLog log(set_of(1, {1, 2}));
  ASSERT_TRUE(log.add(update_value({node_value("a")}), {1}));
  const State before = log.state();
  ASSERT_TRUE(log.add(update_value({node_value("b")}, {"node/a"}), {1}));
  EXPECT_TRUE(before.descriptors().contains("node/a"));
  EXPECT_EQ(before.descriptors().size(), 1);
  EXPECT_FALSE(log.state().descriptors().contains("node/a"));
}

// What a supersede brings back counts as well.
TEST(State, ASupersedeMayNotHaveMoreDescriptorsThanFit) {
  TestLog log(set_of(1, {1, 2}));
  ASSERT_TRUE(log.add(update_value({node_value("a"), node_value("b"), node_value("c")}), {1}));
  ASSERT_TRUE(log.add(update_value({}, {"node/a", "node/b"}), {1}));
  const StateBounds four{.descriptors = 4};
  const auto with = [&log](Value::Array set) {
    return payload_of(supersede_value(log.state(), update_value(std::move(set))));
  };
  EXPECT_TRUE(log.state().check_room(with({node_value("d")}), four));
  EXPECT_TRUE(log.state().check_room(with({node_value("a"), node_value("d")}), four));
  const auto refused = log.state().check_room(with({node_value("d"), node_value("e")}), four);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Quota);
}

TEST(State, DescriptorsHaveRoomForSoManyBytes) {
  TestLog log(set_of(1, {1, 2}));
  ASSERT_TRUE(log.add(update_value({node_value("a"), node_value("b")}), {1}));
  const StateBounds full{.descriptors_bytes = log.state().descriptors_bytes()};
  EXPECT_FALSE(log.state().check_room(payload_of(update_value({node_value("c")})), full));
  EXPECT_FALSE(log.state().check_room(payload_of(update_value({node_value("a", "longer")})), full));
  EXPECT_TRUE(
      log.state().check_room(payload_of(update_value({node_value("c")}, {"node/b"})), full));
  // What is too large already may become smaller.
  const StateBounds less{.descriptors_bytes = 1};
  EXPECT_TRUE(log.state().check_room(payload_of(update_value({}, {"node/b"})), less));
}

TEST(State, WhatASupersedeUndoesIsBounded) {
  TestLog log(set_of(1, {1, 2}));
  ASSERT_TRUE(log.add(update_value({node_value("a"), node_value("b")}), {1}));
  const StateBounds three{.replaced = 3};
  const auto change = supersede_value(log.state(), update_value({node_value("c")}));
  EXPECT_TRUE(log.state().check_room(payload_of(change), three));
  ASSERT_TRUE(log.add(change, {1}));
  const auto again = supersede_value(log.state(), update_value({node_value("d")}));
  EXPECT_FALSE(log.state().check_room(payload_of(again), three));
  EXPECT_TRUE(log.state().check_room(payload_of(update_value({node_value("d")})), three));
}

TEST(State, ARevocationAlwaysHasRoom) {
  TestLog log(set_of(1, {1, 2, 3}));
  const StateBounds full{.governance_bytes = 1};
  const Value revoke = Value::Map{
      {"kind", "revoke"}, {"signers", Value::Array{signer_of(3).id}}, {"reason", "lost"}};
  EXPECT_TRUE(log.state().check_room(payload_of(revoke), full));
  EXPECT_FALSE(
      log.state().check_room(payload_of(signers_value("signers", set_of(1, {1, 2}))), full));
}

}  // namespace
}  // namespace ron::chain
