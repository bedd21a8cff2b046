// Core: what svc-edge can do, whoever asks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "platform/host.h"
#include "platform/task.h"
#include "runtime/broadcast.h"
#include "runtime/shutdown.h"
#include "runtime/watch.h"
#include "services/edge/assets.h"
#include "services/edge/config.h"
#include "services/edge/cors.h"
#include "services/edge/events.h"
#include "services/edge/fetch.h"
#include "services/edge/loader.h"
#include "services/edge/pack_keeper.h"
#include "services/edge/pack_orders.h"
#include "services/edge/packs.h"
#include "services/edge/parts.h"
#include "services/edge/sites.h"
#include "services/index/api/api.h"
#include "services/kit/service.h"
#include "services/kit/worker_faults.h"
#include "services/storage/api/api.h"

namespace ron::edge {

// All of it outlives the core.
struct CoreParts {
  platform::Host host;
  runtime::Topology* topology;
  std::string directory;  // empty: amnesia
  std::shared_ptr<const platform::TlsClient> tls;
  observe::Log log;
  PackOpener open_pack{};      // for tests; none: pack::open
  Origins* origins = nullptr;  // who is asked instead of the internet, in tests
};

// Made and opened on cores[0]; asked on any core.
class Core {
 public:
  Core(CoreParts parts, SettingsPtr config);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Reads what is on disk. Not cancel-safe.
  platform::Task<base::Result<>> open();
  void apply(SettingsPtr config);
  // The body of a core's dialer: keeps its connections and closes them in the end.
  platform::Task<void> dial(std::size_t core, runtime::Shutdown shutdown);

  // The bodies of a worker and of a loader.
  platform::Task<void> do_fills(runtime::Shutdown shutdown) {
    return workers_.run(loader_.do_fills(std::move(shutdown)));
  }
  platform::Task<void> do_loads(runtime::Shutdown shutdown) {
    return loaders_.run(loader_.do_loads(std::move(shutdown)));
  }
  // Takes no writes while workers or loaders are being restarted, while so much waits for them that
  // requests will be refused soon, and while the cache on disk takes nothing. What is in memory is
  // served all the same. Only degraded while packs or sites are not there. Any core.
  [[nodiscard]] kit::Readiness readiness() const;
  // A client was told this error.
  void note_error(std::string_view code) noexcept;

  [[nodiscard]] Loader& loader() noexcept { return loader_; }
  [[nodiscard]] Fetcher& fetcher() noexcept { return fetcher_; }
  [[nodiscard]] Packs& packs() noexcept { return packs_; }
  [[nodiscard]] const Packs& packs() const noexcept { return packs_; }
  [[nodiscard]] PackOrders& pack_orders() noexcept { return pack_orders_; }
  [[nodiscard]] PackKeeper& pack_keeper() noexcept { return pack_keeper_; }
  [[nodiscard]] Sites& sites() noexcept { return sites_; }
  [[nodiscard]] const Sites& sites() const noexcept { return sites_; }
  [[nodiscard]] Assets& assets() noexcept { return assets_; }
  [[nodiscard]] Cors& cors() noexcept { return cors_; }
  [[nodiscard]] Rejects& rejects() noexcept { return rejects_; }
  [[nodiscard]] platform::SendArena& send_arena() noexcept { return send_arena_; }
  [[nodiscard]] runtime::Broadcast<EdgeEvent>& events() noexcept { return events_; }
  [[nodiscard]] SettingsPtr settings() const { return settings_.get(); }

 private:
  EdgeParts parts_for(const CoreParts& parts);

  platform::SendArena& send_arena_;
  runtime::Watch<SettingsPtr> settings_;
  runtime::Broadcast<EdgeEvent> events_;
  Rejects rejects_;
  Loader loader_;
  Fetcher fetcher_;
  Cors cors_;
  Packs packs_;
  PackOrders pack_orders_;
  PackKeeper pack_keeper_;
  Sites sites_;
  Assets assets_;
  kit::WorkerFaults workers_;
  kit::WorkerFaults loaders_;
  const std::size_t workers_wanted_;
  const std::size_t loaders_wanted_;
};

}  // namespace ron::edge
