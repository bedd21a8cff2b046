// MBTiles to PMTiles: the same tiles, ordered and each different one stored once.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "pack/pack.h"
#include "platform/disk.h"
#include "platform/task.h"

namespace ron::pack {

struct Converted {
  std::uint64_t tiles = 0;
  std::uint64_t contents = 0;  // different ones
  std::uint64_t bytes = 0;     // of the file that was written
};

// Writes the PMTiles file of the MBTiles file at `from` into the empty file `to`, which outlives
// the call, and syncs it. Tiles are read twice: once to know what there is, once to write it.
// Vector tiles that are not compressed become so, since the format has one compression for all.
// `read` is called while the file is hashed, `written` with tiles done and in all, each counted
// twice. Malformed with the reason, and the errors of the disk. Cancel-safe: yes, but `to` has any
// part of it then.
platform::Task<base::Result<Converted>> convert_mbtiles(Place place, std::string from,
                                                        platform::File* to, Limits limits,
                                                        Progress read = {}, Progress written = {});

}  // namespace ron::pack
