// The only file a Sqlite connection sees: a Source, as SQLite's file system (VFS).
//
// Made for one connection and registered under a name of its own while that is opened. Pages are
// read in groups of 64 KiB, the unit in which sources verify, and the latest groups are kept.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <sqlite3.h>

#include "base/buffer.h"
#include "base/result.h"
#include "pack/source.h"
#include "pack/sqlite.h"

namespace ron::pack {

struct SqliteFiles {
  explicit SqliteFiles(std::shared_ptr<Source> from);
  SqliteFiles(const SqliteFiles&) = delete;
  SqliteFiles& operator=(const SqliteFiles&) = delete;

  // A code of SQLite; `failure` says more.
  int read(std::uint64_t offset, base::MutableBytes into);

  struct Slot {
    std::optional<std::uint64_t> group;
    base::Buffer bytes;
  };
  std::shared_ptr<Source> source;
  std::string name;
  sqlite3_vfs vfs{};
  std::array<Slot, Sqlite::kCachedGroups> slots;
  std::optional<base::Error> failure;  // the source's, the first one

 private:
  int load(Slot& slot, std::uint64_t group);
};

}  // namespace ron::pack
