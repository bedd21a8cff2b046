#include "services/edge/budget.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/limits.h"
#include "http/client.h"
#include "services/edge/asset_store.h"
#include "services/edge/events.h"
#include "services/edge/jobs.h"
#include "services/edge/url_table.h"
#include "services/edge/wires.h"
#include "volume/options.h"

namespace ron::edge {
namespace {

constexpr std::uint64_t kListeners = 2;
constexpr std::uint64_t kEventTextBytes = 1280;  // a URL may be long
// Of the map of entries and of the volume's index: what is not in their files yet.
constexpr std::uint64_t kMapTables = 4;
constexpr std::uint64_t kMapTableBytes = 64 * base::kMiB;
// The body that a fill holds, and its copy on the way to the disk; what a load reads, and what it
// decodes of it.
constexpr std::uint64_t kBodiesOfJob = 2;

constexpr std::uint64_t kCacheFiles = 256;
constexpr std::uint64_t kFilesOfPack = 2;
constexpr std::uint64_t kPacksBeyond = 64;  // those of packs_dir and those that are added
constexpr std::uint64_t kDescriptorsPerCore = 8;
constexpr std::uint64_t kDescriptorsOfProcess = 32;

}  // namespace

std::vector<kit::Addend> memory_budget(const EdgeConfig& config, std::size_t cores) {
  std::vector<kit::Addend> sum = {
      {"tiles, files and assets (edge.cache.ram_bytes)", 1, config.cache.ram_bytes.bytes},
      {"what is known of URLs (edge.cache.entries)", config.cache.entries, UrlTable::kEntryBytes},
      {"bodies being filled (edge.workers)", config.workers * kBodiesOfJob,
       base::limits::kDecodedBytes},
      {"bodies being loaded (edge.loaders)", config.loaders * kBodiesOfJob,
       base::limits::kDecodedBytes},
      {"origins being asked (edge.workers)", config.workers, http::kSecuredExchangeBytes},
      {"fills and loads that wait (edge.channels.work)", config.work_capacity,
       sizeof(std::optional<Job>) + base::limits::kTargetBytes},
      {"changes of the cache on disk (evictions)", kEvictions.capacity, sizeof(Change)},
      {"events (edge.channels.events)", config.events_capacity,
       sizeof(EdgeEvent) + kEventTextBytes},
  };
  if (!config.amnesia) {
    sum.push_back({"a batch of the cache on disk", 1, 2 * volume::kBatchBytes});
    sum.push_back({"fingerprints and part tables of the cache on disk", 1,
                   AssetStore::kFingerprintBytes + AssetStore::kPartTableBytes});
    sum.push_back({"tables of its maps before they are written", kMapTables, kMapTableBytes});
  }
  std::ranges::move(kit::listener_budget("edge", config, cores), std::back_inserter(sum));
  return sum;
}

std::vector<kit::Addend> disk_budget(const EdgeConfig& config) {
  if (config.amnesia) return {};
  return {{"what is kept, and as much again that is let go (edge.cache.bytes)",
           AssetStore::kStoredPerKept, config.cache.bytes.bytes},
          {"segments that are written or about to be freed", AssetStore::kSegmentsBeyond,
           AssetStore::segment_bytes(config)},
          {"bodies on their way there (edge.workers, edge.fill.max_object_bytes)", config.workers,
           config.fill.max_object_bytes.bytes}};
}

std::uint64_t descriptors_needed(const EdgeConfig& config, std::size_t cores) noexcept {
  return kListeners * config.server.max_conns + config.workers +
         (config.packs.size() + kPacksBeyond) * kFilesOfPack + (config.amnesia ? 0 : kCacheFiles) +
         cores * kDescriptorsPerCore + kDescriptorsOfProcess;
}

}  // namespace ron::edge
