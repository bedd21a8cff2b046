// The key of this node: with it svc-storage signs what it says it has, and by it others know the
// node (`index.discovery.nodes`). One for each data directory, whatever services run on it.
#pragma once

#include <memory>
#include <string>

#include "auth/ed25519.h"
#include "base/result.h"
#include "platform/disk.h"
#include "platform/random.h"
#include "platform/task.h"

namespace ron::kit {

// Shared by the tasks that sign, on any thread.
using NodeKey = std::shared_ptr<const auth::SigningKey>;

// The key in `directory`, made there if there is none: the services of a process, which start one
// after the other, all get the same. Without a directory, which is amnesia, a key that lives as
// long as somebody holds it. Not cancel-safe: do it again.
platform::Task<base::Result<NodeKey>> load_node_key(platform::Disk* disk, platform::Random* random,
                                                    std::string directory);

}  // namespace ron::kit
