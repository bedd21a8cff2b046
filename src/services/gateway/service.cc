#include "services/gateway/service.h"

#include <utility>

#include "services/gateway/lists.h"
#include "services/gateway/metric_names.h"
#include "services/gateway/wires.h"

namespace ron::gateway {
namespace {

constexpr double kPermille = 1000;

}  // namespace

constinit const kit::ServiceKind kKind{.name = "gateway",
                                       .help = "one front door for the others and for upstreams",
                                       .wires = &kWires,
                                       .life = metrics::kLife,
                                       .metrics = metrics::kAll,
                                       .lists = kLists,
                                       .section = kit::section_of<gateway_section>,
                                       .settings = kit::settings_of<gateway_section>,
                                       .make = kit::make_service<Service>,
                                       .rate_key = "drr.rate_limit_rps",
                                       .relays = true,
                                       .dials = true};

Service::Service(kit::ServiceParts parts, const RouteAdder& routes)
    : ServiceBase(std::move(parts), kKind),
      core_({.host = host(), .topology = &topology(), .gate = &gate(), .trust = trust()},
            *settings()) {
  routes(router(), core_);
  add_gauges_of_core();
}

Service::~Service() = default;

void Service::add_operator_routes(http::Router& router) {
  gateway::add_operator_routes(router, core_);
}

void Service::add_gauges_of_core() {
  const auto tenants = [this](const runtime::MetricDecl& decl,
                              std::int64_t (*value)(const TenantRow&)) {
    add_gauges(decl, [this, value] { return tenant_levels(*core_.accounts().latest(), value); });
  };
  tenants(metrics::kDrrQueueDepth, [](const TenantRow& row) -> std::int64_t { return row.queued; });
  tenants(metrics::kDrrDeficit, [](const TenantRow& row) -> std::int64_t { return row.deficit; });
  tenants(metrics::kShareServed,
          [](const TenantRow& row) { return static_cast<std::int64_t>(row.share * kPermille); });
  add_gauge(metrics::kJainIndex, [this] {
    return static_cast<std::uint64_t>(core_.accounts().latest()->jain_index * kPermille);
  });
  add_gauge(metrics::kTenants, [this] { return core_.tenants().active(); });
  add_gauge(metrics::kDegraded, [this] { return core_.health().sheds_writes() ? 1 : 0; });
  add_gauge(metrics::kWorkers, [this] { return core_.workers(); });
}

kit::Readiness Service::readiness() const { return core_.health().readiness(); }

platform::Task<base::Result<>> Service::open() {
  for (kit::Service* const neighbour : neighbours()) core_.add_neighbour(*neighbour);
  core_.apply(*settings());
  co_return base::Result<>();
}

void Service::apply(const config::Config& config) { core_.apply(*config.get(gateway_section())); }

void Service::start_tasks() {
  using runtime::Shutdown;
  const auto cores = host().cores;
  start_auditor<GatewayEvent>(core_.events(), tell);
  for (std::size_t core = 0; core < cores.size(); ++core) {
    start_task(kDialerTask, *cores[core],
               [this, core](Shutdown stop) { return core_.dial(core, std::move(stop)); });
  }
  const auto start = [&](const runtime::TaskDecl& decl,
                         platform::Task<void> (Core::*body)(Shutdown)) {
    start_task(decl, *cores[0],
               [this, body](Shutdown stop) { return (core_.*body)(std::move(stop)); });
  };
  start(kAccountantTask, &Core::account);
  start(kTickerTask, &Core::tick);
  start(kProberTask, &Core::probe);
  start(kMonitorTask, &Core::monitor);
  start(kSchedulerTask, &Core::schedule);
  start_workers(kWorkerTask, core_.workers_wanted(),
                [this](Shutdown stop) { return core_.work(std::move(stop)); });
}

}  // namespace ron::gateway
