#include "pack/tile_id.h"

#include <gtest/gtest.h>

#include "b3/sample_gen.h"

namespace ron::pack {
namespace {

TEST(TileId, IsWhatTheFormatSays) {
  EXPECT_EQ(tile_id({0, 0, 0}), 0U);
  EXPECT_EQ(tile_id({1, 0, 0}), 1U);
  EXPECT_EQ(tile_id({1, 0, 1}), 2U);
  EXPECT_EQ(tile_id({1, 1, 1}), 3U);
  EXPECT_EQ(tile_id({1, 1, 0}), 4U);
  EXPECT_EQ(tile_id({2, 0, 0}), 5U);
  EXPECT_EQ(tile_id({12, 3423, 1763}), 19'078'479U);
  EXPECT_EQ(tile_at(19'078'479), (Zxy{12, 3423, 1763}));
}

TEST(TileId, HasNoPlaceOutsideOfAZoom) {
  EXPECT_FALSE(tile_id({0, 1, 0}));
  EXPECT_FALSE(tile_id({0, 0, 1}));
  EXPECT_FALSE(tile_id({4, 16, 0}));
  EXPECT_FALSE(tile_id({31, 0x80000000U, 0}));
  EXPECT_FALSE(tile_id({32, 0, 0}));
  EXPECT_FALSE(tile_id({255, 0, 0}));
  EXPECT_TRUE(tile_id({31, 0x7fffffffU, 0x7fffffffU}));
  EXPECT_FALSE(tile_at(first_tile_id(kMaxZoom + 1)));
  EXPECT_FALSE(tile_at(UINT64_MAX));
}

TEST(TileId, KnowsTheZoomOfTheFirstAndLastOfEach) {
  for (unsigned zoom = 0; zoom <= kMaxZoom; ++zoom) {
    EXPECT_EQ(zoom_of(first_tile_id(zoom)), zoom);
    EXPECT_EQ(zoom_of(first_tile_id(zoom + 1) - 1), zoom);
  }
}

TEST(TileId, AndPlaceAreOneToOne) {
  EXPECT_TRUE(rc::check([] {
    const auto id = *b3::samples::between<std::uint64_t>(0, first_tile_id(kMaxZoom + 1));
    const auto at = tile_at(id);
    RC_ASSERT(at.has_value());
    RC_ASSERT(tile_id(*at) == id);
  }));
}

// What makes it a Hilbert curve: one step along it is one step on the map.
TEST(TileId, NeighboursOnTheCurveAreNeighboursOnTheMap) {
  EXPECT_TRUE(rc::check([] {
    const auto zoom = *b3::samples::between<unsigned>(1, kMaxZoom + 1);
    const auto id =
        *b3::samples::between<std::uint64_t>(first_tile_id(zoom), first_tile_id(zoom + 1) - 1);
    const Zxy a = *tile_at(id);
    const Zxy b = *tile_at(id + 1);
    const auto apart = [](std::uint32_t p, std::uint32_t q) { return p > q ? p - q : q - p; };
    RC_ASSERT(a.z == b.z);
    RC_ASSERT(apart(a.x, b.x) + apart(a.y, b.y) == 1U);
  }));
}

}  // namespace
}  // namespace ron::pack
