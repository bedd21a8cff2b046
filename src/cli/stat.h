// `ron stat`: what a server knows of some objects, or of itself.
#pragma once

#include <cstdint>
#include <vector>

#include "base/object_id.h"
#include "cli/client_options.h"

namespace ron::cli {

struct StatFormat {
  bool json = false;
  bool details = false;  // what only operators may know: who holds the object
};

// A line or a JSON object per address; the exit code is 1 if one is missing. Blocks.
int stat_objects(const ClientOptions& options, const std::vector<base::ObjectId>& ids,
                 StatFormat format);
// What GET /admin/stats says: as much as fits a screen, all of it, or as it is. Blocks.
enum class StatForm : std::uint8_t { Screen, All, Json };
int stat_server(const ClientOptions& options, StatForm form);

}  // namespace ron::cli
