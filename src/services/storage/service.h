// Service: svc-storage put together on the kit.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http/router.h"
#include "observe/log.h"
#include "services/kit/service_base.h"
#include "services/storage/config.h"
#include "services/storage/core.h"
#include "services/storage/local_api.h"
#include "services/storage/routes.h"

namespace ron::storage {

// Adds what clients may ask to the router. A simulation puts its own between HTTP and the core.
using RouteTable = std::function<void(http::Router&, ObjectStore&)>;

extern const kit::ServiceKind kKind;

class Service final : public kit::ServiceBase {
 public:
  // `directories` are where objects are kept; none are needed in amnesia mode.
  Service(kit::ServiceParts parts, std::vector<std::string> directories,
          const RouteTable& routes = add_routes);
  ~Service() override;

  void add_operator_routes(http::Router& router) override;

  // For other services of this process. Usable while the service runs.
  [[nodiscard]] storage_api::StorageApi& api() noexcept { return api_; }

 private:
  platform::Task<base::Result<>> open() override;
  void start_tasks() override;
  void apply(const config::Config& config) override;
  [[nodiscard]] kit::Readiness readiness() const override;

  void add_gauges_of_core();
  VolumeHooks volume_hooks();
  void start_disk_tasks(volume::DiskVolume* disk, platform::Executor& core);
  [[nodiscard]] std::shared_ptr<const StorageConfig> settings() const {
    return config()->get(storage_section());
  }

  const std::vector<std::string> directories_;
  observe::LogLimiter trouble_limit_{10'000};
  Core core_;
  LocalApi api_{core_};
};

}  // namespace ron::storage
