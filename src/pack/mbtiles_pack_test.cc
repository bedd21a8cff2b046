#include "pack/mbtiles_pack.h"

#include "b3/hash.h"
#include "pack/test_mbtiles.h"
#include "pack/test_support.h"

namespace ron::pack {
namespace {

using test::kPlainSchema;
using test::kViewSchema;
using test::Machine;
using test::mbtiles_of;
using test::text_of;

TEST(MbtilesPack, HandsOutTilesAndSaysWhatItIs) {
  Machine machine;
  const std::string bytes = mbtiles_of(
      std::string(kPlainSchema) +
      "INSERT INTO metadata VALUES ('name','sample'), ('format','pbf'), ('center','10,20,1'),"
      " ('bounds',' -10.5, -20, 30,40 '), ('json','{\"vector_layers\":[{\"id\":\"a\"}]}');"
      "INSERT INTO tiles VALUES (0,0,0,x'1f8b00'), (1,0,1,x'1f8b01'), (1,1,0,x'1f8b02');");
  machine.write("/a.mbtiles", bytes);
  const auto pack = machine.open("/a.mbtiles");
  ASSERT_TRUE(pack.has_value()) << pack.error().message;
  const Info& info = (*pack)->info();
  EXPECT_EQ(info.format, Format::Mbtiles);
  EXPECT_EQ(info.type, TileType::Mvt);
  EXPECT_EQ(info.compression, Compression::Gzip);
  EXPECT_EQ(info.min_zoom, 0);
  EXPECT_EQ(info.max_zoom, 1);
  EXPECT_DOUBLE_EQ(info.bounds.west, -10.5);
  EXPECT_DOUBLE_EQ(info.bounds.north, 40);
  EXPECT_DOUBLE_EQ(info.center_lat, 20);
  EXPECT_EQ(info.center_zoom, 1);
  EXPECT_EQ(info.tiles, 3U);
  EXPECT_EQ(info.bytes, bytes.size());
  EXPECT_EQ(info.hash, b3::hash(base::as_bytes(bytes)));
  EXPECT_EQ(info.metadata,
            R"({"bounds":" -10.5, -20, 30,40 ","center":"10,20,1","format":"pbf","name":"sample",)"
            R"("vector_layers":[{"id":"a"}]})");
  // Rows count from the south.
  EXPECT_EQ(text_of(machine.tile(*pack, {0, 0, 0})), std::string("\x1f\x8b\0", 3));
  EXPECT_EQ(text_of(machine.tile(*pack, {1, 0, 0})), "\x1f\x8b\x01");
  EXPECT_EQ(text_of(machine.tile(*pack, {1, 1, 1})), "\x1f\x8b\x02");
  EXPECT_EQ(text_of(machine.tile(*pack, {1, 0, 1})), "none");
  EXPECT_EQ(text_of(machine.tile(*pack, {2, 0, 0})), "none");
  EXPECT_EQ(text_of(machine.tile(*pack, {1, 2, 0})), "none");
  const auto tile = machine.tile(*pack, {0, 0, 0});
  EXPECT_EQ((*tile)->compression, Compression::Gzip);
}

TEST(MbtilesPack, MayBeAViewOverImages) {
  Machine machine;
  machine.write("/a.mbtiles",
                mbtiles_of(std::string(kViewSchema) +
                           "INSERT INTO metadata VALUES ('format','png');"
                           "INSERT INTO images VALUES ('sea', x'89504e47'), ('land', x'89504e48');"
                           "INSERT INTO map VALUES (1,0,0,'sea'), (1,1,0,'sea'), (1,1,1,'land');"));
  const auto pack = machine.open("/a.mbtiles");
  ASSERT_TRUE(pack.has_value()) << pack.error().message;
  EXPECT_EQ((*pack)->info().tiles, 3U);
  EXPECT_EQ((*pack)->info().contents, 2U);
  EXPECT_EQ(text_of(machine.tile(*pack, {1, 1, 0})), "\x89PNH");
  EXPECT_EQ(text_of(machine.tile(*pack, {1, 1, 1})), "\x89PNG");
}

TEST(MbtilesPack, RefusesWhatIsNotWhatItWas) {
  Machine machine;
  std::string sql(kPlainSchema);
  sql += "INSERT INTO metadata VALUES ('format','png');";
  for (int i = 0; i < 64; ++i) {
    sql += "INSERT INTO tiles VALUES (6," + std::to_string(i) + ",0,randomblob(60000));";
  }
  std::string bytes = mbtiles_of(sql);
  machine.write("/a.mbtiles", bytes);
  const auto pack = machine.open("/a.mbtiles");
  ASSERT_TRUE(pack.has_value()) << pack.error().message;
  ASSERT_TRUE(machine.tile(*pack, {6, 0, 63}).has_value());
  // All groups but the first, and more of them than any cache holds.
  for (std::size_t at = 65536; at < bytes.size(); at += 4096) bytes[at] ^= 1;
  machine.write("/a.mbtiles", bytes);
  const auto changed = machine.tile(*pack, {6, 20, 63});
  ASSERT_FALSE(changed.has_value());
  EXPECT_EQ(changed.error().code, base::Code::IntegrityFail);
}

TEST(MbtilesPack, SendsATileThatIsNotCompressedAsItIs) {
  Machine machine;
  machine.write("/a.mbtiles", mbtiles_of(std::string(kPlainSchema) +
                                         "INSERT INTO metadata VALUES ('format','pbf');"
                                         "INSERT INTO tiles VALUES (0,0,0,x'1a0100');"));
  const auto pack = machine.open("/a.mbtiles");
  ASSERT_TRUE(pack.has_value()) << pack.error().message;
  EXPECT_EQ((*pack)->info().compression, Compression::None);
  const auto tile = machine.tile(*pack, {0, 0, 0});
  EXPECT_EQ((*tile)->compression, Compression::None);
}

TEST(MbtilesPack, TilesWithoutBytesSayNothingOfTheEncoding) {
  Machine machine;
  const std::string vector =
      std::string(kPlainSchema) + "INSERT INTO metadata VALUES ('format','pbf');";
  machine.write("/a.mbtiles",
                mbtiles_of(vector + "INSERT INTO tiles VALUES (1,0,0,x''), (1,0,1,x'1f8b00');"));
  const auto pack = machine.open("/a.mbtiles");
  ASSERT_TRUE(pack.has_value()) << pack.error().message;
  EXPECT_EQ((*pack)->info().compression, Compression::Gzip);
  machine.write("/b.mbtiles", mbtiles_of(vector + "INSERT INTO tiles VALUES (1,0,0,x'');"));
  const auto empty = machine.open("/b.mbtiles");
  ASSERT_TRUE(empty.has_value()) << empty.error().message;
  EXPECT_EQ((*empty)->info().compression, Compression::Gzip);
}

// As GDAL leaves them.
TEST(MbtilesPack, TilesBesideTheMapAreNotThere) {
  Machine machine;
  machine.write("/a.mbtiles", mbtiles_of(std::string(kPlainSchema) +
                                         "INSERT INTO tiles VALUES (1,0,0,x'1a'), (1,2,0,x'1b'), "
                                         "(1,0,-1,x'1c'), (1,0,2,x'1d');"));
  const auto pack = machine.open("/a.mbtiles");
  ASSERT_TRUE(pack.has_value()) << pack.error().message;
  EXPECT_EQ((*pack)->info().tiles, 1U);
  EXPECT_EQ(text_of(machine.tile(*pack, {1, 0, 1})), "\x1a");
  EXPECT_EQ(text_of(machine.tile(*pack, {1, 2, 1})), "none");
}

TEST(MbtilesPack, ATableWithoutAnIndexIsReadToItsEnd) {
  Machine machine;
  std::string sql =
      "CREATE TABLE metadata (name text, value text);"
      "CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, "
      "tile_data blob);";
  for (int i = 0; i < 1000; ++i) {
    sql += "INSERT INTO tiles VALUES (10," + std::to_string(i) + ",0,'" + std::to_string(i) + "');";
  }
  machine.write("/a.mbtiles", mbtiles_of(sql));
  const auto pack = machine.open("/a.mbtiles");
  ASSERT_TRUE(pack.has_value()) << pack.error().message;
  EXPECT_EQ(text_of(machine.tile(*pack, {10, 999, 1023})), "999");
}

TEST(MbtilesPack, ADatabaseIsNotJudgedWhileChangesAreBesideIt) {
  Machine machine;
  machine.write("/a.mbtiles", mbtiles_of(std::string(kPlainSchema) +
                                         "INSERT INTO tiles VALUES (0,0,0,x'1a0100');"));
  for (const std::string beside : {"-wal", "-journal"}) {
    machine.write("/a.mbtiles" + beside, "some pages");
    const auto pack = machine.open("/a.mbtiles");
    ASSERT_FALSE(pack.has_value());
    EXPECT_EQ(pack.error().code, base::Code::Malformed);
    EXPECT_EQ(pack.error().message,
              "/a.mbtiles: it has changes that are not in the file yet but in its " + beside +
                  "; close its writer");
    machine.write("/a.mbtiles" + beside, "");
    EXPECT_TRUE(machine.open("/a.mbtiles").has_value());
  }
  // As `PRAGMA journal_mode=PERSIST` leaves it.
  machine.write("/a.mbtiles-journal", std::string(512, '\0'));
  EXPECT_TRUE(machine.open("/a.mbtiles").has_value());
}

// Pages of 512 bytes, so that there are levels; a table that is its own index has one tree.
TEST(MbtilesPack, MayHaveTreesOfManyLevels) {
  Machine machine;
  std::string sql =
      "PRAGMA page_size=512; CREATE TABLE metadata (name text, value text);"
      "CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, "
      "tile_data blob, PRIMARY KEY (zoom_level, tile_column, tile_row)) WITHOUT ROWID;"
      "CREATE TABLE others (a text UNIQUE, b);";
  for (int i = 0; i < 1000; ++i) {
    const std::string n = std::to_string(i);
    sql += "INSERT INTO tiles VALUES (10," + n + ",0,'" + n + "');";
    sql += "INSERT INTO others VALUES (hex(zeroblob(90)) || " + n + ", zeroblob(900));";
  }
  machine.write("/a.mbtiles", mbtiles_of(sql));
  const auto pack = machine.open("/a.mbtiles");
  ASSERT_TRUE(pack.has_value()) << pack.error().message;
  EXPECT_EQ(text_of(machine.tile(*pack, {10, 999, 1023})), "999");
}

// All packs of a process share what SQLite may take; idle connections are the first to go.
TEST(MbtilesPack, KeepsNoConnectionWhileMemoryIsShort) {
  Machine machine;
  machine.write("/a.mbtiles", mbtiles_of(std::string(kPlainSchema) +
                                         "INSERT INTO tiles VALUES (0,0,0,x'1a0100');"));
  const std::int64_t none = sqlite3_memory_used();
  const auto pack = machine.open("/a.mbtiles");
  ASSERT_TRUE(pack.has_value()) << pack.error().message;
  EXPECT_GT(sqlite3_memory_used(), none + 10'000) << "one is kept";
  constexpr std::int64_t kOthers = Sqlite::kHeapBytes / 2 + 1;
  void* const others = sqlite3_malloc64(kOthers);
  ASSERT_NE(others, nullptr);
  EXPECT_EQ(text_of(machine.tile(*pack, {0, 0, 0})), std::string("\x1a\x01\0", 3));
  EXPECT_LT(sqlite3_memory_used(), none + kOthers + 10'000);
  sqlite3_free(others);
  EXPECT_EQ(text_of(machine.tile(*pack, {0, 0, 0})), std::string("\x1a\x01\0", 3));
}

}  // namespace
}  // namespace ron::pack
