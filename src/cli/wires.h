// What commands are made of beside their own task: the locks of what they use.
#pragma once

#include "runtime/topology.h"

namespace ron::cli {

inline constexpr runtime::LockDecl kVolumeLock{"volume_state", 1,
                                               "segments of the volume being checked"};
inline constexpr runtime::LockDecl kRegistryLogLock{"registry_log", 1,
                                                    "segments of the log being begun"};

}  // namespace ron::cli
