// Service: svc-sample put together on the kit.
#pragma once

#include "sample_service/core.h"
#include "services/kit/service_base.h"

namespace ron::sample {

extern const kit::ServiceKind kKind;

class Service final : public kit::ServiceBase {
 public:
  explicit Service(kit::ServiceParts parts);

  void add_operator_routes(http::Router& router) override;

 private:
  void start_tasks() override;
  void apply(const config::Config& config) override;

  Core core_;
};

}  // namespace ron::sample
