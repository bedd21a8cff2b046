// For the tests of this folder: MBTiles made by SQLite itself, from SQL, in memory.
#pragma once

#include <cstdint>
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

// The database with a tree of so many levels: that of the table which was made last, whose root is
// its last page. All but the lowest page have no cells, and one child.
inline std::string with_levels(std::string database, std::uint32_t levels) {
  constexpr std::size_t kCountAt = 28;  // of pages, in the header
  const auto number = [](std::uint32_t value, unsigned bytes) {
    std::string out;
    while (bytes > 0) out.push_back(static_cast<char>(value >> (8 * --bytes)));
    return out;
  };
  const std::uint32_t page =
      static_cast<std::uint8_t>(database[16]) * 256U + static_cast<std::uint8_t>(database[17]);
  const auto root = static_cast<std::uint32_t>(database.size() / page);
  const std::string leaf = database.substr(database.size() - page);
  database.resize(database.size() - page);
  for (std::uint32_t child = root + 1; child < root + levels; ++child) {
    const std::string above =
        std::string("\5\0\0\0\0", 5) + number(page, 2) + std::string(1, '\0') + number(child, 4);
    database += above + std::string(page - above.size(), '\0');
  }
  database += leaf;
  return database.replace(kCountAt, 4, number(root + levels - 1, 4));
}

}  // namespace ron::pack::test
