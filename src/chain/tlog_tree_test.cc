#include "chain/tlog_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/encoding.h"
#include "chain/test_tree.h"

namespace ron::chain {
namespace {

using base::Code;
using testing::MapReader;
using testing::NaiveTree;
using testing::numbered_leaves;
using testing::Proof;
using testing::wait_for;

TreeHash hash_of(std::string_view hex) {
  TreeHash hash{};
  EXPECT_TRUE(base::from_hex(hex, hash)) << hex;
  return hash;
}
std::vector<std::string> hex_of(const Proof& proof) {
  std::vector<std::string> hex;
  for (const TreeHash& hash : proof) hex.push_back(base::to_hex(hash));
  return hex;
}

// The tree that the implementations of certificate transparency test themselves with.
Proof reference_leaves() {
  Proof leaves;
  for (const std::string_view hex : {"", "00", "10", "2021", "3031", "40414243", "5051525354555657",
                                     "606162636465666768696a6b6c6d6e6f"}) {
    std::vector<std::byte> entry(hex.size() / 2);
    EXPECT_TRUE(base::from_hex(hex, entry));
    leaves.push_back(leaf_hash(entry));
  }
  return leaves;
}
constexpr std::array<std::string_view, 9> kReferenceRoots = {
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};

TEST(TlogTree, HasTheRootsOfTheReferenceTree) {
  TreeFrontier frontier;
  EXPECT_EQ(frontier.root(), hash_of(kReferenceRoots[0]));
  for (const TreeHash& leaf : reference_leaves()) {
    frontier.append(leaf);
    EXPECT_EQ(base::to_hex(frontier.root()), kReferenceRoots[frontier.size()]);
  }
}

TEST(TlogTree, HasTheProofsOfTheReferenceTree) {
  MapReader reader(reference_leaves());
  const auto inclusion = [&reader](std::uint64_t index, std::uint64_t size) {
    return hex_of(wait_for(inclusion_proof(&reader, index, size)).value());
  };
  const auto consistency = [&reader](std::uint64_t from, std::uint64_t to) {
    return hex_of(wait_for(consistency_proof(&reader, from, to)).value());
  };
  using Hex = std::vector<std::string>;
  EXPECT_EQ(inclusion(0, 1), Hex());
  EXPECT_EQ(inclusion(0, 8),
            (Hex{"96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
                 "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                 "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"}));
  EXPECT_EQ(inclusion(5, 8),
            (Hex{"bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
                 "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                 "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"}));
  EXPECT_EQ(inclusion(2, 3),
            (Hex{"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"}));
  EXPECT_EQ(consistency(1, 1), Hex());
  EXPECT_EQ(consistency(1, 8),
            (Hex{"96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
                 "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                 "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"}));
  EXPECT_EQ(consistency(6, 8),
            (Hex{"0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
                 "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                 "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"}));
  EXPECT_EQ(consistency(2, 5),
            (Hex{"5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                 "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"}));
}

constexpr std::uint64_t kSmall = 300;

TEST(TlogTree, AgreesWithTheDefinitionForEverySmallSize) {
  NaiveTree naive(numbered_leaves(kSmall));
  MapReader reader(numbered_leaves(kSmall));
  TreeFrontier frontier;
  for (std::uint64_t size = 0; size <= kSmall; ++size) {
    ASSERT_EQ(frontier.root(), naive.root(size)) << size;
    ASSERT_EQ(wait_for(tree_root(&reader, size)).value(), naive.root(size)) << size;
    ASSERT_EQ(wait_for(tree_frontier(&reader, size)).value(), frontier) << size;
    if (size < kSmall) frontier.append(naive.leaf(size));
  }
}

TEST(TlogTree, ProvesEveryLeafOfEverySmallTree) {
  NaiveTree naive(numbered_leaves(kSmall));
  MapReader reader(numbered_leaves(kSmall));
  for (std::uint64_t size = 1; size <= kSmall; ++size) {
    for (std::uint64_t index = 0; index < size; ++index) {
      const Proof proof = wait_for(inclusion_proof(&reader, index, size)).value();
      ASSERT_EQ(proof, naive.inclusion(index, size)) << index << " of " << size;
      ASSERT_TRUE(verify_inclusion(index, size, naive.leaf(index), proof, naive.root(size)));
    }
  }
}

TEST(TlogTree, ProvesTheConsistencyOfEveryTwoSmallTrees) {
  NaiveTree naive(numbered_leaves(kSmall));
  MapReader reader(numbered_leaves(kSmall));
  for (std::uint64_t to = 1; to <= kSmall; ++to) {
    for (std::uint64_t from = 1; from <= to; ++from) {
      const Proof proof = wait_for(consistency_proof(&reader, from, to)).value();
      ASSERT_EQ(proof, naive.consistency(from, to)) << from << " to " << to;
      ASSERT_TRUE(verify_consistency(from, to, naive.root(from), naive.root(to), proof));
    }
  }
}

TEST(TlogTree, AgreesWithTheDefinitionForLargeTrees) {
  constexpr std::uint64_t kMost = 140'000;  // three levels of tiles
  NaiveTree naive(numbered_leaves(kMost));
  MapReader reader(numbered_leaves(kMost));
  EXPECT_TRUE(rc::check("proofs", [&] {
    const auto size = *rc::gen::inRange(std::uint64_t{1}, kMost + 1);
    const auto index = *rc::gen::inRange(std::uint64_t{0}, size);
    const TreeHash root = naive.root(size);
    RC_ASSERT(wait_for(tree_root(&reader, size)).value() == root);
    const Proof included = wait_for(inclusion_proof(&reader, index, size)).value();
    RC_ASSERT(included == naive.inclusion(index, size));
    RC_ASSERT(verify_inclusion(index, size, naive.leaf(index), included, root));
    const std::uint64_t from = index + 1;
    const Proof consistent = wait_for(consistency_proof(&reader, from, size)).value();
    RC_ASSERT(consistent == naive.consistency(from, size));
    RC_ASSERT(verify_consistency(from, size, naive.root(from), root, consistent));
  }));
}

TEST(TlogTree, ReadsEachTileOnceAndFewOfThem) {
  const std::uint64_t size = 100'000;
  MapReader reader(numbered_leaves(size));
  for (const std::uint64_t index : {0UL, 255UL, 256UL, 65'535UL, 65'536UL, 99'000UL, 99'999UL}) {
    reader.forget_reads();
    ASSERT_TRUE(wait_for(inclusion_proof(&reader, index, size)));
    EXPECT_EQ(reader.tiles_read().size(), reader.reads()) << index;
    EXPECT_LE(reader.reads(), 5U);
    reader.forget_reads();
    ASSERT_TRUE(wait_for(consistency_proof(&reader, index + 1, size)));
    EXPECT_EQ(reader.tiles_read().size(), reader.reads()) << index;
    EXPECT_LE(reader.reads(), 5U);
  }
}

// Every bit of every hash of a proof, of the leaf and of the roots matters.
TEST(TlogTree, RefusesEveryFlippedBit) {
  NaiveTree naive(numbered_leaves(300));
  const auto flips = [](TreeHash& hash, auto&& still_holds) {
    for (std::size_t bit = 0; bit < 8 * hash.size(); ++bit) {
      hash[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      ASSERT_FALSE(still_holds()) << bit;
      hash[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    }
    ASSERT_TRUE(still_holds());
  };
  for (const auto& [index, size] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 1}, {0, 2}, {2, 3}, {6, 7}, {3, 8}, {255, 256}, {256, 257}, {100, 300}}) {
    Proof proof = naive.inclusion(index, size);
    TreeHash leaf = naive.leaf(index);
    TreeHash root = naive.root(size);
    const auto holds = [&] { return verify_inclusion(index, size, leaf, proof, root); };
    for (TreeHash& hash : proof) flips(hash, holds);
    flips(leaf, holds);
    flips(root, holds);

    const std::uint64_t from = index + 1;
    if (from == size) continue;
    Proof steps = naive.consistency(from, size);
    TreeHash from_root = naive.root(from);
    const auto agrees = [&] { return verify_consistency(from, size, from_root, root, steps); };
    for (TreeHash& hash : steps) flips(hash, agrees);
    flips(from_root, agrees);
    flips(root, agrees);
  }
}

TEST(TlogTree, RefusesProofsOfAnotherShape) {
  NaiveTree naive(numbered_leaves(40));
  for (std::uint64_t size = 1; size <= 40; ++size) {
    const TreeHash root = naive.root(size);
    for (std::uint64_t index = 0; index < size; ++index) {
      const TreeHash leaf = naive.leaf(index);
      Proof proof = naive.inclusion(index, size);
      for (std::uint64_t other = 0; other <= size; ++other) {
        EXPECT_EQ(verify_inclusion(other, size, leaf, proof, root), other == index);
      }
      const std::uint64_t from = index + 1;
      Proof steps = naive.consistency(from, size);
      proof.push_back(root);
      steps.push_back(root);
      EXPECT_FALSE(verify_inclusion(index, size, leaf, proof, root));
      EXPECT_FALSE(verify_consistency(from, size, naive.root(from), root, steps));
      if (from == size) continue;
      proof.resize(proof.size() - 2);
      steps.resize(steps.size() - 2);
      EXPECT_FALSE(verify_inclusion(index, size, leaf, proof, root));
      EXPECT_FALSE(verify_consistency(from, size, naive.root(from), root, steps));
    }
  }
}

TEST(TlogTree, EveryTreeBeginsWithTheEmptyOne) {
  const Proof leaves = numbered_leaves(5);
  const TreeHash root = NaiveTree(leaves).root(5);
  EXPECT_TRUE(verify_consistency(0, 5, empty_root(), root, {}));
  EXPECT_TRUE(verify_consistency(0, 0, empty_root(), empty_root(), {}));
  EXPECT_FALSE(verify_consistency(0, 5, root, root, {}));
  EXPECT_FALSE(verify_consistency(0, 5, empty_root(), root, leaves));
  EXPECT_FALSE(verify_consistency(5, 5, root, empty_root(), {}));
  EXPECT_FALSE(verify_consistency(6, 5, root, root, {}));
}

TEST(TlogTree, SaysThatThereIsNoSuchLeafOrPair) {
  MapReader reader(numbered_leaves(5));
  EXPECT_EQ(wait_for(inclusion_proof(&reader, 5, 5)).error().code, Code::Malformed);
  EXPECT_EQ(wait_for(inclusion_proof(&reader, 0, 0)).error().code, Code::Malformed);
  EXPECT_EQ(wait_for(consistency_proof(&reader, 6, 5)).error().code, Code::Malformed);
  EXPECT_TRUE(wait_for(consistency_proof(&reader, 0, 5)).value().empty());
}

TEST(TlogTree, DoesNotBelieveAReaderThatGivesTooLittle) {
  MapReader reader(numbered_leaves(300));
  reader.give_one_less();
  EXPECT_EQ(wait_for(inclusion_proof(&reader, 7, 300)).error().code, Code::IntegrityFail);
  EXPECT_EQ(wait_for(tree_root(&reader, 300)).error().code, Code::IntegrityFail);
}

TEST(TlogTree, SizesOf64BitsEndAtTheRoot) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  const Proof proof(64, empty_root());
  TreeHash root = empty_root();
  for (const TreeHash& sibling : proof) root = node_hash(root, sibling);
  EXPECT_TRUE(verify_inclusion(0, kMost, empty_root(), proof, root));
  EXPECT_FALSE(verify_inclusion(0, kMost, empty_root(), std::span(proof).first(63), root));
  EXPECT_FALSE(verify_inclusion(kMost, kMost, empty_root(), proof, root));
  EXPECT_FALSE(verify_consistency(kMost - 1, kMost, root, root, proof));
}

TEST(TreeFrontier, ComesBackFromItsBytes) {
  TreeFrontier frontier;
  for (const TreeHash& leaf : numbered_leaves(600)) {
    const std::string bytes = frontier.encode();
    ASSERT_EQ(TreeFrontier::decode(base::as_bytes(bytes)).value(), frontier);
    ASSERT_FALSE(TreeFrontier::decode(base::as_bytes(bytes + "x")));
    ASSERT_FALSE(TreeFrontier::decode(base::as_bytes(bytes).first(bytes.size() - 1)));
    frontier.append(leaf);
  }
  EXPECT_FALSE(TreeFrontier::decode({}));
  EXPECT_FALSE(TreeFrontier::make(3, {empty_root()}));
}

}  // namespace
}  // namespace ron::chain
