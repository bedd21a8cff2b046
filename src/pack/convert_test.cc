#include "pack/convert.h"

#include "pack/mbtiles_database.h"
#include "pack/test_mbtiles.h"
#include "pack/test_support.h"
#include "pack/tile_id.h"

namespace ron::pack {
namespace {

using test::kPlainSchema;
using test::Machine;
using test::mbtiles_of;
using test::text_of;

platform::Task<void> convert_into(Place place, base::Result<Converted>* out) {
  auto file = co_await place.disk->open("/out", {.mode = platform::OpenMode::CreateNew});
  EXPECT_TRUE(file.has_value());
  *out = co_await convert_mbtiles(place, "/in", file->get(), {});
}

base::Result<Converted> convert(Machine& machine, const std::string& bytes) {
  machine.write("/in", bytes);
  base::Result<Converted> out;
  machine.run(convert_into(machine.place(), &out));
  return out;
}

TEST(Convert, KeepsEveryTileAndStoresEachOnce) {
  Machine machine;
  std::string sql(kPlainSchema);
  sql +=
      "INSERT INTO metadata VALUES ('name','sample'), ('format','png'), ('bounds','-10,-20,30,40'),"
      " ('center','1.5,2.5,3');";
  // 32 x 32 tiles of 7 kinds, and one of its own beside the map.
  for (int x = 0; x < 32; ++x) {
    for (int y = 0; y < 32; ++y) {
      sql += "INSERT INTO tiles VALUES (5," + std::to_string(x) + "," + std::to_string(y) +
             ",'kind " + std::to_string((x / 3 + y / 5) % 7) + "');";
    }
  }
  sql += "INSERT INTO tiles VALUES (5,32,0,'beside');";
  const auto done = convert(machine, mbtiles_of(sql));
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(done->tiles, 1024U);
  EXPECT_EQ(done->contents, 7U);
  const auto before = machine.open("/in");
  const auto after = machine.open("/out");
  ASSERT_TRUE(after.has_value()) << after.error().message;
  const Info& info = (*after)->info();
  EXPECT_EQ(info.format, Format::Pmtiles);
  EXPECT_EQ(info.bytes, done->bytes);
  EXPECT_EQ(info.tiles, 1024U);
  EXPECT_EQ(info.contents, 7U);
  EXPECT_EQ(info.type, TileType::Png);
  EXPECT_EQ(info.compression, Compression::None);
  EXPECT_EQ(info.metadata, (*before)->info().metadata);
  EXPECT_DOUBLE_EQ(info.bounds.north, 40);
  EXPECT_DOUBLE_EQ(info.center_lon, 1.5);
  EXPECT_EQ(info.center_zoom, 3);
  for (std::uint32_t x = 0; x < 32; x += 5) {
    for (std::uint32_t y = 0; y < 32; y += 3) {
      EXPECT_EQ(text_of(machine.tile(*after, {5, x, y})),
                text_of(machine.tile(*before, {5, x, y})));
    }
  }
}

TEST(Convert, CompressesVectorTilesThatAreNot) {
  Machine machine;
  const std::string packed = gzip(base::as_bytes("packed"));
  std::string hex;
  for (const char c : packed) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(c));
    hex += two;
  }
  const auto done = convert(machine, mbtiles_of(std::string(kPlainSchema) +
                                                "INSERT INTO metadata VALUES ('format','pbf');"
                                                "INSERT INTO tiles VALUES (1,0,0,'plain'), "
                                                "(1,1,0,x'" +
                                                hex + "');"));
  ASSERT_TRUE(done.has_value()) << done.error().message;
  const auto after = machine.open("/out");
  ASSERT_TRUE(after.has_value()) << after.error().message;
  EXPECT_EQ((*after)->info().compression, Compression::Gzip);
  EXPECT_EQ(text_of(machine.tile(*after, {1, 0, 1})), gzip(base::as_bytes("plain")));
  EXPECT_EQ(text_of(machine.tile(*after, {1, 1, 1})), packed);
}

TEST(Convert, RefusesWhatIsNotMbtiles) {
  Machine machine;
  const auto done = convert(machine, test::pmtiles_of({{0, "world"}}));
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().message, "it is not MBTiles: it does not begin as SQLite");
}

TEST(Convert, RefusesADatabaseWithChangesBesideIt) {
  Machine machine;
  machine.write("/in-wal", "some pages");
  const auto done = convert(
      machine, mbtiles_of(std::string(kPlainSchema) + "INSERT INTO tiles VALUES (0,0,0,x'00');"));
  ASSERT_FALSE(done.has_value());
  EXPECT_NE(done.error().message.find("not in the file yet"), std::string::npos);
}

}  // namespace
}  // namespace ron::pack
