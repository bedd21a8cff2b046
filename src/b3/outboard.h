// The outboard: the inner nodes of an object's tree down to its 64 KiB groups.
//
// Stored beside an object, it lets any group be checked against the address without reading the
// rest. About 0.1 % of the object. Serialised, all of it is
//
//   offset  bytes
//   0       4      "b3ob"
//   4       1      version, 1
//   5       1      log2 of the group size, 16
//   6       2      zero
//   8       8      length of the object in bytes, little endian
//   16      64 n   the n = groups - 1 parents in pre-order, each the left child's value, then the
//                  right child's
//
// Pre-order puts the parent over g groups at slot p, its left child at p + 1 and its right child at
// p + left_units(g): the path to a group is found by arithmetic, and every subtree is contiguous.
// An object of one group has no parents. Nothing in it is trusted: see b3/verify.h.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "b3/geometry.h"
#include "b3/tree.h"
#include "base/bytes.h"
#include "base/object_id.h"
#include "base/result.h"

namespace ron::b3 {

inline constexpr std::size_t kOutboardHeadBytes = 16;
inline constexpr std::size_t kParentBytes = 2 * ChainingValue::kBytes;

constexpr std::uint64_t parent_count(std::uint64_t total_bytes) noexcept {
  return group_count(total_bytes) - 1;
}
constexpr std::uint64_t outboard_bytes(std::uint64_t total_bytes) noexcept {
  return kOutboardHeadBytes + parent_count(total_bytes) * kParentBytes;
}

struct Parent {
  ChainingValue left;
  ChainingValue right;
};

// An outboard of the right shape in memory owned by someone else, who must keep it alive. Its
// contents are still only claims. A plain value; reads only, so any thread.
class OutboardView {
 public:
  // `total_bytes` is the length the caller knows the object by. IntegrityFail unless the bytes are
  // exactly a serialised outboard of that length.
  static base::Result<OutboardView> parse(base::ByteView serialised, std::uint64_t total_bytes);
  // The parents alone, for those who keep the length elsewhere. IntegrityFail unless their size is
  // exactly right; empty for an object of one group.
  static base::Result<OutboardView> of_parents(base::ByteView parents, std::uint64_t total_bytes);

  [[nodiscard]] std::uint64_t total_bytes() const noexcept { return total_bytes_; }
  [[nodiscard]] std::uint64_t groups() const noexcept { return group_count(total_bytes_); }
  [[nodiscard]] base::ByteView parents() const noexcept { return parents_; }
  // A copy of the parent at pre-order slot `slot` < groups() - 1 (asserted).
  [[nodiscard]] Parent parent(std::uint64_t slot) const noexcept;

 private:
  OutboardView(base::ByteView parents, std::uint64_t total_bytes) noexcept
      : parents_(parents), total_bytes_(total_bytes) {}

  base::ByteView parents_;
  std::uint64_t total_bytes_;
};

// An outboard made here, with the address it belongs to. Owns its serialised bytes.
class Outboard {
 public:
  // Hashes the bytes once; for any length.
  static Outboard of(base::ByteView bytes);
  // From the values of all groups (b3::group_values, part by part). Internal if the object is not
  // larger than one group, or the number of values is wrong: see b3/tree.h.
  static base::Result<Outboard> from_groups(std::uint64_t total_bytes,
                                            std::span<const ChainingValue> groups);

  [[nodiscard]] const base::ObjectId& id() const noexcept { return id_; }
  [[nodiscard]] std::uint64_t total_bytes() const noexcept { return total_bytes_; }
  [[nodiscard]] const std::vector<std::byte>& serialised() const& noexcept { return serialised_; }
  [[nodiscard]] std::vector<std::byte> serialised() && noexcept { return std::move(serialised_); }
  // Valid while this Outboard lives and is not moved from.
  [[nodiscard]] OutboardView view() const noexcept;

 private:
  explicit Outboard(std::uint64_t total_bytes);

  std::uint64_t total_bytes_;
  std::vector<std::byte> serialised_;
  base::ObjectId id_;
};

}  // namespace ron::b3
