// One mapping from errno to what callers of a Disk see, shared by both worlds.
#pragma once

#include <string_view>

#include "base/error.h"

namespace ron::platform {

// StorageFull, NotFound, StorageBusy (try again later), PreconditionFailed (the name is taken or
// the directory is not empty), else Internal. `what` and `path` make the message; the
// detail "errno" names the error.
base::Error disk_error(std::string_view what, std::string_view path, int error);
// The medium did not give what it was asked for. Other bytes of it may be well, and these may be
// when they are asked for again.
bool is_medium_error(const base::Error& error) noexcept;

}  // namespace ron::platform
