// The tasks and channels every service has. A service's wires.h puts them into its tables, the
// listener last: what is started last is stopped first.
#pragma once

#include "runtime/topology.h"

namespace ron::kit {

inline constexpr runtime::TaskDecl kAdminTask{"admin", "1", runtime::Importance::Important,
                                              "serves metrics, topology and configuration"};
inline constexpr runtime::TaskDecl kReloaderTask{"reloader", "1", runtime::Importance::Important,
                                                 "hands a new configuration to every core"};
inline constexpr runtime::TaskDecl kAuditorTask{"auditor", "1", runtime::Importance::Important,
                                                "writes what happened to the log"};
inline constexpr runtime::TaskDecl kListenerTask{"listener", "per core, and per socket",
                                                 runtime::Importance::Critical,
                                                 "accepts and serves connections"};

inline constexpr runtime::ChannelDecl kShutdownChannel{
    "shutdown",          runtime::ChannelKind::Watch, 1, runtime::Overflow::Latest, "supervisor",
    runtime::kEveryTask, "the last write wins",       ""};
inline constexpr runtime::ChannelDecl kConfigChannel{
    "config",   runtime::ChannelKind::Watch, 1, runtime::Overflow::Latest, "supervisor",
    "reloader", "the last write wins",       ""};

}  // namespace ron::kit
