// Core: what svc-gateway does with a request, and the tasks behind it.
//
//   admission (who may) → fair queue (when) → upstream (what) → the answer, streamed through
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "http/client.h"
#include "http/stream_places.h"
#include "platform/host.h"
#include "runtime/broadcast.h"
#include "runtime/lock.h"
#include "runtime/meter.h"
#include "runtime/mpsc.h"
#include "runtime/shutdown.h"
#include "runtime/topology.h"
#include "services/gateway/accounts.h"
#include "services/gateway/admission.h"
#include "services/gateway/config.h"
#include "services/gateway/events.h"
#include "services/gateway/fair_queue.h"
#include "services/gateway/health.h"
#include "services/gateway/routing.h"
#include "services/gateway/upstreams.h"
#include "services/gateway/wires.h"
#include "services/kit/capability_gate.h"
#include "services/kit/service.h"
#include "services/kit/worker_faults.h"

namespace ron::gateway {

struct CoreParts {
  platform::Host host;
  runtime::Topology* topology;
  const kit::CapabilityGate* gate;
  std::shared_ptr<const platform::TlsClient> trust;  // null: https upstreams cannot be asked
};

// Made on cores[0]; requests on any core.
class Core {
 public:
  Core(CoreParts parts, const GatewayConfig& config);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core();

  // A service of this process that requests may go to. Before the first apply().
  void add_neighbour(kit::Service& service) { upstreams_.add_neighbour(service); }
  // Takes over routes, quanta and limits; requests under way keep the old ones. On cores[0].
  void apply(const GatewayConfig& config);

  // The handler of every path but the server's own. Cancel-safe.
  platform::Task<http::Response> serve(http::Request* request);

  // The supervised tasks.
  platform::Task<void> schedule(runtime::Shutdown shutdown);
  platform::Task<void> work(runtime::Shutdown shutdown);
  platform::Task<void> tick(runtime::Shutdown shutdown);
  platform::Task<void> account(runtime::Shutdown shutdown);
  platform::Task<void> probe(runtime::Shutdown shutdown);
  platform::Task<void> monitor(runtime::Shutdown shutdown);
  platform::Task<void> dial(std::size_t core, runtime::Shutdown shutdown);

  [[nodiscard]] const Accounts& accounts() const noexcept { return accounts_; }
  [[nodiscard]] const TenantTable& tenants() const noexcept { return tenants_; }
  [[nodiscard]] Upstreams& upstreams() noexcept { return upstreams_; }
  [[nodiscard]] const Health& health() const noexcept { return health_; }
  [[nodiscard]] std::size_t workers() const noexcept { return worker_faults_.running(); }
  [[nodiscard]] std::size_t workers_wanted() const noexcept { return workers_wanted_; }
  [[nodiscard]] runtime::Broadcast<GatewayEvent>& events() noexcept { return events_; }

 private:
  // What one core has of its own.
  struct Loop {
    Loop(platform::Executor& executor, platform::Net& net, const http::ClientSettings& settings,
         runtime::Meters& meters)
        : home(executor), client(net, settings, meters) {}
    platform::Executor& home;
    http::Client client;
    std::shared_ptr<const Routing> routing;
    std::uint64_t routing_version = 0;
  };
  struct Tick {};

  [[nodiscard]] Loop& here() noexcept;
  const std::shared_ptr<const Routing>& routing_of(Loop& loop);
  static bool body_takes_its_time(const Visit& visit) noexcept;
  static base::Duration answer_within(const Visit& visit) noexcept;
  static runtime::Deadline deadline_of(const Visit& visit);
  static void finish(const Visit& visit, http::Response& response);
  void hold_stream(const Visit& visit, http::Response& response);
  [[nodiscard]] Vitals vitals() const;

  const platform::Host host_;
  const std::size_t workers_wanted_;
  std::atomic<std::size_t> schedulers_running_ = 0;
  const base::Duration probe_interval_;
  TenantTable tenants_;
  FairQueue queue_;
  kit::WorkerFaults worker_faults_;
  Health health_;
  Accounts accounts_;
  Admission admission_;
  Upstreams upstreams_;
  http::StreamPlaces streams_;
  runtime::Broadcast<GatewayEvent> events_;
  runtime::Mpsc<Tick> ticks_;
  runtime::Counter& turns_at_once_;
  runtime::Counter& turns_in_line_;
  http::Client prober_;  // apart from requests, so that no probe waits behind one
  mutable runtime::Lock lock_{kRoutingLock};
  std::shared_ptr<const Routing> latest_;  // guarded by lock_
  std::atomic<std::uint64_t> routing_version_ = 0;
  std::vector<std::unique_ptr<Loop>> loops_;
};

}  // namespace ron::gateway
