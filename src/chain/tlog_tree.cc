#include "chain/tlog_tree.h"

#include <algorithm>
#include <map>
#include <new>
#include <ranges>
#include <utility>

#include "auth/digest.h"
#include "volume/codec.h"

namespace ron::chain {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

constexpr std::array<std::byte, 1> kLeafPrefix{std::byte{0}};
constexpr std::array<std::byte, 1> kNodePrefix{std::byte{1}};
constexpr unsigned kMostHeight = 63;

TreeHash hash_of(std::initializer_list<base::ByteView> parts) {
  const auto digest = auth::sha256(parts);
  if (!digest) throw std::bad_alloc();
  return *digest;
}

// The root over complete subtrees that lie side by side, largest first.
TreeHash fold(std::span<const TreeHash> edge) {
  TreeHash hash = edge.back();
  for (const TreeHash& left : edge.first(edge.size() - 1) | std::views::reverse) {
    hash = node_hash(left, hash);
  }
  return hash;
}

// The root over 2^n hashes.
TreeHash complete_root(std::vector<TreeHash> hashes) {
  for (std::size_t left = hashes.size(); left > 1; left /= 2) {
    for (std::size_t i = 0; i < left / 2; ++i) {
      hashes[i] = node_hash(hashes[2 * i], hashes[2 * i + 1]);
    }
  }
  return hashes.front();
}

// A complete aligned subtree: leaves [number << height, (number + 1) << height).
struct Subtree {
  unsigned height;
  std::uint64_t number;

  [[nodiscard]] unsigned level() const noexcept { return height / kTileHeight; }
  // Where its root, or what its root is made of, stands in the level.
  [[nodiscard]] std::uint64_t first() const noexcept { return number << (height % kTileHeight); }
  [[nodiscard]] std::uint64_t count() const noexcept {
    return std::uint64_t{1} << (height % kTileHeight);
  }
};

struct Range {
  std::uint64_t begin;
  std::uint64_t end;
};

// The subtrees of leaves [begin, end), largest first. `begin` is a multiple of the power of two at
// or above the length, as it is of every range a proof speaks of.
std::vector<Subtree> split(Range range) {
  std::vector<Subtree> parts;
  std::uint64_t at = range.begin;
  for (unsigned height = kMostHeight + 1; height-- > 0;) {
    if ((((range.end - range.begin) >> height) & 1U) == 0) continue;
    parts.push_back({height, at >> height});
    at += std::uint64_t{1} << height;
  }
  return parts;
}

// Where RFC 6962 divides a tree of more than one leaf: the largest power of two below its size.
std::uint64_t left_leaves(std::uint64_t size) { return std::bit_floor(size - 1); }

// What is read of a tile, and what came.
struct TilePart {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::vector<TreeHash> hashes;
};

// Reads what several subtrees need of the tiles, each tile once.
class SubtreeReader {
 public:
  explicit SubtreeReader(TreeReader* reader) : reader_(reader) {}

  void want(std::span<const Subtree> subtrees) {
    for (const Subtree& subtree : subtrees) {
      const std::uint64_t begin = subtree.first();
      const std::uint64_t end = begin + subtree.count();
      auto [found, fresh] = parts_.try_emplace(key_of(subtree), TilePart{begin, end, {}});
      if (fresh) continue;
      found->second.begin = std::min(found->second.begin, begin);
      found->second.end = std::max(found->second.end, end);
    }
  }

  // Cancel-safe.
  Task<Result<void>> read() {
    for (auto& [key, part] : parts_) {
      const auto count = static_cast<std::size_t>(part.end - part.begin);
      auto hashes = co_await reader_->read(key.first, part.begin, count);
      if (!hashes) co_return fail(std::move(hashes.error()));
      if (hashes->size() != count) {
        co_return fail(Code::IntegrityFail, "a tile of the tree has another width");
      }
      part.hashes = std::move(*hashes);
    }
    co_return Result<void>();
  }

  // Of a subtree that was wanted, after read().
  [[nodiscard]] TreeHash root_of(const Subtree& subtree) const {
    const TilePart& part = parts_.at(key_of(subtree));
    const auto hashes = std::span(part.hashes)
                            .subspan(static_cast<std::size_t>(subtree.first() - part.begin),
                                     static_cast<std::size_t>(subtree.count()));
    return complete_root({hashes.begin(), hashes.end()});
  }
  [[nodiscard]] std::vector<TreeHash> roots_of(std::span<const Subtree> subtrees) const {
    std::vector<TreeHash> roots;
    roots.reserve(subtrees.size());
    for (const Subtree& subtree : subtrees) roots.push_back(root_of(subtree));
    return roots;
  }

 private:
  using Key = std::pair<unsigned, std::uint64_t>;  // level, tile

  static Key key_of(const Subtree& subtree) {
    return {subtree.level(), subtree.first() / kTileWidth};
  }

  TreeReader* reader_;
  std::map<Key, TilePart> parts_;
};

// The root over each of the ranges.
Task<Result<std::vector<TreeHash>>> read_roots(TreeReader* reader, std::vector<Range> ranges) {
  SubtreeReader subtrees(reader);
  for (const Range& range : ranges) subtrees.want(split(range));
  auto read = co_await subtrees.read();
  if (!read) co_return fail(std::move(read.error()));
  std::vector<TreeHash> roots;
  roots.reserve(ranges.size());
  for (const Range& range : ranges) roots.push_back(fold(subtrees.roots_of(split(range))));
  co_return roots;
}

// The siblings on the way from leaf `index` to the root: PATH of RFC 6962.
std::vector<Range> inclusion_ranges(std::uint64_t index, std::uint64_t size) {
  std::vector<Range> ranges;
  Range at{0, size};
  while (at.end - at.begin > 1) {
    const std::uint64_t middle = at.begin + left_leaves(at.end - at.begin);
    const bool is_left = index < middle;
    ranges.push_back(is_left ? Range{middle, at.end} : Range{at.begin, middle});
    at = is_left ? Range{at.begin, middle} : Range{middle, at.end};
  }
  std::ranges::reverse(ranges);
  return ranges;
}

// SUBPROOF of RFC 6962: the root of the last subtree that both trees have whole, unless that is all
// of the older one, and the siblings on the way from there.
std::vector<Range> consistency_ranges(std::uint64_t from, std::uint64_t to) {
  std::vector<Range> ranges;
  Range at{0, to};
  while (at.end != from) {
    const std::uint64_t middle = at.begin + left_leaves(at.end - at.begin);
    const bool is_left = from <= middle;
    ranges.push_back(is_left ? Range{middle, at.end} : Range{at.begin, middle});
    at = is_left ? Range{at.begin, middle} : Range{middle, at.end};
  }
  if (at.begin != 0) ranges.push_back(at);
  std::ranges::reverse(ranges);
  return ranges;
}

// The walk from a node to the root that both verifications do: `node` is its number in its level,
// `last` that of the last node there.
struct Climb {
  std::uint64_t node;
  std::uint64_t last;

  [[nodiscard]] bool at_root() const noexcept { return last == 0; }
  // The sibling on the proof is to the left: also where the node has none to the right, since it is
  // the last of an odd number; it then rises until there is one to the left.
  [[nodiscard]] bool sibling_is_left() const noexcept { return (node & 1U) != 0 || node == last; }
  void rise() noexcept {
    if (node == last) {
      while ((node & 1U) == 0 && node != 0) up();
    }
    up();
  }
  void up() noexcept {
    node >>= 1;
    last >>= 1;
  }
};

}  // namespace

TreeHash leaf_hash(base::ByteView entry) { return hash_of({kLeafPrefix, entry}); }

TreeHash node_hash(const TreeHash& left, const TreeHash& right) {
  return hash_of({kNodePrefix, left, right});
}

TreeHash empty_root() { return hash_of({}); }

TreeHash TreeFrontier::root() const { return edge_.empty() ? empty_root() : fold(edge_); }

std::string TreeFrontier::encode() const {
  volume::FieldWriter out(sizeof size_ + edge_.size() * sizeof(TreeHash));
  out.u64(size_);
  for (const TreeHash& hash : edge_) out.bytes(hash);
  return std::move(out).take();
}

Result<TreeFrontier> TreeFrontier::decode(base::ByteView bytes) {
  volume::FieldReader in(bytes);
  const std::uint64_t size = in.u64();
  std::vector<TreeHash> edge(static_cast<std::size_t>(std::popcount(size)));
  for (TreeHash& hash : edge) {
    const base::ByteView read = in.bytes(hash.size());
    if (!in.ok()) break;
    std::ranges::copy(read, hash.begin());
  }
  if (!in.complete()) return fail(Code::Malformed, "the tree's right edge has another length");
  return make(size, std::move(edge));
}

Result<TreeFrontier> TreeFrontier::make(std::uint64_t size, std::vector<TreeHash> edge) {
  if (edge.size() != static_cast<std::size_t>(std::popcount(size))) {
    return fail(Code::Malformed, "a tree of this size has another number of complete subtrees");
  }
  TreeFrontier frontier;
  frontier.size_ = size;
  frontier.edge_ = std::move(edge);
  return frontier;
}

Task<Result<TreeFrontier>> tree_frontier(TreeReader* reader, std::uint64_t size) {
  SubtreeReader subtrees(reader);
  const std::vector<Subtree> parts = split({0, size});
  subtrees.want(parts);
  auto read = co_await subtrees.read();
  if (!read) co_return fail(std::move(read.error()));
  co_return TreeFrontier::make(size, subtrees.roots_of(parts));
}

Task<Result<TreeHash>> tree_root(TreeReader* reader, std::uint64_t size) {
  auto frontier = co_await tree_frontier(reader, size);
  if (!frontier) co_return fail(std::move(frontier.error()));
  co_return frontier->root();
}

Task<Result<std::vector<TreeHash>>> inclusion_proof(TreeReader* reader, std::uint64_t index,
                                                    std::uint64_t size) {
  if (index >= size) {
    co_return fail(Code::Malformed, "a tree of " + std::to_string(size) + " leaves has no leaf " +
                                        std::to_string(index));
  }
  auto roots = co_await read_roots(reader, inclusion_ranges(index, size));
  co_return roots;
}

Task<Result<std::vector<TreeHash>>> consistency_proof(TreeReader* reader, std::uint64_t from,
                                                      std::uint64_t to) {
  if (from > to) {
    co_return fail(Code::Malformed, "a tree of " + std::to_string(to) +
                                        " leaves does not begin with one of " +
                                        std::to_string(from));
  }
  if (from == 0) co_return std::vector<TreeHash>();
  auto roots = co_await read_roots(reader, consistency_ranges(from, to));
  co_return roots;
}

bool verify_inclusion(std::uint64_t index, std::uint64_t size, const TreeHash& leaf,
                      std::span<const TreeHash> proof, const TreeHash& root) {
  if (index >= size) return false;
  Climb climb{index, size - 1};
  TreeHash hash = leaf;
  for (const TreeHash& sibling : proof) {
    if (climb.at_root()) return false;
    hash = climb.sibling_is_left() ? node_hash(sibling, hash) : node_hash(hash, sibling);
    climb.rise();
  }
  return climb.at_root() && hash == root;
}

bool verify_consistency(std::uint64_t from, std::uint64_t to, const TreeHash& from_root,
                        const TreeHash& to_root, std::span<const TreeHash> proof) {
  if (from > to) return false;
  if (from == to) return proof.empty() && from_root == to_root;
  if (from == 0) return proof.empty() && from_root == empty_root();
  Climb climb{from - 1, to - 1};
  while ((climb.node & 1U) != 0) climb.up();
  // A tree that is one complete subtree of the other is where the walk begins.
  TreeHash first = from_root;
  if (!std::has_single_bit(from)) {
    if (proof.empty()) return false;
    first = proof.front();
    proof = proof.subspan(1);
  }
  TreeHash from_hash = first;
  TreeHash to_hash = first;
  for (const TreeHash& sibling : proof) {
    if (climb.at_root()) return false;
    if (climb.sibling_is_left()) {
      from_hash = node_hash(sibling, from_hash);
      to_hash = node_hash(sibling, to_hash);
    } else {
      to_hash = node_hash(to_hash, sibling);
    }
    climb.rise();
  }
  return climb.at_root() && from_hash == from_root && to_hash == to_root;
}

}  // namespace ron::chain
