// Arbitrary text as the name of a tile: what is accepted has this name and no other.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/bytes.h"
#include "chain/tile_path.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = ron::base::as_text(std::as_bytes(std::span(data, size)));
  const auto tile = ron::chain::parse_tile_path(path);
  if (!tile) return 0;
  if (ron::chain::print_tile_path(*tile) != path) std::abort();
  if (tile->width == 0 || tile->width > ron::chain::kTileWidth) std::abort();
  return 0;
}
