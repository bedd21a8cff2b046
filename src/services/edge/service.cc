#include "services/edge/service.h"

#include <utility>

#include "services/edge/lists.h"
#include "services/edge/metric_names.h"
#include "services/edge/wires.h"

namespace ron::edge {
namespace {

std::unique_ptr<kit::Service> make(kit::ServiceParts parts, std::string directory) {
  return std::make_unique<Service>(std::move(parts), std::move(directory));
}

}  // namespace

constinit const kit::ServiceKind kKind{.name = "edge",
                                       .help = "sites, maps and live fills under /edge",
                                       .wires = &kWires,
                                       .life = metrics::kLife,
                                       .metrics = metrics::kAll,
                                       .lists = kLists,
                                       .section = kit::section_of<edge_section>,
                                       .settings = kit::settings_of<edge_section>,
                                       .make = make,
                                       .judges_origins = true,
                                       .dials = true};

Service::Service(kit::ServiceParts parts, std::string directory, const RouteAdder& routes,
                 Origins* origins)
    : ServiceBase(std::move(parts), kKind),
      core_(core_parts(std::move(directory), origins), settings()) {
  routes(router(), core_);
  add_gauge(metrics::kPacks, [this] { return core_.packs().mounted(); });
  add_gauges(metrics::kSiteFilesMissing, [this] { return core_.sites().missing_files(); });
  tell_errors([this](std::string_view code) { core_.note_error(code); });
  add_gauge(metrics::kMemoryBytes, [this] { return core_.loader().memory().used_bytes(); });
  add_gauge(metrics::kCacheBytes, [this] { return core_.assets().table().bytes(); });
  add_gauge(metrics::kCacheEntries, [this] { return core_.assets().table().entries(); });
}

Service::~Service() = default;

CoreParts Service::core_parts(std::string directory, Origins* origins) {
  if (settings()->amnesia) directory.clear();
  return {.host = host(),
          .topology = &topology(),
          .directory = std::move(directory),
          .tls = trust(),
          .log = log(),
          .open_pack = {},
          .origins = origins};
}

void Service::add_operator_routes(http::Router& router) {
  add_pack_admin_routes(router, core_);
  add_site_admin_routes(router, core_);
  add_cache_admin_routes(router, core_);
}

kit::Readiness Service::readiness() const { return core_.readiness(); }

platform::Task<base::Result<>> Service::open() { return core_.open(); }

void Service::apply(const config::Config& config) { core_.apply(config.get(edge_section())); }

void Service::start_tasks() {
  using runtime::Shutdown;
  start_auditor<EdgeEvent>(core_.events(), tell);
  const auto cores = host().cores;
  if (AssetStore* const store = core_.assets().store()) start_cache_tasks(store);
  for (std::size_t core = 0; core < cores.size(); ++core) {
    start_task(kDialerTask, *cores[core],
               [this, core](Shutdown stop) { return core_.dial(core, std::move(stop)); });
  }
  start_task(kMountsTask, *cores[0],
             [this](Shutdown stop) { return core_.pack_keeper().keep(std::move(stop)); });
  start_task(kMounterTask, *cores[0],
             [this](Shutdown stop) { return core_.pack_orders().work(std::move(stop)); });
  start_task(kSitesTask, *cores[0],
             [this](Shutdown stop) { return core_.sites().keep(std::move(stop)); });
  start_workers(kWorkerTask, settings()->workers,
                [this](Shutdown stop) { return core_.do_fills(std::move(stop)); });
  start_workers(kLoaderTask, settings()->loaders,
                [this](Shutdown stop) { return core_.do_loads(std::move(stop)); });
}

// The writer comes first and stops last: the janitor and every worker wait for it.
void Service::start_cache_tasks(AssetStore* store) {
  using runtime::Shutdown;
  platform::Executor& core = *host().cores[0];
  volume::DiskVolume* const volume = &store->volume();
  start_task(kCommitterTask, core,
             [volume](Shutdown stop) { return volume->committer(std::move(stop)); });
  start_task(kRecovererTask, core,
             [volume](Shutdown stop) { return volume->recoverer(std::move(stop)); });
  start_task(kCompactorTask, core,
             [volume](Shutdown stop) { return volume->compactor(std::move(stop)); });
  start_task(kCacheJanitorTask, core,
             [store](Shutdown stop) { return store->janitor(std::move(stop)); });
}

}  // namespace ron::edge
