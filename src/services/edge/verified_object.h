// VerifiedObject: what has to be known of a large object to verify any piece of it alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "b3/tree.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/object_id.h"
#include "base/result.h"
#include "base/units.h"

namespace ron::edge {

// The values of its groups, which come to its address. Immutable.
struct VerifiedObject {
  std::uint64_t length = 0;
  std::vector<b3::ChainingValue> groups;

  [[nodiscard]] std::size_t footprint() const noexcept {
    return sizeof(*this) + groups.size() * sizeof(b3::ChainingValue);
  }
  // `bytes` begin at `offset`, where a group does, and end with one.
  [[nodiscard]] bool has(std::uint64_t offset, base::ByteView bytes) const;
};
using VerifiedPtr = std::shared_ptr<const VerifiedObject>;

// Makes one of an object's bytes as they come by, without keeping them. One thread.
class ObjectVerifier {
 public:
  // Hashed at once: more would keep a core from its other work for too long.
  static constexpr std::size_t kPieceBytes = 256 * base::kKiB;

  // More than one group (asserted).
  explicit ObjectVerifier(std::uint64_t length);

  // The next of its bytes; IntegrityFail when they are more than it has.
  base::Result<> append(base::ByteView bytes);
  // IntegrityFail when they were fewer, or have another address.
  base::Result<VerifiedPtr> finish(const base::ObjectId& address);

 private:
  void hash_piece();

  std::shared_ptr<VerifiedObject> object_;
  std::uint64_t hashed_ = 0;
  std::size_t filled_ = 0;  // of the piece
  base::Buffer piece_;
};

}  // namespace ron::edge
