#include "pack/pmtiles_header.h"

#include <bit>
#include <concepts>
#include <cstring>

#include "pack/tile_id.h"

namespace ron::pack {
namespace {

using base::Code;
using base::Result;

constexpr std::uint8_t kVersion = 3;
constexpr std::size_t kVersionAt = kPmtilesMagic.size();
constexpr std::int32_t kDegree = 10'000'000;

template <class T>
T little(T value) noexcept {
  if constexpr (std::endian::native == std::endian::big) return std::byteswap(value);
  return value;
}

// Numbers one behind the other; there are enough bytes.
class Reader {
 public:
  explicit Reader(base::ByteView bytes) noexcept : bytes_(bytes) {}
  template <std::integral T>
  T take() noexcept {
    T value{};
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return little(value);
  }
  Section section() noexcept {
    const auto offset = take<std::uint64_t>();
    return {offset, take<std::uint64_t>()};
  }

 private:
  base::ByteView bytes_;
};

template <std::integral T>
void put(std::string& out, T value) {
  const T stored = little(value);
  out.append(reinterpret_cast<const char*>(&stored), sizeof stored);
}
void put(std::string& out, Section section) {
  put(out, section.offset);
  put(out, section.length);
}

std::unexpected<base::Error> malformed(std::string why) {
  return base::fail(Code::Malformed, std::move(why));
}

struct Named {
  std::string_view name;
  Section section;
};

bool overlap(const Section& a, const Section& b) noexcept {
  return a.length != 0 && b.length != 0 && a.offset < b.offset + b.length &&
         b.offset < a.offset + a.length;
}

Result<void> check_sections(const PmtilesHeader& header, std::uint64_t file_bytes) {
  const std::array<Named, 5> all = {{{"the header", {0, kPmtilesHeaderBytes}},
                                     {"the root directory", header.root},
                                     {"the metadata", header.metadata},
                                     {"the leaf directories", header.leaves},
                                     {"the tile data", header.tile_data}}};
  for (const auto& [name, section] : all) {
    if (section.length == 0) continue;  // then its offset means nothing
    if (section.offset > file_bytes || section.length > file_bytes - section.offset) {
      return malformed(std::string(name) + " reaches past the end of the file (" +
                       std::to_string(section.offset) + " + " + std::to_string(section.length) +
                       " of " + std::to_string(file_bytes) + " bytes)");
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = i + 1; k < all.size(); ++k) {
      if (!overlap(all[i].section, all[k].section)) continue;
      return malformed(std::string(all[i].name) + " and " + std::string(all[k].name) + " overlap");
    }
  }
  if (header.root.length == 0) return malformed("there is no root directory");
  if (header.root.offset + header.root.length > kPmtilesRootEnd) {
    return malformed("the root directory is not within the first 16384 bytes");
  }
  if (header.metadata.length == 0) return malformed("there is no metadata");
  return {};
}

bool is_place(std::int32_t lon, std::int32_t lat) noexcept {
  return lon >= -180 * kDegree && lon <= 180 * kDegree && lat >= -90 * kDegree &&
         lat <= 90 * kDegree;
}

}  // namespace

Result<PmtilesHeader> parse_pmtiles_header(base::ByteView bytes) {
  const std::string_view text = base::as_text(bytes);
  if (!text.starts_with(kPmtilesMagic)) return malformed("it does not begin as PMTiles");
  if (bytes.size() > kVersionAt && static_cast<std::uint8_t>(bytes[kVersionAt]) != kVersion) {
    return malformed("it is PMTiles version " +
                     std::to_string(static_cast<unsigned>(bytes[kVersionAt])) +
                     "; only version 3 is understood");
  }
  if (bytes.size() < kPmtilesHeaderBytes) {
    return malformed("it ends within the header: " + std::to_string(bytes.size()) +
                     " of 127 bytes");
  }
  Reader reader(bytes.subspan(kVersionAt + 1));
  PmtilesHeader header;
  header.root = reader.section();
  header.metadata = reader.section();
  header.leaves = reader.section();
  header.tile_data = reader.section();
  header.addressed_tiles = reader.take<std::uint64_t>();
  header.tile_entries = reader.take<std::uint64_t>();
  header.tile_contents = reader.take<std::uint64_t>();
  const auto clustered = reader.take<std::uint8_t>();
  const auto internal = reader.take<std::uint8_t>();
  const auto compression = reader.take<std::uint8_t>();
  const auto type = reader.take<std::uint8_t>();
  header.min_zoom = reader.take<std::uint8_t>();
  header.max_zoom = reader.take<std::uint8_t>();
  header.min_lon_e7 = reader.take<std::int32_t>();
  header.min_lat_e7 = reader.take<std::int32_t>();
  header.max_lon_e7 = reader.take<std::int32_t>();
  header.max_lat_e7 = reader.take<std::int32_t>();
  header.center_zoom = reader.take<std::uint8_t>();
  header.center_lon_e7 = reader.take<std::int32_t>();
  header.center_lat_e7 = reader.take<std::int32_t>();
  if (clustered > 1) return malformed("clustered is neither 0 nor 1");
  if (internal < 1 || internal > static_cast<std::uint8_t>(Compression::Zstd)) {
    return malformed("there is no internal compression " + std::to_string(internal));
  }
  if (compression > static_cast<std::uint8_t>(Compression::Zstd)) {
    return malformed("there is no tile compression " + std::to_string(compression));
  }
  if (type > static_cast<std::uint8_t>(TileType::Avif)) {
    return malformed("there is no tile type " + std::to_string(type));
  }
  header.clustered = clustered == 1;
  header.internal_compression = static_cast<Compression>(internal);
  header.tile_compression = static_cast<Compression>(compression);
  header.tile_type = static_cast<TileType>(type);
  return header;
}

std::string encode(const PmtilesHeader& header) {
  std::string out(kPmtilesMagic);
  put(out, kVersion);
  for (const Section& section : {header.root, header.metadata, header.leaves, header.tile_data}) {
    put(out, section);
  }
  put(out, header.addressed_tiles);
  put(out, header.tile_entries);
  put(out, header.tile_contents);
  put(out, static_cast<std::uint8_t>(header.clustered ? 1 : 0));
  put(out, static_cast<std::uint8_t>(header.internal_compression));
  put(out, static_cast<std::uint8_t>(header.tile_compression));
  put(out, static_cast<std::uint8_t>(header.tile_type));
  put(out, header.min_zoom);
  put(out, header.max_zoom);
  put(out, header.min_lon_e7);
  put(out, header.min_lat_e7);
  put(out, header.max_lon_e7);
  put(out, header.max_lat_e7);
  put(out, header.center_zoom);
  put(out, header.center_lon_e7);
  put(out, header.center_lat_e7);
  return out;
}

Result<void> check(const PmtilesHeader& header, std::uint64_t file_bytes) {
  if (auto sound = check_sections(header, file_bytes); !sound) return sound;
  if (header.max_zoom > kMaxZoom) {
    return malformed("the largest zoom is " + std::to_string(header.max_zoom) +
                     "; there are tiles down to zoom 31 only");
  }
  if (header.min_zoom > header.max_zoom) {
    return malformed("the smallest zoom, " + std::to_string(header.min_zoom) +
                     ", is above the largest, " + std::to_string(header.max_zoom));
  }
  if (header.center_zoom > kMaxZoom) {
    return malformed("the centre's zoom is " + std::to_string(header.center_zoom));
  }
  if (!is_place(header.min_lon_e7, header.min_lat_e7) ||
      !is_place(header.max_lon_e7, header.max_lat_e7)) {
    return malformed("the bounds are not on the globe");
  }
  if (header.min_lon_e7 > header.max_lon_e7 || header.min_lat_e7 > header.max_lat_e7) {
    return malformed("the bounds are the wrong way round");
  }
  if (!is_place(header.center_lon_e7, header.center_lat_e7)) {
    return malformed("the centre is not on the globe");
  }
  return {};
}

}  // namespace ron::pack
