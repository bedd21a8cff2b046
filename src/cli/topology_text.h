// What GET /debug/topology says, for people.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ron::cli {

// The tasks, channels with their live depths, and locks of every service in `json`. Malformed when
// that is not what a server of ours answers. Whatever it holds, the text is printable.
base::Result<std::string> topology_text(std::string_view json);

}  // namespace ron::cli
