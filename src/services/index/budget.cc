#include "services/index/budget.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "chain/frame_log.h"
#include "http/client.h"
#include "services/index/address_rates.h"
#include "services/index/core.h"
#include "services/index/events.h"
#include "services/index/jobs.h"
#include "services/index/manifest_reader.h"
#include "services/index/replays.h"
#include "services/index/store.h"
#include "services/index/trust.h"

namespace ron::index {
namespace {

constexpr std::uint64_t kListeners = 2;
// An answer with a few providers, its body and head rendered, its place.
constexpr std::uint64_t kAnswerBytes = 2 * base::kKiB;
// A change of a name with its texts, or a provider record.
constexpr std::uint64_t kChangeBytes = 4 * base::kKiB;
constexpr std::uint64_t kEventTextBytes = 1280;  // a name may have a kilobyte
// Frames of a batch: the changes, and their bytes as they are written.
constexpr std::uint64_t kBatchCopies = 2;
// What the map has not written to its files yet.
constexpr std::uint64_t kMapTables = 2;
constexpr std::uint64_t kMapTableBytes = 64 * base::kMiB;
constexpr std::uint64_t kSeqBytes = 160;
constexpr std::uint64_t kReplayBytes = 2 * base::kKiB;

constexpr std::uint64_t kMapFiles = 128;
constexpr std::uint64_t kDescriptorsPerCore = 8;
constexpr std::uint64_t kDescriptorsOfProcess = 32;

std::uint64_t targets_of(const IndexConfig& config) noexcept {
  return config.dht.proxies.size() + config.peers.size() + config.discovery.fixed.size();
}

}  // namespace

std::vector<kit::Addend> memory_budget(const IndexConfig& config, std::size_t cores) {
  const std::uint64_t asks =
      targets_of(config) == 0 ? 0 : config.workers * (config.dht.alpha + config.dht.beta);
  std::vector<kit::Addend> sum = {
      {"answers (index.cache.entries)", config.cache.entries, kAnswerBytes},
      {"answers on their way to the cache (index.channels.cache_updates)",
       config.cache_updates_capacity, kAnswerBytes},
      {"blocks of the map (index.storage.map_cache_bytes)", 1, config.map_cache_bytes.bytes},
      {"tables of the map before they are written", kMapTables, kMapTableBytes},
      {"changes that wait (index.channels.writes)", config.writes_capacity, kChangeBytes},
      {"manifests being looked at", Core::kManifestsAtOnce, kMostManifestBytes},
      {"a batch being made durable", kBatchCopies, Store::kBatchBytes},
      {"resolves that wait (index.channels.work)", config.work_capacity,
       sizeof(std::optional<ResolverJob>) + catalog::kMaxNameBytes},
      {"others being asked (index.workers)", asks, http::kExchangeBytes},
      {"sequences of records that were seen", HighestSeqs::kMost, kSeqBytes},
      {"rates of addresses", AddressRates::kMost, AddressRates::kAddressBytes},
      {"requests of operators that can be sent again", Replays::kMost, kReplayBytes},
      {"events (index.channels.events)", config.events_capacity,
       sizeof(IndexEvent) + kEventTextBytes},
  };
  std::ranges::move(kit::listener_budget("index", config, cores), std::back_inserter(sum));
  return sum;
}

std::uint64_t descriptors_needed(const IndexConfig& config, std::size_t cores) noexcept {
  return kListeners * config.server.max_conns + targets_of(config) * cores * config.workers +
         kMapFiles + cores * kDescriptorsPerCore + kDescriptorsOfProcess;
}

}  // namespace ron::index
