// `ron verify`: reads objects from a running server and checks every byte against their addresses.
#pragma once

#include <vector>

#include "base/object_id.h"
#include "cli/client_options.h"

namespace ron::cli {

// These objects. The exit code is 1 if one is corrupt or missing. Blocks.
int verify_objects(const ClientOptions& options, const std::vector<base::ObjectId>& ids);
// All objects, as GET /admin/objects lists them. Blocks.
int verify_server(const ClientOptions& options);

}  // namespace ron::cli
