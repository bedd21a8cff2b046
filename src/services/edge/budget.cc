#include "services/edge/budget.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/limits.h"
#include "http/client.h"
#include "services/edge/asset_store.h"
#include "services/edge/events.h"
#include "services/edge/http_origin.h"
#include "services/edge/jobs.h"
#include "services/edge/pack_source.h"
#include "services/edge/packs.h"
#include "services/edge/site_keeper.h"
#include "services/edge/url_table.h"
#include "services/edge/verified_object.h"
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
// The keeper's, and the one that an operator adds. Each has its text, and the tree made of it.
constexpr std::uint64_t kManifestReaders = SiteKeeper::kLanes + 1;
constexpr std::uint64_t kFormsOfManifest = 2;
// Those that are mounted, and those that take their places.
constexpr std::uint64_t kIndexesOfPack = 2;
static_assert(PackSource::kPieceBytes == ObjectVerifier::kPieceBytes);

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
      {"connections to origins that are kept (edge.workers)", config.workers * cores,
       platform::kTlsStreamBytes},
      {"fills and loads that wait (edge.channels.work)", config.work_capacity,
       sizeof(std::optional<Job>) + base::limits::kTargetBytes},
      // A reader keeps what it is sent, also when the memory tier has let go of it by then. It
      // holds a connection and, if it is slow, no place among the requests in flight.
      {"what left the memory tier while it is sent (edge.max_conns, edge.cache.ram_bytes)",
       config.server.max_conns,
       std::min<std::uint64_t>(base::limits::kDecodedBytes, config.cache.ram_bytes.bytes), true},
      {"pieces on their way to clients (edge.max_conns)", config.server.max_conns,
       PackSource::kPieceBytes, true},
      {"indexes of packs", kIndexesOfPack, Packs::kMostIndexBytes},
      {"trees of sites", 1, Sites::kMostTreeBytes},
      {"manifests being read", kManifestReaders * kFormsOfManifest, base::limits::kDecodedBytes},
      {"large manifests being read", SiteKeeper::kLargeManifests * kFormsOfManifest,
       SiteTree::kMostManifestBytes},
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
  if (!config.origin.empty()) {
    sum.push_back(
        {"what verifies large files of sites (edge.origin)", 1,
         HttpOrigin::kKnownBytes + HttpOrigin::kVerifiedAtOnce * ObjectVerifier::kPieceBytes});
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
  return kListeners * config.server.max_conns + config.workers + config.workers * cores +
         (config.packs.size() + kPacksBeyond) * kFilesOfPack + (config.amnesia ? 0 : kCacheFiles) +
         cores * kDescriptorsPerCore + kDescriptorsOfProcess;
}

}  // namespace ron::edge
