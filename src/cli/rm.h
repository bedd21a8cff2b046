// `ron rm`: removes objects.
#pragma once

#include <vector>

#include "base/object_id.h"
#include "cli/client_options.h"

namespace ron::cli {

// A line per address: `removed` or `missing`. A missing one makes the exit code 1 unless `force`.
// Blocks.
int remove_objects(const ClientOptions& options, const std::vector<base::ObjectId>& ids,
                   bool force);

}  // namespace ron::cli
