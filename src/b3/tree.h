// The BLAKE3 tree: values of subtrees, and their composition into an object's address.
//
// An object can be hashed in pieces, in any order and on any core, when each piece is a whole
// subtree. A ChainingValue is the value of such a piece *below* the root; an ObjectId is the value
// *at* the root, which BLAKE3 computes differently. The two are distinct types, and nothing here
// turns one ChainingValue into an ObjectId: that cannot be done without the bytes. So an object of
// a single unit has to go through b3::hash, and composition starts at two units.
//
// Everything here is a pure function or a plain value: no heap, no sharing, any thread.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "b3/geometry.h"
#include "base/bytes.h"
#include "base/object_id.h"
#include "base/result.h"

namespace ron::b3 {

struct ChainingValue {
  static constexpr std::size_t kBytes = 32;
  std::array<std::byte, kBytes> bytes{};
  friend auto operator<=>(const ChainingValue&, const ChainingValue&) = default;
};

// Value of a non-root subtree: `bytes` start at chunk `first_chunk` of the object. Either a
// power-of-two number of whole chunks, aligned to that number, or the last, ragged run of the
// object, aligned to the power of two above it (asserted). Uses the widest SIMD kernel; the stack
// use is about 8 KB whatever the length.
ChainingValue subtree(base::ByteView bytes, std::uint64_t first_chunk) noexcept;

// Values of the consecutive 64 KiB groups of `bytes`, which start at group `first_group`; only the
// object's last group may be short. `out` must have group_count(bytes.size()) elements (asserted).
void group_values(base::ByteView bytes, std::uint64_t first_group,
                  std::span<ChainingValue> out) noexcept;

// Value of the inner node above two subtrees.
ChainingValue parent_of(const ChainingValue& left, const ChainingValue& right) noexcept;
// Address of an object whose top node has these two children.
base::ObjectId root_of_pair(const ChainingValue& left, const ChainingValue& right) noexcept;

// Value of the non-root subtree over consecutive equal units (the last may be ragged), aligned as
// for `subtree`: a part's value from its groups' values. At least one value (asserted).
ChainingValue combine(std::span<const ChainingValue> units) noexcept;

// Address of an object of `total_bytes` from the values of all its units of `unit_bytes` (a power
// of two, at least one chunk; the last may be shorter). Internal if the object is not larger than
// one unit (hash its bytes instead) or the number of values is not the number of units.
base::Result<base::ObjectId> root_of(std::uint64_t total_bytes, std::uint64_t unit_bytes,
                                     std::span<const ChainingValue> units);

// The same one value at a time, in order, in memory of the tree's depth (under 2 KB). One thread
// at a time; a plain value, copying forks it.
class RootComposer {
 public:
  // Internal under the same conditions as root_of.
  static base::Result<RootComposer> create(std::uint64_t total_bytes, std::uint64_t unit_bytes);

  // Internal when all units are there already.
  base::Result<void> append(const ChainingValue& unit);
  // Internal while units are missing.
  [[nodiscard]] base::Result<base::ObjectId> finish() const;

  [[nodiscard]] std::uint64_t appended() const noexcept { return appended_; }
  [[nodiscard]] std::uint64_t expected() const noexcept { return expected_; }

 private:
  explicit RootComposer(std::uint64_t expected) noexcept : expected_(expected) {}

  // One complete subtree per set bit of the count, and the newest unit, which is not merged before
  // the next one arrives: it might belong directly under the root.
  static constexpr std::size_t kStackValues = 55;
  static_assert(kStackValues == std::bit_width(kMaxChunks));

  std::array<ChainingValue, kStackValues> stack_;
  std::size_t depth_ = 0;
  std::uint64_t appended_ = 0;
  std::uint64_t expected_;
};

}  // namespace ron::b3
