// The parts of large objects: what they hash to, composed to the object's address once, and where
// they lie. Kept in memory for objects that are being read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "b3/tree.h"
#include "base/object_id.h"
#include "runtime/lock.h"
#include "volume/entry.h"
#include "volume/segment.h"

namespace ron::volume {

// Parts whose values compose to the object's address. Keeps the segments readable. Immutable.
struct PartTable {
  struct Part {
    b3::ChainingValue value;
    std::uint64_t offset = 0;
    std::uint32_t head_bytes = 0;
    std::uint32_t payload_bytes = 0;
    std::uint32_t segment = 0;  // of `segments`
  };
  std::uint64_t sequence = 0;  // of the object's entry
  std::vector<SegmentPtr> segments;
  std::vector<Part> parts;

  [[nodiscard]] std::size_t bytes() const noexcept {
    return sizeof(PartTable) + parts.size() * sizeof(Part) + segments.size() * sizeof(SegmentPtr);
  }
};
using PartTablePtr = std::shared_ptr<const PartTable>;

// A cache in two generations of half the bytes each: what was not asked for during a whole
// generation is forgotten. Any thread.
class PartTables {
 public:
  PartTables(std::size_t capacity_bytes, const runtime::LockDecl& lock_decl)
      : generation_bytes_(capacity_bytes / 2), lock_(lock_decl) {}

  [[nodiscard]] PartTablePtr find(const base::ObjectId& id, std::uint64_t sequence);
  void add(const base::ObjectId& id, PartTablePtr table);
  // The segment is about to go: nothing here shall keep its space.
  void forget_segment(std::uint64_t segment);

 private:
  using Tables = std::unordered_map<base::ObjectId, PartTablePtr, base::ObjectIdHash>;
  void add_locked(const base::ObjectId& id, PartTablePtr table);

  const std::size_t generation_bytes_;
  runtime::Lock lock_;
  Tables young_;  // guarded by lock_, as the rest
  Tables old_;
  std::size_t young_bytes_ = 0;
};

}  // namespace ron::volume
