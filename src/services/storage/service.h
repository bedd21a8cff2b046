// Service: svc-storage put together on the kit.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http/router.h"
#include "observe/log.h"
#include "services/index/api/api.h"
#include "services/kit/service_base.h"
#include "services/storage/announcer.h"
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
  // `directories` are where objects are kept; none are needed in amnesia mode. `keys` is where the
  // node's key is, if what is stored is to be announced.
  Service(kit::ServiceParts parts, std::vector<std::string> directories,
          const RouteTable& routes = add_routes, std::string keys = "");
  ~Service() override;

  void add_operator_routes(http::Router& router) override;
  void on_front(const kit::Service& front, const kit::Endpoints& at) override;

  // Before start(): what is stored is announced there, unless announce.index names another. It
  // outlives the service.
  void announce_to(index_api::IndexApi& index) noexcept { index_ = &index; }

  // For other services of this process. Usable while the service runs.
  [[nodiscard]] storage_api::StorageApi& api() noexcept { return api_; }

 private:
  platform::Task<base::Result<>> open() override;
  void start_tasks() override;
  void apply(const config::Config& config) override;
  [[nodiscard]] kit::Readiness readiness() const override;

  void add_gauges_of_core();
  [[nodiscard]] bool announces() const;
  platform::Task<base::Result<void>> make_announcer();
  [[nodiscard]] AnnounceSettings announce_settings(const StorageConfig& config) const;
  platform::Task<void> announce(runtime::Shutdown stop);
  VolumeHooks volume_hooks();
  void start_disk_tasks(volume::DiskVolume* disk, platform::Executor& core);
  [[nodiscard]] std::shared_ptr<const StorageConfig> settings() const {
    return config()->get(storage_section());
  }

  const std::vector<std::string> directories_;
  const std::string keys_;
  observe::LogLimiter trouble_limit_{10'000};
  Core core_;
  LocalApi api_{core_};
  index_api::IndexApi* index_ = nullptr;  // of this process
  std::string front_url_;                 // where the process can be reached, once it can
  std::string index_token_;               // for another's
  std::unique_ptr<Announcer> announcer_;  // from open() on, if there is somebody to tell
};

}  // namespace ron::storage
