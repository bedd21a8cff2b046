// For the tests of this folder: RFC 6962's definitions word for word, and tiles in memory.
#pragma once

#include <bit>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "chain/tlog_tree.h"

namespace ron::chain::testing {

using Proof = std::vector<TreeHash>;
using Leaves = std::span<const TreeHash>;

inline Proof numbered_leaves(std::uint64_t count, std::uint64_t from = 0) {
  Proof leaves;
  leaves.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = from; i < from + count; ++i) {
    leaves.push_back(leaf_hash(base::as_bytes("entry " + std::to_string(i))));
  }
  return leaves;
}

// The definitions of RFC 6962, section 2.1, over leaves D[begin:end]. Roots are remembered, or
// trying all sizes would take minutes.
class NaiveTree {
 public:
  explicit NaiveTree(Proof leaves) : leaves_(std::move(leaves)) {}

  [[nodiscard]] const TreeHash& leaf(std::size_t index) const { return leaves_[index]; }
  TreeHash root(std::size_t size) { return mth(0, size); }
  Proof inclusion(std::size_t m, std::size_t size) { return path(m, 0, size); }
  Proof consistency(std::size_t m, std::size_t size) { return subproof(m, 0, size, true); }

 private:
  static std::size_t k_of(std::size_t n) { return std::bit_floor(n - 1); }

  TreeHash mth(std::size_t begin, std::size_t end) {
    if (begin == end) return empty_root();
    if (end - begin == 1) return leaves_[begin];
    const auto known = roots_.find({begin, end});
    if (known != roots_.end()) return known->second;
    const std::size_t middle = begin + k_of(end - begin);
    const TreeHash hash = node_hash(mth(begin, middle), mth(middle, end));
    roots_.emplace(std::pair(begin, end), hash);
    return hash;
  }
  Proof path(std::size_t m, std::size_t begin, std::size_t end) {
    if (end - begin == 1) return {};
    const std::size_t k = k_of(end - begin);
    Proof proof = m < k ? path(m, begin, begin + k) : path(m - k, begin + k, end);
    proof.push_back(m < k ? mth(begin + k, end) : mth(begin, begin + k));
    return proof;
  }
  Proof subproof(std::size_t m, std::size_t begin, std::size_t end, bool whole) {
    if (m == end - begin) return whole ? Proof{} : Proof{mth(begin, end)};
    const std::size_t k = k_of(end - begin);
    Proof proof =
        m <= k ? subproof(m, begin, begin + k, whole) : subproof(m - k, begin + k, end, false);
    proof.push_back(m <= k ? mth(begin + k, end) : mth(begin, begin + k));
    return proof;
  }

  Proof leaves_;
  std::map<std::pair<std::size_t, std::size_t>, TreeHash> roots_;
};

// Every level of a tree in memory; never waits. Notes which tiles are read.
class MapReader final : public TreeReader {
 public:
  explicit MapReader(Proof leaves) {
    levels_.push_back(std::move(leaves));
    while (levels_.back().size() >= kTileWidth) {
      Proof above;
      const Leaves below = levels_.back();
      for (std::size_t at = 0; at + kTileWidth <= below.size(); at += kTileWidth) {
        const Leaves tile = below.subspan(at, kTileWidth);
        above.push_back(NaiveTree({tile.begin(), tile.end()}).root(kTileWidth));
      }
      levels_.push_back(std::move(above));
    }
  }

  platform::Task<base::Result<std::vector<TreeHash>>> read(unsigned level, std::uint64_t first,
                                                           std::size_t count) override {
    ++reads_;
    tiles_.insert({level, first / kTileWidth});
    if (first / kTileWidth != (first + count - 1) / kTileWidth || level >= levels_.size() ||
        first + count > levels_[level].size()) {
      co_return base::fail(base::Code::Internal, "a read outside of one tile, or of the tree");
    }
    const Leaves hashes = std::span(levels_[level]).subspan(first, count - (less_ ? 1 : 0));
    co_return std::vector<TreeHash>(hashes.begin(), hashes.end());
  }

  void give_one_less() { less_ = true; }
  void forget_reads() {
    reads_ = 0;
    tiles_.clear();
  }
  [[nodiscard]] std::size_t reads() const { return reads_; }
  [[nodiscard]] const std::set<std::pair<unsigned, std::uint64_t>>& tiles_read() const {
    return tiles_;
  }

 private:
  std::vector<Proof> levels_;
  std::set<std::pair<unsigned, std::uint64_t>> tiles_;
  std::size_t reads_ = 0;
  bool less_ = false;
};

template <class T>
platform::Task<void> store(platform::Task<T> task, std::optional<T>* into) {
  T value = co_await task;
  into->emplace(std::move(value));
}

// What a task that never has to wait comes to.
template <class T>
T wait_for(platform::Task<T> task) {
  std::optional<T> value;
  const platform::Task<void> stored = store(std::move(task), &value);
  stored.operator co_await().await_suspend(std::noop_coroutine()).resume();
  if (!value) throw std::runtime_error("the task waits, and nothing will wake it");
  return std::move(*value);
}

}  // namespace ron::chain::testing
