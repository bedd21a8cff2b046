#include "pack/pack.h"

#include <utility>

namespace ron::pack {

std::string_view media_type(TileType type) noexcept {
  switch (type) {
    case TileType::Mvt:
      return "application/vnd.mapbox-vector-tile";
    case TileType::Png:
      return "image/png";
    case TileType::Jpeg:
      return "image/jpeg";
    case TileType::Webp:
      return "image/webp";
    case TileType::Avif:
      return "image/avif";
    case TileType::Unknown:
      break;
  }
  return "application/octet-stream";
}

std::string_view extension(TileType type) noexcept {
  switch (type) {
    case TileType::Mvt:
      return "mvt";
    case TileType::Png:
      return "png";
    case TileType::Jpeg:
      return "jpg";
    case TileType::Webp:
      return "webp";
    case TileType::Avif:
      return "avif";
    case TileType::Unknown:
      break;
  }
  return "bin";
}

platform::Task<base::Result<PackPtr>> open(Place, std::string path, Limits, Progress) {
  co_return base::fail(base::Code::Malformed, path + " is not a pack");
}

}  // namespace ron::pack
