// `ron verify --data DIR`: checks a data directory without a server and without changing it.
#pragma once

#include <string>
#include <vector>

#include "cli/client_options.h"

namespace ron::cli {

// The volumes of these directories: the directory itself, or what it has under `storage`. The exit
// code is 1 if something is damaged, cannot be read or is in use. Blocks.
int verify_offline(const ClientOptions& options, const std::vector<std::string>& directories);

}  // namespace ron::cli
