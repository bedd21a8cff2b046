// The names C2SP tlog-tiles gives to the parts of a log: `tile/<L>/<N>[.p/<W>]` for 256 hashes of
// level L, `tile/entries/<N>[.p/<W>]` for 256 entries. N is in groups of three digits, all but the
// last after an x: 1234067 is x001/x234/067. W is there if there are fewer than 256.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "chain/tlog_tree.h"

namespace ron::chain {

struct Tile {
  std::optional<unsigned> level;  // none: entries
  std::uint64_t index = 0;
  std::uint64_t width = kTileWidth;

  // The first of its hashes or entries within the level.
  [[nodiscard]] std::uint64_t first() const noexcept { return index * kTileWidth; }

  friend bool operator==(const Tile&, const Tile&) = default;
};

// `tile` must be one that parse_tile_path accepts.
std::string print_tile_path(const Tile& tile);
// Exactly what print_tile_path makes of a tile that a tree of less than 2^64 leaves can have;
// anything else is NotFound, since a path that names nothing leads nowhere.
base::Result<Tile> parse_tile_path(std::string_view path);

}  // namespace ron::chain
