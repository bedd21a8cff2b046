#include "chain/tile_path.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::chain {
namespace {

TEST(TilePath, PrintsWhatTheSpecificationShows) {
  EXPECT_EQ(print_tile_path({0, 1'234'067, 256}), "tile/0/x001/x234/067");
  EXPECT_EQ(print_tile_path({0, 273, 112}), "tile/0/273.p/112");
  EXPECT_EQ(print_tile_path({2, 0, 1}), "tile/2/000.p/1");
  EXPECT_EQ(print_tile_path({std::nullopt, 999, 256}), "tile/entries/999");
  EXPECT_EQ(print_tile_path({std::nullopt, 1000, 255}), "tile/entries/x001/000.p/255");
}

TEST(TilePath, ComesBackFromItsText) {
  EXPECT_TRUE(rc::check("parse(print(tile))", [] {
    Tile tile;
    const unsigned level = *rc::gen::inRange(0U, kTileLevels);
    if (*rc::gen::arbitrary<bool>()) tile.level = level;
    const unsigned height = kTileHeight * (tile.level.value_or(0) + 1);
    const unsigned shift = *rc::gen::inRange(height, 65U);
    tile.index = shift > 63 ? 0 : *rc::gen::arbitrary<std::uint64_t>() >> shift;
    tile.width = *rc::gen::inRange(std::uint64_t{1}, kTileWidth + 1);
    RC_ASSERT(parse_tile_path(print_tile_path(tile)).value() == tile);
  }));
}

TEST(TilePath, HasOneNameForEachTile) {
  for (const std::string_view bad : {"",
                                     "tile",
                                     "tile/",
                                     "tile/0",
                                     "tile/0/",
                                     "tile/0/0",
                                     "tile/0/00",
                                     "tile/0/0000",
                                     "tile/00/000",
                                     "tile/-1/000",
                                     "tile/+1/000",
                                     "tile/8/000",
                                     "tile/64/000",
                                     "tile/x/000",
                                     "tile//000",
                                     "/tile/0/000",
                                     "tile/0/000/",
                                     "tile/0/x000/000",
                                     "tile/0/x001000",
                                     "tile/0/001/000",
                                     "tile/0/x001/x000",
                                     "tile/0/X001/000",
                                     "tile/0/000.p/0",
                                     "tile/0/000.p/256",
                                     "tile/0/000.p/01",
                                     "tile/0/000.p/",
                                     "tile/0/000.p/+1",
                                     "tile/0/000.p",
                                     "tile/0/000.p/1/",
                                     "tile/0/000.p/1.p/1",
                                     "tile/0/000.P/1",
                                     "tile/0/ 000",
                                     "tile/0/000 ",
                                     "tile/entries",
                                     "tile/entries/",
                                     "tile/Entries/000",
                                     "tile/entries/1",
                                     "tile/7/001",
                                     "tile/0/x018/x446/x744/x073/x709/x551/616",
                                     "tile/0/x072/x057/x594/x037/x927/936",
                                     "tile/0/x000/x072/x057/x594/x037/x927/935"}) {
    const auto tile = parse_tile_path(bad);
    ASSERT_FALSE(tile) << bad;
    EXPECT_EQ(tile.error().code, base::Code::NotFound);
  }
  EXPECT_EQ(parse_tile_path("tile/0/x072/x057/x594/x037/x927/935")->index,
            (std::uint64_t{1} << 56) - 1);
}

TEST(TilePath, RefusesATileThatContainsAZeroByte) {
  EXPECT_FALSE(parse_tile_path(std::string_view("tile/0/000\0", 11)));
}

}  // namespace
}  // namespace ron::chain
