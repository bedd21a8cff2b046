// The pages of a SQLite file, looked at before SQLite does what it does without a bound.
//
// `PRAGMA quick_check` follows the pages of a tree by calling itself, once for each level: a chain
// of pages that is long enough ends the process, whatever the steps allowed. No tree of an honest
// database is deeper than a cursor of SQLite's can go, so deeper ones are refused here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "base/stop_token.h"
#include "pack/source.h"

namespace ron::pack {

struct SqlitePages {
  // Levels of a tree, its root included: as in SQLite (BTCURSOR_MAX_DEPTH).
  static constexpr unsigned kMostLevels = 20;

  std::uint32_t page_bytes = 0;
  std::uint32_t pages = 0;  // whole ones in the file

  // What the database's header says: Malformed when the file has fewer pages than that, and
  // whatever the source says. Blocks, as all of these.
  static base::Result<SqlitePages> of(Source& source);
  // Goes through the trees of these roots, each page once. Malformed when one has more levels than
  // kMostLevels or when two lead to the same page; Canceled; whatever the source says. What else is
  // wrong with a page is SQLite's to say. Takes a bit for each page of the file.
  [[nodiscard]] base::Result<void> check_levels(std::shared_ptr<Source> source,
                                                std::span<const std::uint32_t> roots,
                                                const base::StopToken& stop) const;
};

}  // namespace ron::pack
