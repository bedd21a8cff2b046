// Verifier: proves that 64 KiB groups belong to an address, in any order, without the rest.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "b3/outboard.h"
#include "base/bytes.h"
#include "base/object_id.h"
#include "base/result.h"

namespace ron::b3 {

// Starts from the address, which is the only thing it trusts, and walks down the outboard: a parent
// is copied, checked against the value expected of it, and only then believed. The checked path to
// the last group is kept, so groups in order cost one parent each and groups in any order at most
// the depth of the tree.
//
// Owned by one thread at a time; about 4 KB, no heap (except the text of an error). The outboard's
// memory must outlive it. Copies are independent: give each core its own.
//
// Every mismatch of bytes, outboard or address is IntegrityFail and names the group. An error
// leaves the verifier usable: the next group is judged on its own.
//
// What a length is worth: a group that passes is proven to be those bytes at that offset of the
// object. That the object *ends* where the outboard claims is proven once its last group passes.
class Verifier {
 public:
  Verifier(const base::ObjectId& id, OutboardView outboard) noexcept
      : id_(id), outboard_(outboard) {}

  // `bytes` are all bytes of group `index`. RangeNotSatisfiable if there is no such group.
  base::Result<void> verify_group(std::uint64_t index, base::ByteView bytes);
  // Consecutive groups from `first_group` on; the last must be whole or the object's last.
  base::Result<void> verify_groups(std::uint64_t first_group, base::ByteView bytes);
  // Checks every parent of the outboard once, without the object's bytes. (An object of one group
  // has none to check.)
  base::Result<void> verify_outboard();

  [[nodiscard]] std::uint64_t total_bytes() const noexcept { return outboard_.total_bytes(); }
  [[nodiscard]] std::uint64_t groups() const noexcept { return outboard_.groups(); }

 private:
  // A parent that was checked, and the groups under it.
  struct Node {
    std::uint64_t first_group = 0;
    std::uint64_t groups = 0;
    std::uint64_t slot = 0;
    Parent parent;
  };
  static constexpr std::size_t kMaxDepth = 48;
  static_assert(kMaxDepth == std::countr_zero(kMaxGroups));

  base::Result<ChainingValue> trusted_value(std::uint64_t index);
  [[nodiscard]] bool enter_root() noexcept;
  [[nodiscard]] bool enter(const Node& place, const ChainingValue& expected) noexcept;
  [[nodiscard]] base::Error mismatch(std::uint64_t index, const char* what) const;

  base::ObjectId id_;
  OutboardView outboard_;
  std::array<Node, kMaxDepth> path_;
  std::size_t depth_ = 0;
};

}  // namespace ron::b3
