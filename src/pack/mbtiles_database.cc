#include "pack/mbtiles_database.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "pack/compression.h"
#include "pack/metadata.h"
#include "pack/tile_id.h"

namespace ron::pack {
namespace {

using base::Code;
using base::Result;

// For one tile: a table without an index of a hundred thousand rows is still read to its end. A
// database that needs more is refused when it is opened.
constexpr std::uint64_t kTileSteps = 2'000'000;
constexpr std::size_t kMostMetadataRows = 10'000;

constexpr std::string_view kSelectTile =
    "SELECT tile_data FROM tiles WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3 "
    "LIMIT 1";
// The columns of all tiles in one pass; an index that has them is enough for it. Writers that cut a
// map with a margin (GDAL) leave tiles one column or row beside their zoom: nobody can ask for
// those, and they do not count.
constexpr std::string_view kCountTiles =
    "SELECT sum(tile_column >= 0 AND tile_row >= 0 AND tile_column < (1 << zoom_level) AND "
    "tile_row < (1 << zoom_level)), min(zoom_level), max(zoom_level), "
    "sum(typeof(zoom_level) <> 'integer' OR typeof(tile_column) <> 'integer' OR "
    "typeof(tile_row) <> 'integer'), "
    "sum(zoom_level < 0 OR zoom_level > 30), "
    "sum(tile_column < -1 OR tile_row < -1 OR tile_column > (1 << zoom_level) OR "
    "tile_row > (1 << zoom_level)) FROM tiles";

std::unexpected<base::Error> malformed(std::string why) {
  return base::fail(Code::Malformed, std::move(why));
}

base::Buffer copy_of(base::ByteView bytes) {
  base::Buffer out(bytes.size());
  if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace

// One thread's at a time.
struct MbtilesDatabase::Connection {
  explicit Connection(std::unique_ptr<Sqlite> opened) noexcept : sqlite(std::move(opened)) {}
  std::unique_ptr<Sqlite> sqlite;
  std::optional<Sqlite::Statement> select;  // of a tile, once it was needed
};

// A connection for the time of one call: an idle one, or a new one. It is given back unless
// something failed on it. While all databases together are short of memory none is kept: the idle
// ones of many packs would leave nothing for work.
class MbtilesDatabase::Borrowed {
 public:
  explicit Borrowed(MbtilesDatabase& database) noexcept : database_(database) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() {
    if (!sound_ || Sqlite::is_short_of_memory()) return;
    for (std::atomic<Connection*>& place : database_.idle_) {
      Connection* none = nullptr;
      if (place.compare_exchange_strong(none, held_.get(), std::memory_order_acq_rel)) {
        static_cast<void>(held_.release());
        return;
      }
    }
  }

  Result<Connection*> take() {
    for (std::atomic<Connection*>& place : database_.idle_) {
      held_.reset(place.exchange(nullptr, std::memory_order_acq_rel));
      if (held_) return held_.get();
    }
    auto made = database_.connect();
    if (!made) return base::fail(std::move(made.error()));
    held_ = std::move(*made);
    return held_.get();
  }
  void give_back() noexcept { sound_ = true; }

 private:
  MbtilesDatabase& database_;
  std::unique_ptr<Connection> held_;
  bool sound_ = false;
};

MbtilesDatabase::MbtilesDatabase(std::shared_ptr<Source> source, Limits limits,
                                 SqlitePages pages) noexcept
    : source_(std::move(source)), limits_(limits), pages_(pages) {}

MbtilesDatabase::~MbtilesDatabase() {
  for (std::atomic<Connection*>& place : idle_) delete place.load(std::memory_order_acquire);
}

std::uint64_t MbtilesDatabase::scan_steps() const noexcept {
  constexpr std::uint64_t kStepsAnyway = 5'000'000;
  constexpr std::uint64_t kStepsPerByte = 4;
  return kStepsAnyway + kStepsPerByte * std::min(source_->size(), std::uint64_t{1} << 40U);
}

Result<std::unique_ptr<MbtilesDatabase::Connection>> MbtilesDatabase::connect() const {
  // Metadata may be longer than tiles.
  auto opened = Sqlite::open(source_, std::max(limits_.tile_bytes, limits_.metadata_bytes));
  if (!opened) return base::fail(std::move(opened.error()));
  return std::make_unique<Connection>(std::move(*opened));
}

Result<std::shared_ptr<MbtilesDatabase>> MbtilesDatabase::open(std::shared_ptr<Source> source,
                                                               Limits limits,
                                                               base::StopToken stop) {
  const auto pages = SqlitePages::of(*source);
  if (!pages) return base::fail(pages.error());
  std::shared_ptr<MbtilesDatabase> made(new MbtilesDatabase(std::move(source), limits, *pages));
  Borrowed borrowed(*made);
  auto connection = borrowed.take();
  if (!connection) return base::fail(std::move(connection.error()));
  auto checked = made->check(**connection, stop);
  if (!checked) return base::fail(std::move(checked.error()));
  borrowed.give_back();
  return made;
}

Result<void> MbtilesDatabase::check(Connection& connection, const base::StopToken& stop) {
  Sqlite& sqlite = *connection.sqlite;
  info_.format = Format::Mbtiles;
  info_.bytes = source_->size();
  info_.memory_bytes = kIdleConnections * Sqlite::kIdleBytes;
  for (const auto step : {&MbtilesDatabase::count_tiles, &MbtilesDatabase::read_metadata,
                          &MbtilesDatabase::look_at_a_tile}) {
    sqlite.allow(scan_steps(), stop);
    auto done = (this->*step)(sqlite);
    if (!done) return done;
  }
  if (auto found = check_lookup(sqlite, stop); !found) return found;
  return check_structure(sqlite, stop);
}

// Whether a tile is found within the steps that one may take: at a place that has one, since a view
// may have to look further then, and where none can be.
Result<void> MbtilesDatabase::check_lookup(Sqlite& sqlite, const base::StopToken& stop) const {
  sqlite.allow(scan_steps(), stop);
  auto first = sqlite.prepare("SELECT zoom_level, tile_column, tile_row FROM tiles LIMIT 1");
  if (!first) return base::fail(std::move(first.error()));
  const auto row = first->step();
  if (!row) return base::fail(row.error());
  using Place = std::array<std::int64_t, 3>;
  for (const Place& place : {Place{first->number(0), first->number(1), first->number(2)},
                             Place{info_.max_zoom, -2, -2}}) {
    sqlite.allow(kTileSteps, stop);
    auto select = sqlite.prepare(kSelectTile);
    if (!select) return base::fail(std::move(select.error()));
    for (std::size_t i = 0; i < place.size(); ++i) select->bind(static_cast<int>(i) + 1, place[i]);
    const auto found = select->step();
    if (found) continue;
    if (sqlite.is_spent()) {
      return malformed("finding one tile takes too long: the table of tiles has no index for it");
    }
    return base::fail(found.error());
  }
  return {};
}

// Every page is where it belongs, and is there once.
Result<void> MbtilesDatabase::check_structure(Sqlite& sqlite, const base::StopToken& stop) const {
  if (auto levels = pages_.check_levels(source_, sqlite.roots(), stop); !levels) return levels;
  sqlite.allow(scan_steps(), stop);
  auto check = sqlite.prepare("PRAGMA quick_check(1)");
  if (!check) return base::fail(std::move(check.error()));
  const auto row = check->step();
  if (!row) return base::fail(row.error());
  if (!*row || check->text(0) == "ok") return {};
  std::string said(check->text(0).substr(0, 200));
  std::ranges::replace(said, '\n', ' ');
  return malformed("the database is damaged: " + said);
}

Result<void> MbtilesDatabase::count_tiles(Sqlite& sqlite) {
  for (const std::string_view table : {"tiles", "metadata"}) {
    if (!sqlite.has(table)) {
      return malformed("it is a SQLite database without a table " + std::string(table));
    }
  }
  // Before anything is read: whether all columns are there.
  auto columns = sqlite.prepare(kSelectTile);
  if (!columns) return base::fail(std::move(columns.error()));
  auto counts = sqlite.prepare(kCountTiles);
  if (!counts) return base::fail(std::move(counts.error()));
  const auto row = counts->step();
  if (!row) return base::fail(row.error());
  info_.tiles = static_cast<std::uint64_t>(counts->number(0));
  if (info_.tiles > limits_.entries) {
    return malformed("there are " + std::to_string(info_.tiles) +
                     " tiles, more than the limit of " + std::to_string(limits_.entries));
  }
  if (counts->number(3) != 0) {
    return malformed("a tile's zoom, column or row is no integer");
  }
  if (counts->number(4) != 0) return malformed("a tile's zoom is not between 0 and 30");
  if (counts->number(5) != 0) return malformed("a tile's column or row is not on its zoom");
  if (info_.tiles == 0) return malformed("there are no tiles");
  info_.min_zoom = static_cast<std::uint8_t>(counts->number(1));
  info_.max_zoom = static_cast<std::uint8_t>(counts->number(2));
  info_.contents = info_.tiles;  // a table of its own may say how many are different
  if (!sqlite.has("images") || !sqlite.has("map")) return {};
  auto images = sqlite.prepare("SELECT count(*) FROM images");
  if (!images) return base::fail(std::move(images.error()));
  const auto counted = images->step();
  if (!counted) return base::fail(counted.error());
  info_.contents = std::min(info_.tiles, static_cast<std::uint64_t>(images->number(0)));
  return {};
}

Result<void> MbtilesDatabase::read_metadata(Sqlite& sqlite) {
  auto rows = sqlite.prepare("SELECT name, value FROM metadata");
  if (!rows) return base::fail(std::move(rows.error()));
  MetadataRows all;
  std::uint64_t bytes = 0;
  for (;;) {
    const auto row = rows->step();
    if (!row) return base::fail(row.error());
    if (!*row) break;
    if (rows->is_null(0) || rows->is_null(1)) continue;
    all.emplace_back(rows->text(0), rows->text(1));
    bytes += all.back().first.size() + all.back().second.size();
    if (all.size() > kMostMetadataRows || bytes > limits_.metadata_bytes) {
      return malformed("there is more metadata than the limit of " +
                       std::to_string(limits_.metadata_bytes) + " bytes in " +
                       std::to_string(kMostMetadataRows) + " rows");
    }
  }
  return apply_metadata(all, info_);
}

// What the tiles are compressed with, and what they are if the metadata does not say. Writers may
// leave tiles without bytes, which say nothing.
Result<void> MbtilesDatabase::look_at_a_tile(Sqlite& sqlite) {
  auto rows = sqlite.prepare("SELECT tile_data FROM tiles WHERE length(tile_data) > 0 LIMIT 1");
  if (!rows) return base::fail(std::move(rows.error()));
  const auto row = rows->step();
  if (!row) return base::fail(row.error());
  if (!*row) {
    // As the specification has it for vector tiles.
    info_.compression = info_.type == TileType::Mvt ? Compression::Gzip : Compression::None;
    return {};
  }
  info_.compression = sniff_compression(rows->bytes(0));
  if (info_.type == TileType::Unknown) info_.type = sniff_type(rows->bytes(0));
  return {};
}

Result<std::optional<Tile>> MbtilesDatabase::find(Zxy at, const base::StopToken& stop) {
  if (at.z > kDeepestZoom || (at.x >> at.z) != 0 || (at.y >> at.z) != 0) return std::nullopt;
  Borrowed borrowed(*this);
  auto taken = borrowed.take();
  if (!taken) return base::fail(std::move(taken.error()));
  Connection& connection = **taken;
  connection.sqlite->allow(kTileSteps, stop);
  if (!connection.select) {
    auto prepared = connection.sqlite->prepare(kSelectTile);
    if (!prepared) return base::fail(std::move(prepared.error()));
    connection.select.emplace(std::move(*prepared));
  }
  Sqlite::Statement& select = *connection.select;
  select.reset();
  select.bind(1, at.z);
  select.bind(2, at.x);
  select.bind(3, (std::int64_t{1} << at.z) - 1 - at.y);  // rows count from the south
  const auto row = select.step();
  if (!row) return base::fail(row.error());
  std::optional<Tile> tile;
  if (*row && select.bytes(0).size() > limits_.tile_bytes) {
    return malformed("the tile has " + std::to_string(select.bytes(0).size()) +
                     " bytes, more than the limit of " + std::to_string(limits_.tile_bytes));
  }
  if (*row && !select.bytes(0).empty()) {
    tile = Tile{copy_of(select.bytes(0)), sniff_compression(select.bytes(0))};
  }
  select.reset();
  borrowed.give_back();
  return tile;
}

Result<std::vector<std::uint64_t>> MbtilesDatabase::tile_ids(const base::StopToken& stop) {
  Borrowed borrowed(*this);
  auto taken = borrowed.take();
  if (!taken) return base::fail(std::move(taken.error()));
  std::vector<std::uint64_t> ids;
  ids.reserve(static_cast<std::size_t>(info_.tiles));
  {
    Sqlite& sqlite = *(*taken)->sqlite;
    sqlite.allow(scan_steps(), stop);
    auto rows = sqlite.prepare("SELECT zoom_level, tile_column, tile_row FROM tiles");
    if (!rows) return base::fail(std::move(rows.error()));
    for (;;) {
      const auto row = rows->step();
      if (!row) return base::fail(row.error());
      if (!*row) break;
      const std::int64_t zoom = rows->number(0);
      const std::int64_t column = rows->number(1);
      const std::int64_t from_south = rows->number(2);
      // An index may say other numbers than its table, and those were counted.
      if (zoom < 0 || zoom > kDeepestZoom) return malformed("the tiles are not those counted");
      const std::int64_t side = std::int64_t{1} << zoom;
      if (column < 0 || column >= side || from_south < 0 || from_south >= side) continue;
      if (ids.size() == info_.tiles) return malformed("the tiles are not those counted");
      ids.push_back(*tile_id({static_cast<std::uint8_t>(zoom), static_cast<std::uint32_t>(column),
                              static_cast<std::uint32_t>(side - 1 - from_south)}));
    }
  }
  borrowed.give_back();
  std::ranges::sort(ids);
  const auto twice = std::ranges::unique(ids);
  ids.erase(twice.begin(), twice.end());
  return ids;
}

}  // namespace ron::pack
