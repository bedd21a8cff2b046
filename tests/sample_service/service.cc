#include "sample_service/service.h"

#include <utility>

#include "sample_service/metric_names.h"
#include "sample_service/routes.h"
#include "sample_service/wires.h"

namespace ron::sample {
namespace {

void tell(const observe::Log& log, const Echoed& event) {
  log.info("echoed", {{"bytes", event.text.size()}});
}

}  // namespace

constinit const kit::ServiceKind kKind{.name = "sample",
                                       .help = "says what it is told, under /echo",
                                       .wires = &kWires,
                                       .life = metrics::kLife,
                                       .metrics = metrics::kAll,
                                       .section = kit::section_of<sample_section>,
                                       .settings = kit::settings_of<sample_section>,
                                       .make = kit::make_service<Service>};

Service::Service(kit::ServiceParts parts)
    : ServiceBase(std::move(parts), kKind), core_(topology(), *config()->get(sample_section())) {
  add_routes(router(), core_);
}

void Service::add_operator_routes(http::Router& router) {
  sample::add_operator_routes(router, core_);
}

void Service::start_tasks() {
  start_auditor<Echoed>(core_.events(), tell);
  start_workers(kWorkerTask, 1,
                [this](runtime::Shutdown stop) { return core_.worker(std::move(stop)); });
}

void Service::apply(const config::Config& config) { core_.apply(*config.get(sample_section())); }

}  // namespace ron::sample
