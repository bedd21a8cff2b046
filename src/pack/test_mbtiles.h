// For the tests of this folder: MBTiles made by SQLite itself, from SQL, in memory.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <sqlite3.h>

namespace ron::pack::test {

inline constexpr std::string_view kPlainSchema =
    "CREATE TABLE metadata (name text, value text);"
    "CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, "
    "tile_data blob);"
    "CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);";

inline constexpr std::string_view kViewSchema =
    "CREATE TABLE metadata (name text, value text);"
    "CREATE TABLE map (zoom_level integer, tile_column integer, tile_row integer, tile_id text);"
    "CREATE TABLE images (tile_id text, tile_data blob);"
    "CREATE UNIQUE INDEX map_index ON map (zoom_level, tile_column, tile_row);"
    "CREATE UNIQUE INDEX images_id ON images (tile_id);"
    "CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data "
    "FROM map JOIN images ON images.tile_id = map.tile_id;";

// The bytes of the database file that the statements make. Throws when one cannot be done.
inline std::string mbtiles_of(const std::string& sql) {
  sqlite3* db = nullptr;
  if (sqlite3_open(":memory:", &db) != SQLITE_OK) throw std::runtime_error("no memory");
  char* why = nullptr;
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &why) != SQLITE_OK) {
    throw std::runtime_error(why);
  }
  sqlite3_int64 bytes = 0;
  unsigned char* const data = sqlite3_serialize(db, "main", &bytes, 0);
  std::string out(reinterpret_cast<const char*>(data), static_cast<std::size_t>(bytes));
  sqlite3_free(data);
  sqlite3_close(db);
  return out;
}

}  // namespace ron::pack::test
