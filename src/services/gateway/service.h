// Service: svc-gateway put together on the kit.
#pragma once

#include <functional>

#include "http/router.h"
#include "services/gateway/config.h"
#include "services/gateway/core.h"
#include "services/gateway/routes.h"
#include "services/kit/service_base.h"

namespace ron::gateway {

// Adds what clients may ask to the router. A simulation puts its own between HTTP and the core.
using RouteAdder = std::function<void(http::Router&, Core&)>;

extern const kit::ServiceKind kKind;

class Service final : public kit::ServiceBase {
 public:
  explicit Service(kit::ServiceParts parts, const RouteAdder& routes = add_routes);
  ~Service() override;

  void add_operator_routes(http::Router& router) override;

 private:
  platform::Task<base::Result<>> open() override;
  void start_tasks() override;
  void apply(const config::Config& config) override;
  [[nodiscard]] kit::Readiness readiness() const override;

  void add_gauges_of_core();
  [[nodiscard]] std::shared_ptr<const GatewayConfig> settings() const {
    return config()->get(gateway_section());
  }

  Core core_;
};

}  // namespace ron::gateway
