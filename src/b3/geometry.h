// How an object of any length up to 2^64 - 1 bytes is cut: pure arithmetic that cannot overflow.
//
// A unit is a power-of-two run of chunks (a 64 KiB group, a 1 MiB part). The empty object has one
// empty unit, because BLAKE3 gives it one empty chunk.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/limits.h"

namespace ron::b3 {

using base::limits::kChunkBytes;
using base::limits::kGroupBytes;

inline constexpr std::uint64_t kGroupChunks = kGroupBytes / kChunkBytes;
inline constexpr std::uint64_t kMaxChunks = std::uint64_t{1} << 54;  // 2^64 bytes
inline constexpr std::uint64_t kMaxGroups = kMaxChunks / kGroupChunks;

constexpr std::uint64_t unit_count(std::uint64_t total_bytes, std::uint64_t unit_bytes) noexcept {
  const std::uint64_t whole = total_bytes / unit_bytes;
  return std::max<std::uint64_t>(1, whole + (total_bytes % unit_bytes != 0 ? 1 : 0));
}
constexpr std::uint64_t group_count(std::uint64_t total_bytes) noexcept {
  return unit_count(total_bytes, kGroupBytes);
}

// Where group `index` starts; `index` < kMaxGroups.
constexpr std::uint64_t group_offset(std::uint64_t index) noexcept { return index * kGroupBytes; }

// Bytes in group `index` of the object; 0 past its end.
constexpr std::size_t group_length(std::uint64_t total_bytes, std::uint64_t index) noexcept {
  if (index >= group_count(total_bytes)) return 0;
  const std::uint64_t rest = total_bytes - group_offset(index);
  return static_cast<std::size_t>(std::min<std::uint64_t>(rest, kGroupBytes));
}

struct GroupRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  friend bool operator==(const GroupRange&, const GroupRange&) = default;
};

// The groups that hold bytes [offset, offset + length), cut off at the object's end; none when the
// range is empty or lies past the end.
constexpr GroupRange groups_covering(std::uint64_t total_bytes, std::uint64_t offset,
                                     std::uint64_t length) noexcept {
  if (offset >= total_bytes || length == 0) return {};
  const std::uint64_t last = offset + (std::min(length, total_bytes - offset) - 1);
  const std::uint64_t first_group = offset / kGroupBytes;
  return {first_group, last / kGroupBytes - first_group + 1};
}

// Units in the left child of a parent over `units` >= 2: the largest power of two below `units`.
// The one rule that shapes the whole tree.
constexpr std::uint64_t left_units(std::uint64_t units) noexcept {
  return std::bit_floor(units - 1);
}

}  // namespace ron::b3
