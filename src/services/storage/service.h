// Service: svc-storage put together. Starts in declared order, stops in reverse.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/reload.h"
#include "http/ingress.h"
#include "http/router.h"
#include "http/server.h"
#include "observe/log.h"
#include "platform/host.h"
#include "runtime/supervisor.h"
#include "runtime/watch.h"
#include "services/kit/capability_gate.h"
#include "services/kit/ops_routes.h"
#include "services/storage/config.h"
#include "services/storage/core.h"
#include "services/storage/routes.h"

namespace ron::storage {

// Where a started service listens.
struct Endpoints {
  platform::Endpoint bind;
  platform::Endpoint admin;
};

// Adds what clients may ask to the router. A simulation puts its own between HTTP and the core.
using RouteTable = std::function<void(http::Router&, Api&)>;

// Made and used on cores[0]; its tasks run on all cores. Lives until stop() has returned.
class Service {
 public:
  // `directories` are where objects are kept; none are needed in amnesia mode. `access` gets a line
  // per request.
  Service(platform::Host host, std::shared_ptr<const config::Config> config,
          std::shared_ptr<const auth::Keyring> keyring, observe::LogHub& logs,
          const RouteTable& routes = add_routes, std::vector<std::string> directories = {},
          observe::LogHub* access = nullptr);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service();

  // Opens the volumes and the listeners and starts every task; an error leaves nothing running. Not
  // cancel-safe.
  platform::Task<base::Result<Endpoints>> start();

  // Takes a validated configuration over: listeners that move are opened first, and if that fails
  // nothing changes. Not cancel-safe.
  platform::Task<base::Result<Endpoints>> reload(config::Reloaded next,
                                                 std::shared_ptr<const auth::Keyring> keyring);
  void count_reload_failure(config::ReloadFail fail);

  // Unready first, then intake stops, then requests in flight finish within the drain deadline; the
  // rest is aborted. Returns how many tasks were. Not cancel-safe.
  platform::Task<std::size_t> stop();
  // Cuts a stop short.
  void abort_now() noexcept { supervisor_.abort_now(); }

  // Called when a critical task was given up; the owner stops the process.
  void on_give_up(std::function<void()> tell) { tell_give_up_ = std::move(tell); }

  [[nodiscard]] std::shared_ptr<const config::Config> config() const { return config_.get(); }
  [[nodiscard]] std::shared_ptr<const auth::Keyring> keyring() const { return gate_.keyring(); }
  [[nodiscard]] runtime::Meters& meters() noexcept { return meters_; }
  [[nodiscard]] observe::Log log() const { return log_; }

 private:
  runtime::SupervisorEvents events();
  VolumeHooks volume_hooks();
  void add_gauges();
  void start_tasks();
  void start_disk_tasks(volume::DiskVolume* disk, platform::Executor& core);
  platform::Task<void> reloader(runtime::Shutdown shutdown);
  platform::Task<base::Result<platform::Endpoint>> open_listener(http::Server* server,
                                                                 config::Address to);
  [[nodiscard]] kit::Readiness readiness() const;
  [[nodiscard]] std::shared_ptr<const StorageConfig> settings() const;

  platform::Host host_;
  runtime::Meters meters_;
  runtime::Topology topology_;
  observe::Log log_;
  observe::Log access_;
  runtime::Watch<std::shared_ptr<const config::Config>> config_;
  const std::vector<std::string> directories_;
  std::atomic<bool> draining_ = false;
  observe::LogLimiter trouble_limit_{10'000};
  Core core_;
  kit::CapabilityGate gate_;
  http::Router router_;
  http::Router admin_router_;
  http::Ingress ingress_;
  http::Ingress admin_ingress_;
  http::Server server_;
  http::Server admin_server_;
  std::vector<runtime::GaugeRegistration> gauges_;
  std::function<void()> tell_give_up_;
  Endpoints endpoints_;
  runtime::Supervisor supervisor_;  // last: its tasks use everything above
};

}  // namespace ron::storage
