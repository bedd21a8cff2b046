// RegistryFollower: nodes that the registry describes are known, as soon as it does.
#pragma once

#include "observe/log.h"
#include "platform/task.h"
#include "runtime/shutdown.h"
#include "services/index/searches.h"
#include "services/registry/api/api.h"

namespace ron::index {

// Takes the nodes' keys over whenever HEAD changes, until a stop is requested. Both outlive it; on
// cores[0]. Cancel-safe.
platform::Task<void> follow_registry(registry_api::RegistryApi* registry, Searches* searches,
                                     observe::Log log, runtime::Shutdown shutdown);

}  // namespace ron::index
