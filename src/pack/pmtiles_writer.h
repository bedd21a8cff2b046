// Writing PMTiles: which tiles there are comes first, then everything in front of the tile data can
// be written, then the tile data itself, in order. So a file is written once, from its beginning to
// its end, and nothing but the entries and a hash for each different tile is kept in memory.
//
//   PmtilesPlan plan;
//   for (tile : in the order of tile ids) plan.add(tile.id, tile.bytes);
//   write(pmtiles_head(plan, header, metadata));
//   for (tile : in the same order) if (it was new) write(tile.bytes);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/object_id.h"
#include "pack/pmtiles_directory.h"
#include "pack/pmtiles_header.h"

namespace ron::pack {

// The tiles of a file to be. One thread.
class PmtilesPlan {
 public:
  // Tile ids ascend (asserted), and no tile is empty (asserted). True when no tile before had these
  // bytes: they come next in the tile data.
  bool add(std::uint64_t tile_id, base::ByteView tile);

  [[nodiscard]] const std::vector<PmtilesEntry>& entries() const noexcept { return entries_; }
  [[nodiscard]] std::uint64_t addressed_tiles() const noexcept { return addressed_tiles_; }
  [[nodiscard]] std::uint64_t contents() const noexcept { return known_.size(); }
  [[nodiscard]] std::uint64_t data_bytes() const noexcept { return data_bytes_; }

 private:
  struct Known {
    std::uint64_t offset;
    std::uint32_t length;
  };

  std::vector<PmtilesEntry> entries_;
  std::unordered_map<base::ObjectId, Known, base::ObjectIdHash> known_;
  std::uint64_t addressed_tiles_ = 0;
  std::uint64_t data_bytes_ = 0;
};

// Directories, compressed with gzip.
struct PmtilesDirectories {
  std::string root;
  std::string leaves;  // empty when the root has room for all
};
// `root_bytes` is the most a root may have.
PmtilesDirectories build_directories(std::span<const PmtilesEntry> entries,
                                     std::uint64_t root_bytes);

// Everything in front of the tile data: header, root directory, metadata (a JSON object), leaves.
// What `header` says of sections, counts and the order of the data is filled in. The plan must not
// be empty (asserted).
std::string pmtiles_head(const PmtilesPlan& plan, PmtilesHeader header, std::string_view metadata);

}  // namespace ron::pack
