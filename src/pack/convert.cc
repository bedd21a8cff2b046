#include "pack/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "pack/compression.h"
#include "pack/mbtiles_database.h"
#include "pack/mbtiles_file.h"
#include "pack/pmtiles_writer.h"
#include "pack/tile_id.h"
#include "pack/verified_file.h"

namespace ron::pack {
namespace {

using base::Code;
using base::Result;
using platform::Task;

// A person waits for a conversion and ends it by leaving.
constexpr platform::BlockingKind kReadTileTable{"read_tile_table", platform::kCallersBudget};
constexpr platform::BlockingKind kConvertTiles{"convert_tiles", std::chrono::seconds(60)};
// What one job on the pool reads before others have their turn.
constexpr std::size_t kBatchTiles = 1024;
constexpr std::size_t kBatchBytes = 4U << 20;

std::int32_t e7(double degrees) noexcept {
  return static_cast<std::int32_t>(std::lround(degrees * 10'000'000));
}

// One conversion. Its jobs run one after the other on the pool, which share it with the caller's
// frame: an aborted caller leaves the job under way something to end with.
class Conversion {
 public:
  Conversion(std::shared_ptr<Source> source, Limits limits)
      : source_(std::move(source)), limits_(limits) {}

  [[nodiscard]] std::size_t tiles() const noexcept { return ids_.size(); }
  [[nodiscard]] const PmtilesPlan& plan() const noexcept { return plan_; }

  Result<std::size_t> open(const base::StopToken& stop) {
    auto database = MbtilesDatabase::open(source_, limits_, stop);
    if (!database) return base::fail(std::move(database.error()));
    database_ = std::move(*database);
    auto ids = database_->tile_ids(stop);
    if (!ids) return base::fail(std::move(ids.error()));
    ids_ = std::move(*ids);
    is_new_.resize(ids_.size());
    const Info& info = database_->info();
    const bool vector = info.type == TileType::Mvt || info.compression == Compression::Gzip;
    compression_ = vector ? Compression::Gzip : Compression::None;
    return ids_.size();
  }

  // Looks at some tiles from `at` on; where the next begin.
  Result<std::size_t> look(std::size_t at, const base::StopToken& stop) {
    const std::size_t end = std::min(ids_.size(), at + kBatchTiles);
    for (; at < end; ++at) {
      auto tile = stored(ids_[at], stop);
      if (!tile) return base::fail(std::move(tile.error()));
      if (!tile->empty()) is_new_[at] = plan_.add(ids_[at], base::as_bytes(*tile));
    }
    return at;
  }

  struct Batch {
    base::Buffer bytes;
    std::size_t next = 0;
  };
  // The bytes of some tiles from `at` on, as far as they are new.
  Result<Batch> collect(std::size_t at, const base::StopToken& stop) {
    std::string bytes;
    const std::size_t end = std::min(ids_.size(), at + kBatchTiles);
    for (; at < end && bytes.size() < kBatchBytes; ++at) {
      if (!is_new_[at]) continue;
      auto tile = stored(ids_[at], stop);
      if (!tile) return base::fail(std::move(tile.error()));
      bytes += *tile;
    }
    return Batch{buffer_of(bytes), at};
  }

  // Everything in front of the tiles.
  Result<base::Buffer> head() {
    if (plan_.entries().empty()) return base::fail(Code::Malformed, "there are no tiles");
    const Info& info = database_->info();
    PmtilesHeader header;
    header.tile_compression = compression_;
    header.tile_type = info.type;
    header.min_zoom = info.min_zoom;
    header.max_zoom = info.max_zoom;
    header.min_lon_e7 = e7(info.bounds.west);
    header.min_lat_e7 = e7(info.bounds.south);
    header.max_lon_e7 = e7(info.bounds.east);
    header.max_lat_e7 = e7(info.bounds.north);
    header.center_zoom = info.center_zoom;
    header.center_lon_e7 = e7(info.center_lon);
    header.center_lat_e7 = e7(info.center_lat);
    return buffer_of(pmtiles_head(plan_, header, info.metadata));
  }

 private:
  static base::Buffer buffer_of(std::string_view bytes) {
    base::Buffer out(bytes.size());
    if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }

  // As it will be stored; empty when the tile has no bytes.
  Result<std::string> stored(std::uint64_t id, const base::StopToken& stop) {
    if (stop.requested()) return base::fail(stop.error());
    auto tile = database_->find(*tile_at(id), stop);
    if (!tile) return base::fail(std::move(tile.error()));
    if (!*tile) return std::string();
    const base::ByteView bytes = (*tile)->bytes.view();
    if (compression_ == Compression::Gzip && (*tile)->compression == Compression::None) {
      return gzip(bytes);
    }
    return std::string(base::as_text(bytes));
  }

  std::shared_ptr<Source> source_;
  Limits limits_;
  std::shared_ptr<MbtilesDatabase> database_;
  Compression compression_ = Compression::None;
  std::vector<std::uint64_t> ids_;
  std::vector<bool> is_new_;
  PmtilesPlan plan_;
};
using ConversionPtr = std::shared_ptr<Conversion>;

// A Result inside of the pool's own.
template <class T>
Result<T> flat(Result<Result<T>> done) {
  if (!done) return base::fail(std::move(done.error()));
  return std::move(*done);
}

Task<Result<void>> look_at_all(Place place, ConversionPtr work, const Progress* written) {
  for (std::size_t at = 0; at < work->tiles();) {
    auto next = flat(co_await place.blocking->run(
        kConvertTiles, [work, at](const base::StopToken& stop) { return work->look(at, stop); }));
    if (!next) co_return base::fail(std::move(next.error()));
    at = *next;
    if (*written) (*written)(at, 2 * work->tiles());
  }
  co_return Result<void>();
}

Task<Result<std::uint64_t>> write_all(Place place, ConversionPtr work, platform::File* to,
                                      const Progress* written) {
  auto head = flat(co_await place.blocking->run(kConvertTiles, [work] { return work->head(); }));
  if (!head) co_return base::fail(std::move(head.error()));
  std::uint64_t bytes = head->size();
  auto put = co_await to->write_at(0, std::move(*head));
  if (!put) co_return base::fail(std::move(put.error()));
  for (std::size_t at = 0; at < work->tiles();) {
    auto batch =
        flat(co_await place.blocking->run(kConvertTiles, [work, at](const base::StopToken& stop) {
          return work->collect(at, stop);
        }));
    if (!batch) co_return base::fail(std::move(batch.error()));
    at = batch->next;
    const std::uint64_t offset = bytes;
    bytes += batch->bytes.size();
    put = co_await to->write_at(offset, std::move(batch->bytes));
    if (!put) co_return base::fail(std::move(put.error()));
    if (*written) (*written)(work->tiles() + at, 2 * work->tiles());
  }
  const auto synced = co_await to->sync();
  if (!synced) co_return base::fail(synced.error());
  co_return bytes;
}

}  // namespace

Task<Result<Converted>> convert_mbtiles(Place place, std::string from, platform::File* to,
                                        Limits limits, Progress read, Progress written) {
  const auto settled = co_await check_journals(place.disk, from);
  if (!settled) co_return base::fail(settled.error());
  auto file = co_await VerifiedFile::open(place, from, std::move(read));
  if (!file) co_return base::fail(std::move(file.error()));
  auto magic =
      co_await (*file)->read(0, std::min<std::uint64_t>(kSqliteMagic.size(), (*file)->size()), {});
  if (!magic) co_return base::fail(std::move(magic.error()));
  if (base::as_text(magic->view()) != kSqliteMagic) {
    co_return base::fail(Code::Malformed, "it is not MBTiles: it does not begin as SQLite");
  }
  const auto work = std::make_shared<Conversion>(*file, limits);
  auto opened = flat(co_await place.blocking->run(
      kReadTileTable, [work](const base::StopToken& stop) { return work->open(stop); }));
  if (!opened) co_return base::fail(std::move(opened.error()));
  auto looked = co_await look_at_all(place, work, &written);
  if (!looked) co_return base::fail(std::move(looked.error()));
  auto bytes = co_await write_all(place, work, to, &written);
  if (!bytes) co_return base::fail(std::move(bytes.error()));
  co_return Converted{work->plan().addressed_tiles(), work->plan().contents(), *bytes};
}

}  // namespace ron::pack
