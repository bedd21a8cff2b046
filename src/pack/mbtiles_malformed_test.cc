// MBTiles that are wrong in one way each, and the reason each is refused for.
#include <functional>

#include <gmock/gmock.h>

#include "pack/mbtiles_database.h"
#include "pack/test_mbtiles.h"
#include "pack/test_support.h"

namespace ron::pack {
namespace {

using test::kPlainSchema;
using test::mbtiles_of;
using test::MemorySource;
using test::with_levels;

constexpr std::string_view kMetadata = "INSERT INTO metadata VALUES ('format','png');";
constexpr std::string_view kTile = "INSERT INTO tiles VALUES (1,0,0,x'89504e47');";

std::string sound() {
  return std::string(kPlainSchema) + std::string(kMetadata) + std::string(kTile);
}
std::string with_tile(const std::string& values) {
  return sound() + "INSERT INTO tiles VALUES (" + values + ");";
}
std::string with_metadata(const std::string& name, const std::string& value) {
  return sound() + "INSERT INTO metadata VALUES ('" + name + "','" + value + "');";
}
std::string with_view(const std::string& select) {
  return "CREATE TABLE metadata (name text, value text);"
         "CREATE TABLE a (n integer, b blob); INSERT INTO a VALUES (0, x'00'), (1, x'01');"
         "CREATE VIEW tiles AS " +
         select + ";";
}
std::string with_schema(const std::string& change) {
  return sound() + "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET " + change +
         "; PRAGMA writable_schema=OFF;";
}

// With a table that nothing reads, made last.
std::string with_small_pages() {
  return "PRAGMA page_size=512;" + sound() + "CREATE TABLE unused (a);";
}

struct Case {
  const char* name;
  const char* reason;
  std::string sql;
  std::function<void(std::string&)> spoil = [](std::string&) {};
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

std::vector<Case> file_cases() {
  return {
      {"NothingButTheMagic", "it ends within the header of SQLite", sound(),
       [](std::string& f) { f.resize(16); }},
      {"PagesOf513Bytes", "pages of 513 bytes", sound(),
       [](std::string& f) {
         f[16] = 2;
         f[17] = 1;
       }},
      {"PagesOf256Bytes", "pages of 256 bytes", sound(),
       [](std::string& f) {
         f[16] = 1;
         f[17] = 0;
       }},
      {"CutInHalf", "and the file is shorter", sound(),
       [](std::string& f) { f.resize(f.size() / 2); }},
      {"ZerosBehindTheHeader", "malformed", sound(),
       [](std::string& f) { std::fill(f.begin() + 100, f.end(), '\0'); }},
      {"NoiseBehindTheHeader", "the database:", sound(),
       [](std::string& f) {
         platform::FastRandom random(1);
         for (std::size_t i = 100; i < f.size(); ++i) f[i] = static_cast<char>(random.next());
       }},
      {"UnknownSchemaFormat", "unsupported file format", sound(),
       [](std::string& f) { f[47] = 9; }},
      {"TablePageIsAnIndexPage", "malformed", sound(),
       [](std::string& f) { f[4096] = f[4096] == 13 ? 10 : 13; }},
      {"FreePagesThatAreNotThere", "the database is damaged", sound(),
       [](std::string& f) { f[39] = 5; }},
      {"CellsOutsideOfTheirPage", "malformed", sound(),
       [](std::string& f) {
         for (std::size_t page = 4096; page < f.size(); page += 4096) f[page + 8] = '\xff';
       }},
      {"ChainOfPages", "a tree has more than 20 levels", with_small_pages(),
       [](std::string& f) { f = with_levels(std::move(f), 40'000); }},
      {"ChainOfTwentyOnePages", "a tree has more than 20 levels", with_small_pages(),
       [](std::string& f) { f = with_levels(std::move(f), 21); }},
      {"PagesInACircle", "two pages lead to page", with_small_pages(),
       [](std::string& f) {
         f = with_levels(std::move(f), 3);
         // The page above the lowest leads to the one above itself.
         f[f.size() - 2 * 512 + 11] = static_cast<char>(f.size() / 512 - 2);
       }},
  };
}

std::vector<Case> schema_cases() {
  std::string many = sound();
  for (int i = 0; i < 300; ++i) many += "CREATE TABLE t" + std::to_string(i) + " (a);";
  return {
      {"NoTilesTable", "without a table tiles", "CREATE TABLE metadata (name text, value text);"},
      {"NoMetadataTable", "without a table metadata",
       "CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, "
       "tile_data blob); INSERT INTO tiles VALUES (0,0,0,x'00');"},
      {"NoRows", "no such column: tile_row",
       "CREATE TABLE metadata (name text, value text);"
       "CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_data blob);"},
      {"NoData", "no such column: tile_data",
       "CREATE TABLE metadata (name text, value text);"
       "CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer);"},
      {"MetadataWithoutValues", "no such column: value",
       "CREATE TABLE metadata (name text);"
       "CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, "
       "tile_data blob); INSERT INTO tiles VALUES (0,0,0,x'00');"},
      {"VirtualTable", "a virtual table, v",
       sound() + "CREATE VIRTUAL TABLE v USING rtree(a,b,c);"},
      {"GeneratedColumn", "table g has a generated column, b",
       sound() + "CREATE TABLE g (a, b AS (zeroblob(1000000000)));"},
      {"TooManyTables", "too many tables", many},
      {"SchemaIsNoise", "malformed database schema", with_schema("sql='frob' WHERE name='tiles'")},
      {"TableWithoutAPage", "malformed", with_schema("rootpage=4000000 WHERE name='tiles'")},
      {"TwoTablesOnOnePage", "malformed", with_schema("rootpage=2")},
  };
}

std::vector<Case> view_cases() {
  return {
      {"ViewOfItself", "circularly defined", with_view("SELECT * FROM tiles")},
      {"ViewOfNothing", "no such table: main.nowhere", with_view("SELECT * FROM nowhere")},
      {"EndlessRecursion", "not authorized",
       with_view("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT 0 AS "
                 "zoom_level, n AS tile_column, 0 AS tile_row, x'00' AS tile_data FROM r")},
      {"ForbiddenFunction", "not authorized to use function: randomblob",
       with_view("SELECT 0 AS zoom_level, 0 AS tile_column, 0 AS tile_row, randomblob(1e9) AS "
                 "tile_data FROM a")},
      {"FunctionThatTakesLong", "not authorized to use function: instr",
       with_view("SELECT instr(b, b) AS zoom_level, 0 AS tile_column, 0 AS tile_row, b AS "
                 "tile_data FROM a")},
      {"TableFunction", "no such table: main.json_each",
       with_view("SELECT 0 AS zoom_level, 0 AS tile_column, 0 AS tile_row, value AS tile_data "
                 "FROM json_each('[1]')")},
      {"PragmaAsTable", "no such table: main.pragma_database_list",
       with_view("SELECT 0 AS zoom_level, 0 AS tile_column, 0 AS tile_row, file AS tile_data "
                 "FROM pragma_database_list")},
      {"EndlessJoin", "the database makes us work too long",
       with_view("SELECT p.n AS zoom_level, 0 AS tile_column, 0 AS tile_row, p.b AS tile_data FROM "
                 "a p, a q, a r, a s, a t, a u, a v, a w, a x, a y, a z, a p2, a q2, a r2, a s2, "
                 "a t2, a u2, a v2, a w2, a x2, a y2, a z2, a p3, a q3, a r3, a s3, a t3, a u3")},
      {"SortOfTooMuch", "the database makes us work too long",
       with_view("SELECT p.n AS zoom_level, 0 AS tile_column, 0 AS tile_row, p.b AS tile_data FROM "
                 "a p, a q, a r, a s, a t, a u, a v, a w, a x, a y, a z, a p2, a q2, a r2, a s2, "
                 "a t2, a u2, a v2, a w2, a x2, a y2, a z2, a p3, a q3, a r3, a s3, a t3, a u3 "
                 "ORDER BY q.n, r.n LIMIT 100000000")},
  };
}

std::vector<Case> content_cases() {
  return {
      {"NoTiles", "there are no tiles", std::string(kPlainSchema)},
      {"OnlyTilesBesideTheMap", "there are no tiles",
       std::string(kPlainSchema) + "INSERT INTO tiles VALUES (0,1,0,x'00');"},
      {"NegativeZoom", "a tile's zoom is not between 0 and 30", with_tile("-1,0,0,x'00'")},
      {"Zoom31", "a tile's zoom is not between 0 and 30", with_tile("31,0,0,x'00'")},
      {"ColumnPastTheZoom", "a tile's column or row is not on its zoom", with_tile("3,9,0,x'00'")},
      {"NegativeRow", "a tile's column or row is not on its zoom", with_tile("3,0,-2,x'00'")},
      {"HugeColumn", "a tile's column or row is not on its zoom",
       with_tile("3,9223372036854775807,0,x'00'")},
      {"ZoomIsText", "no integer", with_tile("'three',0,0,x'00'")},
      {"RowIsAFraction", "no integer", with_tile("3,0,1.5,x'00'")},
      {"ColumnIsNull", "no integer", with_tile("3,NULL,0,x'00'")},
      {"TooManyTiles", "there are 201 tiles, more than the limit of 100",
       [] {
         std::string sql = sound();
         for (int i = 0; i < 200; ++i) {
           sql += "INSERT INTO tiles VALUES (9," + std::to_string(i) + ",0,x'00');";
         }
         return sql;
       }()},
      {"BoundsAreText", "the bounds are not four numbers", with_metadata("bounds", "everywhere")},
      {"BoundsOfThree", "the bounds are not four numbers", with_metadata("bounds", "1,2,3")},
      {"BoundsOfFive", "the bounds are not four numbers", with_metadata("bounds", "1,2,3,4,5")},
      {"BoundsNotFinite", "the bounds are not four numbers",
       with_metadata("bounds", "1,2,inf,nan")},
      {"BoundsInSpace", "the bounds are not on the globe", with_metadata("bounds", "0,0,181,1")},
      {"BoundsTheWrongWayRound", "the wrong way round", with_metadata("bounds", "10,0,0,1")},
      {"CentreOfTwo", "the centre is not three numbers", with_metadata("center", "1,2")},
      {"CentreInSpace", "the centre is not on the globe", with_metadata("center", "1,100,3")},
      {"CentreTooDeep", "the centre's zoom", with_metadata("center", "1,2,99")},
      {"JsonIsText", "json is not a JSON object", with_metadata("json", "layers")},
      {"JsonIsAnArray", "json is not a JSON object", with_metadata("json", "[]")},
      {"TooMuchMetadata", "more metadata than the limit of 65536 bytes",
       with_metadata("description", std::string(70'000, 'a'))},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto part : {file_cases(), schema_cases(), view_cases(), content_cases()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

constexpr Limits kSmall{.entries = 100, .metadata_bytes = 65536, .tile_bytes = 100'000};

class MalformedMbtiles : public testing::TestWithParam<Case> {};

TEST_P(MalformedMbtiles, IsRefusedWithTheReason) {
  std::string bytes = mbtiles_of(GetParam().sql);
  GetParam().spoil(bytes);
  sqlite3_memory_highwater(1);
  const auto database = MbtilesDatabase::open(std::make_shared<MemorySource>(bytes), kSmall, {});
  ASSERT_FALSE(database.has_value());
  EXPECT_THAT(database.error().message, testing::HasSubstr(GetParam().reason));
  // What a refusal takes, a sort of very much included; far below what all may have.
  EXPECT_LE(sqlite3_memory_highwater(0), 16 << 20);
}
INSTANTIATE_TEST_SUITE_P(All, MalformedMbtiles, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(MalformedMbtiles, AreSoundBeforeTheyAreSpoilt) {
  const auto database =
      MbtilesDatabase::open(std::make_shared<MemorySource>(mbtiles_of(sound())), kSmall, {});
  ASSERT_TRUE(database.has_value()) << database.error().message;
  EXPECT_EQ((*database)->info().tiles, 1U);
}

// So many rows without an index: each lookup would read them all, and none would end in time.
std::string many_rows(int rows, const std::string& insert) {
  return "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < " +
         std::to_string(rows) + ") " + insert + " FROM r;";
}

void expect_no_index(const std::string& sql) {
  const auto database =
      MbtilesDatabase::open(std::make_shared<MemorySource>(mbtiles_of(sql)), {}, {});
  ASSERT_FALSE(database.has_value());
  EXPECT_EQ(database.error().code, base::Code::Malformed);
  EXPECT_EQ(database.error().message,
            "finding one tile takes too long: the table of tiles has no index for it");
}

TEST(MalformedMbtiles, OfManyTilesHaveNoIndex) {
  expect_no_index(sound() + "DROP INDEX tile_index;" +
                  many_rows(450'000, "INSERT INTO tiles SELECT 20, n, 0, zeroblob(40)"));
}

TEST(MalformedMbtiles, OfManyImagesHaveNoIndex) {
  expect_no_index(std::string(test::kViewSchema) + "DROP INDEX images_id;" +
                  many_rows(800'000, "INSERT INTO images SELECT n, x'00'") +
                  "INSERT INTO map VALUES (1,0,0,'799999');");
}

// Work that nobody waits for ends by itself.
TEST(MalformedMbtiles, EndWhenTheyAreAbandoned) {
  const auto flag = std::make_shared<base::StopFlag>();
  flag->set(base::StopCause::Abandoned);
  std::string sql = sound();
  for (int i = 0; i < 90; ++i) {
    sql += "INSERT INTO tiles VALUES (9," + std::to_string(i) + ",0,x'00');";
  }
  const auto database = MbtilesDatabase::open(std::make_shared<MemorySource>(mbtiles_of(sql)),
                                              kSmall, base::StopToken(flag));
  ASSERT_FALSE(database.has_value());
  EXPECT_EQ(database.error().code, base::Code::Canceled);
}

// Whatever the bytes, nothing worse than a refusal.
TEST(MalformedMbtiles, OfAnyFourBytesChangedNeverCrash) {
  std::string sql = sound();
  for (int i = 0; i < 50; ++i) {
    sql += "INSERT INTO tiles VALUES (9," + std::to_string(i) + ",0,zeroblob(5000));";
  }
  const std::string whole = mbtiles_of(sql);
  platform::FastRandom random(11);
  for (int i = 0; i < 400; ++i) {
    std::string bytes = whole;
    for (int k = 0; k < 4; ++k) {
      // Half of them where the structure is: in the first pages.
      const std::uint64_t range = k % 2 == 0 ? bytes.size() : std::size_t{3} * 4096;
      bytes[random.below(range)] = static_cast<char>(random.next());
    }
    const auto database = MbtilesDatabase::open(std::make_shared<MemorySource>(bytes), kSmall, {});
    if (!database) continue;
    for (std::uint32_t x = 0; x < 50; x += 7) {
      static_cast<void>((*database)->find({9, x, 511}, {}));
    }
  }
}

}  // namespace
}  // namespace ron::pack
