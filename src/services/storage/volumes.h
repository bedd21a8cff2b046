// Where the volumes of a configuration come from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "platform/host.h"
#include "platform/task.h"
#include "services/storage/config.h"
#include "services/storage/ram_volume.h"
#include "volume/disk_volume.h"

namespace ron::storage {

struct Volumes {
  std::vector<std::unique_ptr<volume::Volume>> all;
  RamVolume* memory = nullptr;             // the only one of `all` in amnesia mode, else null
  std::vector<volume::DiskVolume*> disks;  // all of `all` otherwise
};

// What volumes on disk look at and tell. `coming_writes` outlives them.
struct VolumeHooks {
  const volume::ComingWrites* coming_writes = nullptr;
  volume::DiskVolume::OnCorrupt on_corrupt;
  volume::DiskVolume::OnTrouble on_trouble;
};

// In amnesia mode one volume in memory, else one for each directory. An error names the directory.
// Not cancel-safe.
platform::Task<base::Result<Volumes>> make_volumes(platform::Host host, runtime::Topology* topology,
                                                   std::shared_ptr<const StorageConfig> config,
                                                   std::vector<std::string> directories,
                                                   VolumeHooks hooks);

// What of the configuration a volume on disk takes over while it runs.
volume::Tuning tuning_of(const StorageConfig& config);

}  // namespace ron::storage
