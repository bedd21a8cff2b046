// Core: what svc-index can do, whoever asks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/name.h"
#include "http/request.h"
#include "observe/log.h"
#include "platform/host.h"
#include "platform/task.h"
#include "runtime/broadcast.h"
#include "runtime/mpsc.h"
#include "runtime/permit.h"
#include "runtime/shutdown.h"
#include "runtime/watch.h"
#include "services/index/address_rates.h"
#include "services/index/cache.h"
#include "services/index/config.h"
#include "services/index/epochs.h"
#include "services/index/events.h"
#include "services/index/janitor.h"
#include "services/index/jobs.h"
#include "services/index/names.h"
#include "services/index/rank.h"
#include "services/index/replays.h"
#include "services/index/republisher.h"
#include "services/index/resolver.h"
#include "services/index/searches.h"
#include "services/index/store.h"
#include "services/index/writer.h"
#include "services/kit/capability_gate.h"
#include "services/kit/single_flight.h"
#include "services/kit/work_queue.h"
#include "services/registry/api/api.h"
#include "services/storage/api/api.h"

namespace ron::index {

// All of it outlives the core.
struct CoreParts {
  platform::Host host;
  runtime::Topology* topology;
  platform::Disk* disk;  // the host's, or memory
  StoreOptions store;
  std::shared_ptr<const platform::TlsClient> tls;  // whom it trusts to be who they say
  const kit::CapabilityGate* gate;
  observe::Log log;
};

// Routes whose requests in flight are bounded each by itself.
enum class RouteClass : std::uint8_t { Resolve, Providers, Names };

// Made and opened on cores[0], where its tasks run but for the resolvers; asked on any core.
class Core {
 public:
  Core(CoreParts parts, SettingsPtr config);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Before open(): where manifests are read, if there is storage in this process; outlives it.
  void use(storage_api::StorageApi& storage) noexcept { storage_ = &storage; }
  [[nodiscard]] Searches& searches() noexcept { return searches_; }

  // And who knows the nodes, if that is the registry of this process.
  void use(registry_api::RegistryApi& registry) noexcept { registry_ = &registry; }

  // Reads what is on disk. Not cancel-safe.
  platform::Task<base::Result<void>> open();
  void apply(SettingsPtr config);

  // Admission besides the server's own: RateLimited for an address, Busy for a route. The permit
  // holds while the request is at work.
  base::Result<runtime::Limit::Permit> admit(RouteClass route, const http::Request& request);

  // Whether the client may announce what others have to believe: index:write, or a known node, and
  // not for longer than is usual.
  base::Result<void> may_announce(http::Request& request, const catalog::ProviderRecord& record);

  // nullptr: it has to be resolved. Never waits.
  [[nodiscard]] AnswerPtr cached(std::string_view key);
  // Through a resolver; whoever asks for the same at once gets the same. Busy when too many wait,
  // Timeout, BreakerOpen. Cancel-safe.
  platform::Task<base::Result<AnswerPtr>> resolve(catalog::Key key, bool is_fresh,
                                                  runtime::Deadline deadline);

  // The best first, for whoever is in that region; empty: anywhere.
  void rank(std::vector<Provider>& providers, std::string_view region) const;

  // Changes. Each is durable when it is answered. Busy, Timeout, StorageBusy and what the rules
  // say (decide.h). Cancel-safe: what was handed over may still happen.
  platform::Task<base::Result<NameSet>> set_name(NameVersion wanted,
                                                 std::optional<std::uint64_t> expected,
                                                 Origin origin, runtime::Deadline deadline);
  // Verifies the signatures first: InvalidSig. Who may announce is up to the caller.
  platform::Task<base::Result<Announced>> announce(std::vector<catalog::ProviderRecord> records,
                                                   Origin origin, runtime::Deadline deadline);
  platform::Task<base::Result<bool>> pin(std::string key, bool is_pinned, Origin origin,
                                         runtime::Deadline deadline);

  // Reads the manifest of a key again from storage, and forgets what is cached of it. NotFound.
  struct Reindexed {
    base::ObjectId address;
    std::optional<ManifestFacts> manifest;  // none: it is none, or storage does not have it
    bool has_changed = false;
  };
  platform::Task<base::Result<Reindexed>> reindex(catalog::Key key, Origin origin,
                                                  runtime::Deadline deadline);
  [[nodiscard]] Replays& replays() noexcept { return replays_; }

  // Reads of what is kept: names.h.
  [[nodiscard]] platform::KeyValue& map() noexcept { return store_.map(); }
  [[nodiscard]] std::uint64_t map_bytes() const noexcept { return store_.memory_bytes(); }

  [[nodiscard]] runtime::Broadcast<IndexEvent>& events() noexcept { return events_; }
  [[nodiscard]] const Cache& cache() const noexcept { return cache_; }
  [[nodiscard]] SettingsPtr settings() const { return settings_.get(); }
  [[nodiscard]] std::int64_t now_ms() const noexcept { return parts_.host.clock.unix_ms(); }

  // Bodies of the tasks.
  platform::Task<void> run_writer(runtime::Shutdown shutdown);
  platform::Task<void> run_resolver(runtime::Shutdown shutdown);
  platform::Task<void> run_cache_janitor(runtime::Shutdown shutdown);
  platform::Task<void> run_warmup(runtime::Shutdown shutdown);
  platform::Task<void> run_breaker_janitor(runtime::Shutdown shutdown);
  platform::Task<void> run_registry_follower(runtime::Shutdown shutdown);
  platform::Task<void> run_republisher(runtime::Shutdown shutdown);

  // What is missing for writes. Any core.
  [[nodiscard]] std::vector<std::string> missing_for_writes() const;

  // Manifests in memory at once, to be looked at: each is up to kMostManifestBytes.
  static constexpr std::size_t kManifestsAtOnce = 2;

 private:
  struct FlightKey {
    std::string key;
    bool is_fresh = false;
    friend bool operator==(const FlightKey&, const FlightKey&) = default;
  };
  struct FlightHash {
    std::size_t operator()(const FlightKey& key) const noexcept {
      return std::hash<std::string>{}(key.key) ^ static_cast<std::size_t>(key.is_fresh);
    }
  };

  platform::Task<void> run_job(ResolveJob job);
  platform::Task<base::Result<Discovered>> discover(base::ObjectId address,
                                                    runtime::Deadline deadline);
  void learn(const std::vector<Provider>& providers);
  platform::Task<base::Result<RecordPage>> own_records(std::string after, std::size_t limit);
  platform::Task<base::Result<std::optional<ManifestFacts>>> manifest_at(
      base::ObjectId address, runtime::Deadline deadline);
  platform::Task<base::Result<std::optional<ManifestFacts>>> manifest_of(
      const NameVersion* wanted, runtime::Deadline deadline);

  CoreParts parts_;
  runtime::Watch<SettingsPtr> settings_;
  runtime::Broadcast<IndexEvent> events_;
  CacheFeed feed_;
  Epochs epochs_;
  Store store_;
  Cache cache_;
  Writer writer_;
  Searches searches_;
  Resolver resolver_;
  CacheJanitor janitor_;
  kit::WorkQueue<ResolverJob> work_;
  kit::SingleFlight<FlightKey, AnswerPtr, FlightHash> flights_;
  AddressRates rates_;
  Replays replays_;
  runtime::Semaphore manifests_{kManifestsAtOnce};
  std::atomic<std::uint64_t> per_ip_rps_ = 0;  // of the settings, for every request
  std::array<runtime::Limit, 3> routes_;       // by RouteClass
  Republisher republisher_;
  storage_api::StorageApi* storage_ = nullptr;
  registry_api::RegistryApi* registry_ = nullptr;
  runtime::Counter& hits_;
  runtime::Counter& misses_;
  runtime::Counter& joined_;
};

}  // namespace ron::index
