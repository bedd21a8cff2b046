// Service: svc-edge put together on the kit.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "http/router.h"
#include "services/edge/config.h"
#include "services/edge/core.h"
#include "services/edge/routes.h"
#include "services/kit/service_base.h"

namespace ron::edge {

// Adds what clients may ask to the router. A simulation puts its own between HTTP and the core.
using RouteAdder = std::function<void(http::Router&, Core&)>;

extern const kit::ServiceKind kKind;

class Service final : public kit::ServiceBase {
 public:
  // `origins`: who is asked instead of the internet, in simulations; outlives the service.
  Service(kit::ServiceParts parts, std::string directory, const RouteAdder& routes = add_routes,
          Origins* origins = nullptr);
  ~Service() override;

  void add_operator_routes(http::Router& router) override;

  // Before start(): other services of the process, which outlive it.
  void use(index_api::IndexApi& index) noexcept { core_.sites().use(index); }
  void use(storage_api::StorageApi& storage) noexcept { core_.sites().use(storage); }

  // For tests and simulations.
  [[nodiscard]] Core& core() noexcept { return core_; }

 private:
  platform::Task<base::Result<>> open() override;
  void start_tasks() override;
  void apply(const config::Config& config) override;
  [[nodiscard]] kit::Readiness readiness() const override;

  void start_cache_tasks(AssetStore* store);
  CoreParts core_parts(std::string directory, Origins* origins);
  [[nodiscard]] SettingsPtr settings() const { return config()->get(edge_section()); }

  Core core_;
};

}  // namespace ron::edge
