// MbtilesDatabase: the tables of an MBTiles file, all of them checked, and tiles by their place.
//
// For threads that may block; any number of them at once. Connections are made as they are needed
// and kIdleConnections of them kept.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/stop_token.h"
#include "pack/pack.h"
#include "pack/source.h"
#include "pack/sqlite.h"
#include "pack/sqlite_pages.h"
#include "platform/blocking.h"

namespace ron::pack {

inline constexpr std::string_view kSqliteMagic{"SQLite format 3\0", 16};

class MbtilesDatabase {
 public:
  static constexpr std::size_t kIdleConnections = platform::kBlockingThreads;
  // Of zooms whose columns and rows are numbers of 30 bits.
  static constexpr unsigned kDeepestZoom = 30;

  // Malformed with the reason, Canceled, and whatever the source says.
  static base::Result<std::shared_ptr<MbtilesDatabase>> open(std::shared_ptr<Source> source,
                                                             Limits limits, base::StopToken stop);
  MbtilesDatabase(const MbtilesDatabase&) = delete;
  MbtilesDatabase& operator=(const MbtilesDatabase&) = delete;
  ~MbtilesDatabase();

  // Everything but the hash of the file.
  [[nodiscard]] const Info& info() const noexcept { return info_; }
  base::Result<std::optional<Tile>> find(Zxy at, const base::StopToken& stop);
  // Of all tiles, ascending, each once: 8 bytes for each.
  base::Result<std::vector<std::uint64_t>> tile_ids(const base::StopToken& stop);

 private:
  struct Connection;
  class Borrowed;

  MbtilesDatabase(std::shared_ptr<Source> source, Limits limits, SqlitePages pages) noexcept;

  base::Result<std::unique_ptr<Connection>> connect() const;
  base::Result<void> check(Connection& connection, const base::StopToken& stop);
  base::Result<void> check_lookup(Sqlite& sqlite, const base::StopToken& stop) const;
  base::Result<void> check_structure(Sqlite& sqlite, const base::StopToken& stop) const;
  base::Result<void> count_tiles(Sqlite& sqlite);
  base::Result<void> read_metadata(Sqlite& sqlite);
  base::Result<void> look_at_a_tile(Sqlite& sqlite);
  // What an honest table of this size needs, several times over.
  [[nodiscard]] std::uint64_t scan_steps() const noexcept;

  std::shared_ptr<Source> source_;
  Limits limits_;
  SqlitePages pages_;
  Info info_;
  std::array<std::atomic<Connection*>, kIdleConnections> idle_{};
};

}  // namespace ron::pack
