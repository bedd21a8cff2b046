#include "chain/proof.h"

#include <gtest/gtest.h>

#include "chain/note.h"
#include "chain/snapshot.h"
#include "chain/test_signers.h"
#include "chain/test_tree.h"
#include "runtime/test_executor.h"

namespace ron::chain {
namespace {

using testing::key_of;
using testing::node_value;
using testing::set_of;
using testing::signers_value;
using testing::TestLog;
using testing::update_value;

// RFC 6962's path, straight from its definition.
std::vector<TreeHash> path(std::size_t index, std::vector<TreeHash> leaves) {
  if (leaves.size() == 1) return {};
  std::size_t split = 1;
  while (split * 2 < leaves.size()) split *= 2;
  const std::vector<TreeHash> left(leaves.begin(), leaves.begin() + static_cast<long>(split));
  const std::vector<TreeHash> right(leaves.begin() + static_cast<long>(split), leaves.end());
  const auto root_of = [](const std::vector<TreeHash>& part) {
    TreeFrontier tree;
    for (const TreeHash& leaf : part) tree.append(leaf);
    return tree.root();
  };
  std::vector<TreeHash> out = index < split ? path(index, left) : path(index - split, right);
  out.push_back(index < split ? root_of(right) : root_of(left));
  return out;
}

class ProofTest : public ::testing::Test {
 protected:
  ProofTest() {
    EXPECT_TRUE(log_.add(update_value({node_value("a")}), {1, 2}));
    EXPECT_TRUE(log_.add(signers_value("signers", set_of(2, {3, 4, 5})), {1, 3, 4}));
    EXPECT_TRUE(log_.add(update_value({node_value("b")}), {4, 5}));
    EXPECT_TRUE(log_.add(update_value({node_value("c")}), {3, 5}));
  }

  Proof proof(std::uint64_t version) {
    const Snapshot snapshot = take_snapshot(log_.state());
    TreeFrontier tree;
    std::vector<TreeHash> leaves;
    for (const std::string& entry : log_.entries()) {
      leaves.push_back(leaf_hash(base::as_bytes(entry)));
      tree.append(leaves.back());
    }
    const Checkpoint checkpoint{.origin = log_origin(log_.state().log()),
                                .root = tree.root(),
                                .version = log_.state().head().version,
                                .hash = log_.state().head().hash,
                                .pruned_below = 0,
                                .state = snapshot.hash(),
                                .further = {}};
    const auto signer = NoteSigner::make(checkpoint.origin, key_of(99));
    return {.version = version,
            .entry = log_.entries()[version],
            .inclusion = path(version, leaves),
            .checkpoint = *signer->sign(*print_checkpoint(checkpoint)),
            .vkey = signer->verifier().text(),
            .summary = snapshot.summary};
  }

  TestLog log_{set_of(2, {1, 2, 3})};
};

TEST_F(ProofTest, HoldsForEveryVersion) {
  for (std::uint64_t version = 0; version < log_.entries().size(); ++version) {
    const auto parsed = parse_proof(print(proof(version)));
    ASSERT_TRUE(parsed) << parsed.error().message;
    const auto proven = verify_proof(*parsed, parsed->vkey);
    ASSERT_TRUE(proven) << version << ": " << proven.error().message;
    EXPECT_EQ(proven->head.version, version);
    EXPECT_EQ(proven->log, log_.state().log());
    EXPECT_EQ(proven->signers.size(), version == 0 ? 0 : version == 2 ? 3 : 2);
  }
}

TEST_F(ProofTest, AnotherKeysProofIsRefused) {
  const auto other = NoteVerifier::make(log_origin(log_.state().log()), key_of(98).public_key());
  const auto proven = verify_proof(proof(1), other->text());
  ASSERT_FALSE(proven);
  EXPECT_EQ(proven.error().code, base::Code::InvalidSig);
}

TEST_F(ProofTest, NothingInItCanBeChanged) {
  const std::string good = print(proof(3));
  const std::string vkey = proof(3).vkey;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    const auto parsed = parse_proof(bad);
    if (parsed) EXPECT_FALSE(verify_proof(*parsed, vkey)) << good.substr(i, 20);
  }
}

TEST_F(ProofTest, SignersOfAnotherTimeDoNotCount) {
  // Version 3 approved by those of before the rotation.
  Entry entry = *decode_entry(base::as_bytes(log_.entries()[3]));
  TestLog before(set_of(2, {1, 2, 3}));
  entry.approvals.clear();
  before.approve(entry, {1, 2});
  Proof forged = proof(3);
  forged.entry = encode(entry);
  EXPECT_FALSE(verify_proof(forged, forged.vkey));
}

// Back then a signer whose time is over may still have counted.
TEST_F(ProofTest, AVersionIsNoOlderThanTheSignersWhoMadeIt) {
  const Entry rotation = *decode_entry(base::as_bytes(log_.entries()[2]));
  Entry entry = log_.draft(update_value({node_value("d")}));
  entry.at_ms = rotation.at_ms;
  log_.approve(entry, {4, 5});
  log_.force(entry);
  const auto as_old = verify_proof(proof(5), "");
  EXPECT_TRUE(as_old) << as_old.error().message;

  entry = log_.draft(update_value({node_value("e")}));
  entry.at_ms = rotation.at_ms - 1;
  log_.approve(entry, {4, 5});
  log_.force(entry);
  const auto older = verify_proof(proof(6), "");
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error().code, base::Code::ChainMismatch);
}

}  // namespace
}  // namespace ron::chain
