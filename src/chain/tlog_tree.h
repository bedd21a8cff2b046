// The Merkle tree over the log's entries: RFC 6962 and 9162 with SHA-256, as C2SP tlog-tiles
// publishes it. A leaf is SHA-256(0x00 || entry), a node SHA-256(0x01 || left || right).
//
// Proofs are computed from the hashes of complete aligned subtrees of 256^L leaves, which are what
// is stored and published: level 0 holds the leaf hashes. 256 hashes of a level are a tile.
//
// No I/O here. Hashing throws std::bad_alloc when libcrypto is out of memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "platform/task.h"

namespace ron::chain {

using TreeHash = std::array<std::byte, 32>;

inline constexpr unsigned kTileHeight = 8;
inline constexpr std::uint64_t kTileWidth = std::uint64_t{1} << kTileHeight;
// So many levels of tiles hold every tree whose size fits 64 bits.
inline constexpr unsigned kTileLevels = 64 / kTileHeight;

TreeHash leaf_hash(base::ByteView entry);
TreeHash node_hash(const TreeHash& left, const TreeHash& right);
// The root of a tree without leaves: SHA-256 of nothing.
TreeHash empty_root();

// How many complete subtrees of 256^level leaves a tree of `size` leaves has.
constexpr std::uint64_t hashes_at(unsigned level, std::uint64_t size) noexcept {
  return size >> (kTileHeight * level);
}

// The right edge of a tree: all that is needed to append to it and to know its root. A value of at
// most 64 hashes; appending costs one hash on average.
class TreeFrontier {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] TreeHash root() const;

  void append(const TreeHash& leaf) {
    append(leaf, [](unsigned, const TreeHash&) {});
  }
  // `complete(level, hash)` is told of every subtree of 256^level leaves that this leaf completes,
  // the leaf itself first.
  template <class Complete>
  void append(const TreeHash& leaf, Complete&& complete) {
    TreeHash hash = leaf;
    complete(0U, hash);
    unsigned height = 0;
    for (; ((size_ >> height) & 1U) != 0; ++height) {
      hash = node_hash(edge_.back(), hash);
      edge_.pop_back();
      if ((height + 1) % kTileHeight == 0) complete((height + 1) / kTileHeight, hash);
    }
    edge_.push_back(hash);
    ++size_;
  }

  // The size (8 bytes, little-endian) and the hashes of the complete subtrees, largest first.
  [[nodiscard]] std::string encode() const;
  // Exactly what encode() makes; anything else is Malformed.
  static base::Result<TreeFrontier> decode(base::ByteView bytes);

  // `edge`: the complete subtrees a tree of this size is made of, largest first. Malformed if there
  // are more or fewer.
  static base::Result<TreeFrontier> make(std::uint64_t size, std::vector<TreeHash> edge);

  friend bool operator==(const TreeFrontier&, const TreeFrontier&) = default;

 private:
  std::uint64_t size_ = 0;
  std::vector<TreeHash> edge_;  // largest subtree first; one for each bit of size_
};

// Where the hashes of complete subtrees are read.
class TreeReader {
 public:
  TreeReader() = default;
  TreeReader(const TreeReader&) = delete;
  TreeReader& operator=(const TreeReader&) = delete;
  virtual ~TreeReader() = default;

  // Hashes `first`..`first + count - 1` of the level; never across the border of a tile here.
  // Exactly as many, or an error. Cancel-safe.
  virtual platform::Task<base::Result<std::vector<TreeHash>>> read(unsigned level,
                                                                   std::uint64_t first,
                                                                   std::size_t count) = 0;
};

// These read each tile once at most, wait only in the reader and are cancel-safe; `reader` outlives
// the task. Their errors are the reader's; Malformed: there is no such leaf or no such pair of
// sizes; IntegrityFail: the reader gave another number of hashes. What they make is as good as what
// was read: it has to be verified against a root that is known.
platform::Task<base::Result<TreeHash>> tree_root(TreeReader* reader, std::uint64_t size);
platform::Task<base::Result<TreeFrontier>> tree_frontier(TreeReader* reader, std::uint64_t size);
platform::Task<base::Result<std::vector<TreeHash>>> inclusion_proof(TreeReader* reader,
                                                                    std::uint64_t index,
                                                                    std::uint64_t size);
// From nothing to any tree, and from a tree to itself, the proof is empty.
platform::Task<base::Result<std::vector<TreeHash>>> consistency_proof(TreeReader* reader,
                                                                      std::uint64_t from,
                                                                      std::uint64_t to);

// Leaf `index` of the tree with this size and root has this hash. RFC 9162, section 2.1.3.2.
[[nodiscard]] bool verify_inclusion(std::uint64_t index, std::uint64_t size, const TreeHash& leaf,
                                    std::span<const TreeHash> proof, const TreeHash& root);
// The tree with size `from` is the beginning of the one with size `to`. RFC 9162, section 2.1.4.2;
// trees of one size have one root, and every tree begins with the empty one.
[[nodiscard]] bool verify_consistency(std::uint64_t from, std::uint64_t to,
                                      const TreeHash& from_root, const TreeHash& to_root,
                                      std::span<const TreeHash> proof);

}  // namespace ron::chain
