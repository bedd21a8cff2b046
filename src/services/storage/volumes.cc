#include "services/storage/volumes.h"

#include <utility>

namespace ron::storage {

platform::Task<base::Result<Volumes>> make_volumes(platform::Host host,
                                                   std::shared_ptr<const StorageConfig> config,
                                                   std::vector<std::string> directories) {
  if (!config->amnesia) {
    const std::string where = directories.empty() ? "storage.data_dirs" : directories.front();
    co_return base::fail(base::Code::Amnesia,
                         where + ": objects on disk are not in this build; start with --amnesia");
  }
  auto memory = std::make_unique<RamVolume>(config->cache_bytes.bytes, host.send_arena, host.clock);
  Volumes volumes;
  volumes.memory = memory.get();
  volumes.all.push_back(std::move(memory));
  co_return volumes;
}

}  // namespace ron::storage
