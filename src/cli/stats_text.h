// What GET /admin/stats says, for people.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace ron::cli {

// A check of everything stored is under way.
[[nodiscard]] bool scrub_runs(std::string_view stats);

// One `name: value` per line, groups indented, sizes readable. With the same statistics `between`
// later, also when a running scrub will be done. Malformed for anything but statistics.
base::Result<std::string> stats_text(std::string_view stats, std::string_view later,
                                     base::Duration between);

}  // namespace ron::cli
