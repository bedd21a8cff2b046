// The header of PMTiles v3: 127 bytes, little-endian, that say where everything else is.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "pack/pack.h"

namespace ron::pack {

inline constexpr std::string_view kPmtilesMagic = "PMTiles";
inline constexpr std::size_t kPmtilesHeaderBytes = 127;
// Header and root directory are within these, so that a reader has both with one request.
inline constexpr std::uint64_t kPmtilesRootEnd = 16384;

// A run of bytes of the file.
struct Section {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  friend bool operator==(const Section&, const Section&) = default;
};

struct PmtilesHeader {
  Section root;
  Section metadata;
  Section leaves;
  Section tile_data;
  // 0: whoever wrote it did not count.
  std::uint64_t addressed_tiles = 0;
  std::uint64_t tile_entries = 0;
  std::uint64_t tile_contents = 0;
  bool clustered = false;
  Compression internal_compression = Compression::Gzip;  // of directories and metadata
  Compression tile_compression = Compression::Unknown;
  TileType tile_type = TileType::Unknown;
  std::uint8_t min_zoom = 0;
  std::uint8_t max_zoom = 0;
  // Degrees times ten million.
  std::int32_t min_lon_e7 = 0;
  std::int32_t min_lat_e7 = 0;
  std::int32_t max_lon_e7 = 0;
  std::int32_t max_lat_e7 = 0;
  std::uint8_t center_zoom = 0;
  std::int32_t center_lon_e7 = 0;
  std::int32_t center_lat_e7 = 0;
  friend bool operator==(const PmtilesHeader&, const PmtilesHeader&) = default;
};

// Malformed with the reason: too short, another format or version, a number that means nothing. It
// says nothing about whether the numbers fit the file: that is check().
base::Result<PmtilesHeader> parse_pmtiles_header(base::ByteView bytes);
// Exactly kPmtilesHeaderBytes.
std::string encode(const PmtilesHeader& header);
// Whether the sections fit into a file of so many bytes without touching each other, and whether
// zooms and positions make sense. Malformed with the reason.
base::Result<void> check(const PmtilesHeader& header, std::uint64_t file_bytes);

}  // namespace ron::pack
