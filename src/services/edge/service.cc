#include "services/edge/service.h"

#include <utility>

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
                                       .section = kit::section_of<edge_section>,
                                       .settings = kit::settings_of<edge_section>,
                                       .make = make,
                                       .dials = true};

Service::Service(kit::ServiceParts parts, std::string directory, const RouteAdder& routes)
    : ServiceBase(std::move(parts), kKind), core_(core_parts(std::move(directory)), settings()) {
  routes(router(), core_);
  add_gauge(metrics::kPacks, [this] { return core_.packs().mounted(); });
  add_gauge(metrics::kMemoryBytes, [this] { return core_.loader().memory().used_bytes(); });
}

Service::~Service() = default;

CoreParts Service::core_parts(std::string directory) {
  if (settings()->amnesia) directory.clear();
  return {.host = host(),
          .topology = &topology(),
          .directory = std::move(directory),
          .tls = trust(),
          .log = log()};
}

void Service::add_operator_routes(http::Router& router) {
  add_pack_admin_routes(router, core_);
  add_site_admin_routes(router, core_);
  add_cache_admin_routes(router, core_);
}

kit::Readiness Service::readiness() const {
  kit::Readiness state;
  state.missing = core_.packs().missing();
  state.ready = core_.packs().is_settled();
  state.write_ready = state.missing.empty();
  return state;
}

platform::Task<base::Result<>> Service::open() { return core_.open(); }

void Service::apply(const config::Config& config) { core_.apply(config.get(edge_section())); }

void Service::start_tasks() {
  using runtime::Shutdown;
  start_auditor<EdgeEvent>(core_.events(), tell);
  start_task(kMountsTask, *host().cores[0],
             [this](Shutdown stop) { return core_.pack_keeper().keep(std::move(stop)); });
  start_task(kMounterTask, *host().cores[0],
             [this](Shutdown stop) { return core_.pack_orders().work(std::move(stop)); });
  start_workers(kWorkerTask, settings()->workers,
                [this](Shutdown stop) { return core_.loader().work(std::move(stop)); });
}

}  // namespace ron::edge
