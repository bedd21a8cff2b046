// A directory of PMTiles: entries that lead to tiles or, with a run length of 0, to leaf
// directories. Stored compressed and column by column: the count, then all id deltas, all run
// lengths, all lengths and all offsets, as varints.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace ron::pack {

struct PmtilesEntry {
  std::uint64_t tile_id = 0;
  std::uint64_t offset = 0;  // in the tile data, or among the leaves
  std::uint32_t length = 0;
  std::uint32_t run_length = 0;  // tiles from tile_id on that are this one; 0: a leaf directory
  friend bool operator==(const PmtilesEntry&, const PmtilesEntry&) = default;
};

// Reads one directory, decompressed. At most `max_entries`, which is looked at before anything is
// allocated. Entries are in ascending order and do not overlap. Malformed with the reason.
base::Result<std::vector<PmtilesEntry>> parse_directory(base::ByteView bytes,
                                                        std::uint64_t max_entries);
// The same bytes again, not compressed; the entries must be in ascending order.
std::string encode_directory(std::span<const PmtilesEntry> entries);

}  // namespace ron::pack
