#include "services/storage/volumes.h"

#include <utility>

#include "services/storage/wires.h"

namespace ron::storage {
namespace {

Volumes in_memory(const platform::Host& host, const StorageConfig& config) {
  auto memory = std::make_unique<RamVolume>(config.cache_bytes.bytes, host.send_arena, host.clock);
  Volumes volumes;
  volumes.memory = memory.get();
  volumes.all.push_back(std::move(memory));
  return volumes;
}

volume::Options options_of(const StorageConfig& config, std::string directory) {
  volume::Options options;
  options.directory = std::move(directory);
  options.segment_bytes = config.segment_bytes.bytes;
  options.index_cache_bytes = config.index_cache_bytes.bytes;
  options.fingerprint_bytes = config.fingerprint_bytes.bytes;
  options.tuning = tuning_of(config);
  return options;
}

}  // namespace

volume::Tuning tuning_of(const StorageConfig& config) {
  return {.commit_window = config.commit_window,
          .min_free_bytes = config.min_free_bytes.bytes,
          .scrub_rate = config.scrub.rate,
          .scrub_every = config.scrub.every};
}

platform::Task<base::Result<Volumes>> make_volumes(platform::Host host, runtime::Topology* topology,
                                                   std::shared_ptr<const StorageConfig> config,
                                                   std::vector<std::string> directories,
                                                   VolumeHooks hooks) {
  if (config->amnesia) co_return in_memory(host, *config);
  Volumes volumes;
  for (const std::string& directory : directories) {
    volume::Options options = options_of(*config, directory);
    options.coming_writes = hooks.coming_writes;
    auto disk = std::make_unique<volume::DiskVolume>(
        host, *topology, kCommit, config->commit_capacity, kVolumeLock, std::move(options),
        hooks.on_corrupt, hooks.on_trouble);
    const base::Result<void> opened = co_await disk->open();
    if (!opened) {
      base::Error error = opened.error();
      error.message = directory + ": " + error.message;
      co_return base::fail(std::move(error));
    }
    volumes.disks.push_back(disk.get());
    volumes.all.push_back(std::move(disk));
  }
  co_return volumes;
}

}  // namespace ron::storage
