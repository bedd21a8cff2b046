// Bounds that hold for every service, together with the relations between them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace ron::base::limits {

// BLAKE3 geometry and how objects are cut.
inline constexpr std::size_t kChunkBytes = 1024;       // a BLAKE3 leaf
inline constexpr std::size_t kGroupBytes = 64 * kKiB;  // the unit of verification
inline constexpr std::size_t kPartBytes = 1 * kMiB;    // the largest body; one part of an upload
static_assert(kGroupBytes % kChunkBytes == 0 && (kGroupBytes & (kGroupBytes - 1)) == 0);
static_assert(kPartBytes % kGroupBytes == 0 && (kPartBytes & (kPartBytes - 1)) == 0,
              "a part must be an aligned BLAKE3 subtree");

// HTTP head.
inline constexpr std::size_t kTargetBytes = 4 * kKiB;  // longer request targets are 414
inline constexpr std::size_t kHeadBytes = 16 * kKiB;   // longer heads are 431
inline constexpr std::size_t kHeadFields = 64;         // more fields are 431
static_assert(kTargetBytes < kHeadBytes);

// Bodies after guarded decoding.
inline constexpr std::size_t kDecodedBytes = 8 * kMiB;
static_assert(kPartBytes <= kDecodedBytes);

// Cores one process may drive; sizes per-core tables and metric shards.
inline constexpr std::size_t kCores = 64;

}  // namespace ron::base::limits
