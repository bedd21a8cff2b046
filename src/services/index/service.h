// Service: svc-index put together on the kit.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "http/router.h"
#include "observe/log.h"
#include "services/index/config.h"
#include "services/index/core.h"
#include "services/index/local_api.h"
#include "services/index/routes.h"
#include "services/kit/service_base.h"

namespace ron::index {

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

  // Before start(): other services of the process, which outlive it.
  void use(storage_api::StorageApi& storage) noexcept { core_.use(storage); }
  void use(registry_api::RegistryApi& registry) noexcept { core_.use(registry); }

  // For other services of this process. Usable while the service runs.
  [[nodiscard]] index_api::IndexApi& api() noexcept { return api_; }
  // For tests and simulations.
  [[nodiscard]] Core& core() noexcept { return core_; }

 private:
  platform::Task<base::Result<>> open() override;
  void start_tasks() override;
  void apply(const config::Config& config) override;
  [[nodiscard]] kit::Readiness readiness() const override;

  CoreParts core_parts(Directories directories);
  void add_gauges_of_core();
  [[nodiscard]] SettingsPtr settings() const { return config()->get(index_section()); }

  std::unique_ptr<platform::Disk> memory_;  // in amnesia mode
  observe::LogLimiter trouble_limit_{10'000};
  const std::string keys_;
  Core core_;
  LocalApi api_{core_};
};

}  // namespace ron::index
