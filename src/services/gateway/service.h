// Service: svc-gateway put together on the kit.
#pragma once

#include "services/gateway/config.h"
#include "services/gateway/core.h"
#include "services/kit/service_base.h"

namespace ron::gateway {

extern const kit::ServiceKind kKind;

class Service final : public kit::ServiceBase {
 public:
  explicit Service(kit::ServiceParts parts);
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
