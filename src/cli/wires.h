// What commands are made of beside their own task: the locks of what they use.
#pragma once

#include "runtime/topology.h"

namespace ron::cli {

inline constexpr runtime::LockDecl kVolumeLock{"volume_state", 1,
                                               "segments of the volume being checked"};

}  // namespace ron::cli
