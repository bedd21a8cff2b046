#include "cli/pack_mounts.h"

#include <gtest/gtest.h>

namespace ron::cli {
namespace {

TEST(PackMounts, APathOfAnotherMachineIsSentAsItIs) {
  EXPECT_EQ(path_for_server("/nowhere/here/world.pmtiles"), "/nowhere/here/world.pmtiles");
  EXPECT_EQ(path_for_server("/."), "/");
  const auto relative = path_for_server(".");
  ASSERT_TRUE(relative.has_value());
  EXPECT_TRUE(relative->starts_with('/'));
  EXPECT_FALSE(path_for_server("nowhere/world.pmtiles").has_value());
}

TEST(PackMounts, AFileGivesItsPackAName) {
  EXPECT_EQ(pack_name_of("world.pmtiles"), "world");
  EXPECT_EQ(pack_name_of("/maps/World Map (2).mbtiles"), "world-map-2");
  EXPECT_EQ(pack_name_of("./osm_2026.01.pmtiles"), "osm_2026.01");
  EXPECT_EQ(pack_name_of("..pmtiles"), "");
  EXPECT_EQ(pack_name_of(".hidden.pmtiles"), "hidden");
  EXPECT_EQ(pack_name_of("\xC3\x96land.pmtiles"), "land");
  EXPECT_EQ(pack_name_of(std::string(100, 'a') + ".pmtiles"), std::string(64, 'a'));
}

}  // namespace
}  // namespace ron::cli
