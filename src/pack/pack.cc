#include "pack/pack.h"

#include <algorithm>
#include <array>
#include <utility>

#include "pack/mbtiles_file.h"
#include "pack/mbtiles_pack.h"
#include "pack/pmtiles_pack.h"
#include "pack/verified_file.h"
#include "runtime/within.h"

namespace ron::pack {
namespace {

using base::Result;
using platform::Task;

// Within check_patience().
constexpr platform::BlockingKind kCheckPack{"check_pack", platform::kCallersBudget};

// An error about the contents says nothing of the file it is about.
base::Error named(const std::string& path, base::Error error) {
  if (error.code == base::Code::Malformed) error.message = path + ": " + error.message;
  return error;
}

// Which format it is, and whether it keeps that format's rules; blocks.
Result<PackPtr> open_verified(platform::BlockingPool& blocking,
                              const std::shared_ptr<VerifiedFile>& file, const Limits& limits,
                              const base::StopToken& stop) {
  std::array<char, 16> first{};
  const auto head = std::as_writable_bytes(std::span(first))
                        .first(std::min<std::size_t>(first.size(), file->size()));
  auto read = file->fill(0, head);
  if (!read) return base::fail(std::move(read.error()));
  const std::string_view magic = base::as_text(head);
  if (magic.starts_with(kPmtilesMagic)) {
    auto index = PmtilesIndex::load(*file, limits, stop);
    if (!index) return base::fail(std::move(index.error()));
    return std::make_shared<PmtilesPack>(file, std::move(*index));
  }
  if (magic == kSqliteMagic) {
    auto database = MbtilesDatabase::open(file, limits, stop);
    if (!database) return base::fail(std::move(database.error()));
    return std::make_shared<MbtilesPack>(blocking, file, std::move(*database));
  }
  return base::fail(base::Code::Malformed,
                    "it is neither PMTiles nor MBTiles: it begins as neither");
}

// How long checking a file may take before it is taken for an attack: a thread of the pool is busy
// with it. Honest ones take seconds for each GiB.
base::Duration check_patience(std::uint64_t file_bytes) noexcept {
  constexpr std::uint64_t kBytesPerSecond = 16ULL << 20;
  return std::chrono::seconds(60 + file_bytes / kBytesPerSecond);
}

}  // namespace

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

std::string_view name(TileType type) noexcept {
  return type == TileType::Unknown ? "unknown" : extension(type);
}

std::string_view name(Compression compression) noexcept {
  switch (compression) {
    case Compression::None:
      return "none";
    case Compression::Gzip:
      return "gzip";
    case Compression::Brotli:
      return "brotli";
    case Compression::Zstd:
      return "zstd";
    case Compression::Unknown:
      break;
  }
  return "unknown";
}

std::string_view name(Format format) noexcept {
  return format == Format::Pmtiles ? "pmtiles" : "mbtiles";
}

Task<Result<PackPtr>> open(Place place, std::string path, Limits limits, Progress progress) {
  const auto settled = co_await check_journals(place.disk, path);
  if (!settled) co_return base::fail(named(path, settled.error()));
  auto file = co_await VerifiedFile::open(place, path, std::move(progress));
  if (!file) co_return base::fail(named(path, std::move(file.error())));
  auto opened = co_await runtime::within(
      runtime::Deadline::in(check_patience((*file)->size())),
      place.blocking->run(kCheckPack, [place, file = *file, limits](const base::StopToken& stop) {
        return open_verified(*place.blocking, file, limits, stop);
      }));
  if (!opened && opened.error().code == base::Code::Timeout) {
    co_return base::fail(base::Code::Malformed, path + ": it takes too long to check");
  }
  if (!opened) co_return base::fail(std::move(opened.error()));
  if (!*opened) co_return base::fail(named(path, std::move(opened->error())));
  co_return std::move(**opened);
}

}  // namespace ron::pack
