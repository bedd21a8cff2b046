// PmtilesIndex: what a PMTiles file says of itself, all of it checked, ready to be looked up.
//
// Loading walks every directory once and keeps the entries as one sorted array: a lookup touches no
// file, and nothing that was not checked is ever followed. 24 bytes for each entry, of which there
// are at most Limits::entries and no more than the stored bytes of the directories can honestly
// hold. Each of those bytes is read once. Immutable; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stop_token.h"
#include "pack/pack.h"
#include "pack/pmtiles_directory.h"
#include "pack/pmtiles_header.h"
#include "pack/source.h"

namespace ron::pack {

class PmtilesIndex {
 public:
  // The root directory is at depth 0.
  static constexpr unsigned kMaxDepth = 3;

  // Entries of directories of so many stored bytes: as many as gzip can pack into them, and some.
  static constexpr std::uint64_t most_entries(std::uint64_t stored_bytes) noexcept {
    constexpr std::uint64_t kEntriesAnyway = 65'536;
    constexpr std::uint64_t kEntriesPerByte = 256;
    return kEntriesAnyway + kEntriesPerByte * stored_bytes;
  }

  // Reads header, metadata and directories; blocks. Malformed with the reason, Canceled, and
  // whatever the source says.
  static base::Result<PmtilesIndex> load(Source& source, const Limits& limits,
                                         const base::StopToken& stop);

  [[nodiscard]] const PmtilesHeader& header() const noexcept { return header_; }
  // Everything but the hash of the file.
  [[nodiscard]] Info info() const;
  // Where in the file the tile is; nothing when there is none.
  [[nodiscard]] std::optional<Section> find(std::uint64_t tile_id) const noexcept;

  [[nodiscard]] std::uint64_t entries() const noexcept { return ids_.size(); }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return ids_.capacity() * sizeof(std::uint64_t) + places_.capacity() * sizeof(Place);
  }

 private:
  struct Place {
    std::uint64_t offset;
    std::uint32_t length;
    std::uint32_t run_length;
  };
  class Walk;

  // Tile data that is used by several entries counts once.
  [[nodiscard]] std::uint64_t count_contents() const;
  base::Result<void> check_counts();

  PmtilesHeader header_;
  std::string metadata_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t addressed_tiles_ = 0;
  std::uint64_t contents_ = 0;
  // In the order of ids; two arrays, so that searching one touches little memory.
  std::vector<std::uint64_t> ids_;
  std::vector<Place> places_;
};

}  // namespace ron::pack
