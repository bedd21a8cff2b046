#include "b3/verify.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "b3/hash.h"

namespace ron::b3 {

base::Error Verifier::mismatch(std::uint64_t index, const char* what) const {
  return base::Error(base::Code::IntegrityFail, "group " + std::to_string(index) + " of " +
                                                    id_.text() + ": " + what +
                                                    " does not match the address");
}

bool Verifier::enter_root() noexcept {
  const Parent top = outboard_.parent(0);
  if (root_of_pair(top.left, top.right) != id_) return false;
  path_[depth_++] = Node{.first_group = 0, .groups = groups(), .slot = 0, .parent = top};
  return true;
}

bool Verifier::enter(const Node& place, const ChainingValue& expected) noexcept {
  assert(depth_ < kMaxDepth);
  const Parent parent = outboard_.parent(place.slot);
  if (parent_of(parent.left, parent.right) != expected) return false;
  path_[depth_] = place;
  path_[depth_++].parent = parent;
  return true;
}

// The value group `index` must have; at least two groups.
base::Result<ChainingValue> Verifier::trusted_value(std::uint64_t index) {
  const auto covers = [index](const Node& node) {
    return index >= node.first_group && index - node.first_group < node.groups;
  };
  while (depth_ > 0 && !covers(path_[depth_ - 1])) --depth_;
  if (depth_ == 0 && !enter_root()) return base::fail(mismatch(index, "the outboard"));
  for (;;) {
    const Node& node = path_[depth_ - 1];
    const std::uint64_t left = left_units(node.groups);
    const bool go_left = index - node.first_group < left;
    const ChainingValue& expected = go_left ? node.parent.left : node.parent.right;
    const Node child{.first_group = node.first_group + (go_left ? 0 : left),
                     .groups = go_left ? left : node.groups - left,
                     .slot = node.slot + (go_left ? 1 : left),
                     .parent = {}};
    if (child.groups == 1) return expected;
    if (!enter(child, expected)) return base::fail(mismatch(index, "the outboard"));
  }
}

base::Result<void> Verifier::verify_group(std::uint64_t index, base::ByteView bytes) {
  if (index >= groups()) {
    return base::fail(
        base::Code::RangeNotSatisfiable,
        "group " + std::to_string(index) + " of " + std::to_string(groups()) + " was asked for");
  }
  if (bytes.size() != group_length(total_bytes(), index)) {
    return base::fail(mismatch(index, "the number of bytes"));
  }
  if (groups() == 1) {
    if (hash(bytes) != id_) return base::fail(mismatch(index, "the content"));
    return {};
  }
  auto expected = trusted_value(index);
  if (!expected) return base::fail(std::move(expected).error());
  if (subtree(bytes, index * kGroupChunks) != *expected) {
    return base::fail(mismatch(index, "the content"));
  }
  return {};
}

base::Result<void> Verifier::verify_groups(std::uint64_t first_group, base::ByteView bytes) {
  std::uint64_t index = first_group;
  do {
    const base::ByteView group = bytes.first(std::min(bytes.size(), kGroupBytes));
    if (auto verdict = verify_group(index, group); !verdict) return verdict;
    bytes = bytes.subspan(group.size());
    ++index;
  } while (!bytes.empty());
  return {};
}

base::Result<void> Verifier::verify_outboard() {
  if (groups() == 1) return {};
  depth_ = 0;
  for (std::uint64_t index = 0; index < groups(); ++index) {
    auto value = trusted_value(index);
    if (!value) return base::fail(std::move(value).error());
  }
  return {};
}

}  // namespace ron::b3
