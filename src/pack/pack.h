// Pack: a file of map tiles as it was when it was opened, whatever its format.
//
// Opening reads all of it once: its structure is checked, and its bytes are hashed in groups of 64
// KiB. Every byte that is handed out later is compared with what was hashed then, so that a file
// that is changed under us is an error and never a mixture. A file that is replaced by a rename
// stays what it was for whoever has it open.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/object_id.h"
#include "base/result.h"
#include "platform/blocking.h"
#include "platform/disk.h"
#include "platform/task.h"
#include "runtime/deadline.h"

namespace ron::pack {

enum class Format : std::uint8_t { Pmtiles, Mbtiles };
// The numbers of PMTiles.
enum class TileType : std::uint8_t { Unknown = 0, Mvt = 1, Png = 2, Jpeg = 3, Webp = 4, Avif = 5 };
enum class Compression : std::uint8_t { Unknown = 0, None = 1, Gzip = 2, Brotli = 3, Zstd = 4 };

std::string_view media_type(TileType type) noexcept;  // application/vnd.mapbox-vector-tile
std::string_view extension(TileType type) noexcept;   // mvt
// As people write it: mvt, gzip, pmtiles.
std::string_view name(TileType type) noexcept;
std::string_view name(Compression compression) noexcept;
std::string_view name(Format format) noexcept;

struct Zxy {
  std::uint8_t z = 0;
  std::uint32_t x = 0;
  std::uint32_t y = 0;  // from the north, as in URLs
  friend bool operator==(const Zxy&, const Zxy&) = default;
};

struct Bounds {
  double west = -180;
  double south = -85.0511287;
  double east = 180;
  double north = 85.0511287;
};

struct Info {
  Format format = Format::Pmtiles;
  TileType type = TileType::Unknown;
  Compression compression = Compression::Unknown;  // of each tile
  std::uint8_t min_zoom = 0;
  std::uint8_t max_zoom = 0;
  Bounds bounds{};
  double center_lon = 0;
  double center_lat = 0;
  std::uint8_t center_zoom = 0;
  std::string metadata;  // a JSON object: name, attribution, vector_layers and what else there is
  std::uint64_t tiles = 0;         // places that have one
  std::uint64_t contents = 0;      // different ones
  std::uint64_t bytes = 0;         // of the file
  base::ObjectId hash;             // of the file
  std::uint64_t memory_bytes = 0;  // what keeping it open takes
};

struct Tile {
  base::Buffer bytes;
  Compression compression = Compression::None;
};

// Any core of the host. Cancel-safe, all of it.
class Pack {
 public:
  Pack() = default;
  Pack(const Pack&) = delete;
  Pack& operator=(const Pack&) = delete;
  virtual ~Pack() = default;

  [[nodiscard]] virtual const Info& info() const noexcept = 0;

  // Nothing: there is no such tile. IntegrityFail when the file is not what it was, StorageBusy,
  // Timeout.
  virtual platform::Task<base::Result<std::optional<Tile>>> tile(Zxy at,
                                                                 runtime::Deadline deadline) = 0;
  // Bytes of the file itself, at least one and at most `length`. The same errors.
  virtual platform::Task<base::Result<base::Buffer>> read(std::uint64_t offset,
                                                          std::uint64_t length,
                                                          runtime::Deadline deadline) = 0;
};

using PackPtr = std::shared_ptr<Pack>;

// What a file may make us allocate.
struct Limits {
  std::uint64_t directory_bytes = 64ULL << 20;  // one directory, inflated
  std::uint64_t entries = 64ULL << 20;          // in all directories
  std::uint64_t metadata_bytes = 8ULL << 20;    // inflated
  std::uint64_t tile_bytes = 16ULL << 20;       // as stored
};

// Where opening gets its bytes and its threads from; outlives the pack.
struct Place {
  platform::Disk* disk = nullptr;
  platform::BlockingPool* blocking = nullptr;
};
// Called with bytes done and in all, now and then.
using Progress = std::function<void(std::uint64_t, std::uint64_t)>;

// Malformed with the reason when it is no sound pack. The format is told by the first bytes.
platform::Task<base::Result<PackPtr>> open(Place place, std::string path, Limits limits,
                                           Progress progress = {});

}  // namespace ron::pack
