// The routes every service has for whoever runs it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "http/router.h"
#include "runtime/meter.h"
#include "runtime/topology.h"
#include "services/kit/service.h"

namespace ron::kit {

// `GET /healthz`, `GET /readyz`, `GET /version`, on every listener.
void add_health_routes(http::Router& router, std::string service,
                       std::function<Readiness()> readiness);

struct AdminSources {
  std::vector<const runtime::Meters*> meters;
  std::vector<const runtime::Topology*> topologies;
  std::function<std::string()> config_json;
};
// `GET /metrics`, `GET /debug/topology`, `GET /debug/config`, on the admin listener only.
void add_admin_routes(http::Router& router, AdminSources sources);

// The program's version, as `ron version` and GET /version say it.
std::string_view version() noexcept;

}  // namespace ron::kit
