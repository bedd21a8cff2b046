// `ron pack info`, `verify`, `tile` and `convert`: packs as files, without a server. Each returns
// an exit code and blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ron::cli {

int pack_info(const std::string& file, bool json);
// 0 only if all of them are sound.
int pack_verify(const std::vector<std::string>& files, bool quiet);

struct PackTiles {
  std::string file;
  std::vector<std::string> places;  // Z/X/Y; `-` stands for the lines of standard input
  std::string out;                  // of a single tile; empty or `-`: standard output
  bool hash = false;                // a line for each instead of bytes
  bool decoded = false;             // without the compression it is stored with
};
int pack_tiles(const PackTiles& what);
// Malformed unless this is Z/X/Y of some zoom and within its bounds, as PackTiles has them.
base::Result<void> check_tile_place(std::string_view text);

struct PackConversion {
  std::string from;
  std::string to;
  bool force = false;  // also in place of a file that is there
  bool quiet = false;
};
int pack_convert(const PackConversion& what);

}  // namespace ron::cli
