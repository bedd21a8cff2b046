// TileID of PMTiles: a number for every tile of every zoom, along Hilbert curves, so that tiles
// that are near each other on the map are near each other in the file.
//
// All tiles of zoom 0, then those of zoom 1, and so on: (4^z - 1) / 3 lie before zoom z.
#pragma once

#include <cstdint>
#include <optional>

#include "pack/pack.h"

namespace ron::pack {

// The deepest zoom whose numbers fit into 64 bits.
inline constexpr std::uint8_t kMaxZoom = 31;

// The first number of a zoom, which is at most kMaxZoom + 1: there, the end of all numbers.
constexpr std::uint64_t first_tile_id(unsigned zoom) noexcept {
  // The sum of 4^i for i < zoom: every other bit.
  return zoom == 0 ? 0 : 0x5555555555555555U >> (64 - 2 * zoom);
}
static_assert(first_tile_id(1) == 1 && first_tile_id(2) == 5 && first_tile_id(12) == 5592405);

// Of a number below first_tile_id(kMaxZoom + 1) (asserted).
std::uint8_t zoom_of(std::uint64_t tile_id) noexcept;

// Nothing when there is no such place: the zoom is too deep, or has no such column or row.
std::optional<std::uint64_t> tile_id(Zxy at) noexcept;
// Nothing past the last tile of kMaxZoom.
std::optional<Zxy> tile_at(std::uint64_t tile_id) noexcept;

}  // namespace ron::pack
