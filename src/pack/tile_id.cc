#include "pack/tile_id.h"

#include <bit>
#include <cassert>
#include <utility>

namespace ron::pack {
namespace {

// One step of the curve: the quadrant is mirrored and turned, so that its ends meet its neighbours.
void turn(std::uint32_t side, std::uint32_t& x, std::uint32_t& y, bool right, bool lower) noexcept {
  if (lower) return;
  if (right) {
    x = side - 1 - x;
    y = side - 1 - y;
  }
  std::swap(x, y);
}

}  // namespace

std::uint8_t zoom_of(std::uint64_t tile_id) noexcept {
  assert(tile_id < first_tile_id(kMaxZoom + 1));
  // 3 id + 1 lies from 4^z on and below 4^(z + 1).
  return static_cast<std::uint8_t>((std::bit_width(3 * tile_id + 1) - 1) / 2);
}

std::optional<std::uint64_t> tile_id(Zxy at) noexcept {
  if (at.z > kMaxZoom || (at.x >> at.z) != 0 || (at.y >> at.z) != 0) return std::nullopt;
  std::uint64_t along = 0;
  for (unsigned level = at.z; level-- > 0;) {
    const std::uint32_t side = std::uint32_t{1} << level;
    const bool right = (at.x & side) != 0;
    const bool lower = (at.y & side) != 0;
    along += std::uint64_t{side} * side * ((right ? 3U : 0U) ^ (lower ? 1U : 0U));
    at.x &= side - 1;
    at.y &= side - 1;
    turn(side, at.x, at.y, right, lower);
  }
  return first_tile_id(at.z) + along;
}

std::optional<Zxy> tile_at(std::uint64_t tile_id) noexcept {
  if (tile_id >= first_tile_id(kMaxZoom + 1)) return std::nullopt;
  Zxy at{.z = zoom_of(tile_id)};
  std::uint64_t along = tile_id - first_tile_id(at.z);
  for (unsigned level = 0; level < at.z; ++level) {
    const std::uint32_t side = std::uint32_t{1} << level;
    const bool right = (along & 2U) != 0;
    const bool lower = ((along ^ (right ? 1U : 0U)) & 1U) != 0;
    turn(side, at.x, at.y, right, lower);
    at.x += right ? side : 0;
    at.y += lower ? side : 0;
    along >>= 2U;
  }
  return at;
}

}  // namespace ron::pack
