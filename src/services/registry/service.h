// Service: svc-registry put together on the kit.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "http/router.h"
#include "observe/log.h"
#include "services/kit/otel.h"
#include "services/kit/service_base.h"
#include "services/registry/config.h"
#include "services/registry/core.h"
#include "services/registry/local_api.h"
#include "services/registry/routes.h"

namespace ron::registry {

// Adds what clients may ask to the router. A simulation puts its own between HTTP and the core.
using RouteAdder = std::function<void(http::Router&, Core&)>;

// Where it keeps what it keeps.
struct Directories {
  std::string data;
  std::string keys;
};

extern const kit::ServiceKind kKind;

class Service final : public kit::ServiceBase {
 public:
  Service(kit::ServiceParts parts, Directories directories, const RouteAdder& routes = add_routes);
  ~Service() override;

  void add_operator_routes(http::Router& router) override;

  // For other services of this process. Usable while the service runs.
  [[nodiscard]] registry_api::RegistryApi& api() noexcept { return api_; }
  // For tests and simulations.
  [[nodiscard]] Core& core() noexcept { return core_; }

 private:
  platform::Task<base::Result<>> open() override;
  void start_tasks() override;
  void apply(const config::Config& config) override;
  [[nodiscard]] kit::Readiness readiness() const override;

  CoreParts core_parts(Directories directories);
  void add_gauges_of_core();
  [[nodiscard]] std::shared_ptr<const RegistryConfig> settings() const {
    return config()->get(registry_section());
  }

  std::unique_ptr<platform::Disk> memory_;  // in amnesia mode
  observe::LogLimiter trouble_limit_{10'000};
  const std::string keys_;
  Core core_;
  LocalApi api_{core_};
  kit::OtelExporter otel_;
};

}  // namespace ron::registry
