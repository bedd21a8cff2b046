// What GET /admin/stats says, as much of it as fits a screen. stats_text.h has all of it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ron::cli {

// A line per subject: how much is stored, each volume, the check of everything stored, memory,
// uploads, queues and tenants. Lists are cut, which the last line says. Malformed for anything but
// statistics.
base::Result<std::string> stats_screen(std::string_view stats);

}  // namespace ron::cli
