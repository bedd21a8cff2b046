// ServiceBase: the skeleton of a service. Starts in declared order, stops in reverse, reloads with
// rollback, tells whether it is ready, and serves what every service serves.
//
// A service derives from it, makes its core from topology() and settings, adds its routes to
// router() in its constructor, and overrides the hooks below. Its members may use everything here;
// what its tasks use is its own, so it must have been stopped before it goes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "http/router.h"
#include "observe/log.h"
#include "observe/span_queue.h"
#include "platform/host.h"
#include "runtime/broadcast.h"
#include "runtime/supervisor.h"
#include "runtime/watch.h"
#include "services/kit/auditor.h"
#include "services/kit/capability_gate.h"
#include "services/kit/config.h"
#include "services/kit/listeners.h"
#include "services/kit/ops_routes.h"
#include "services/kit/service.h"
#include "services/kit/service_kind.h"
#include "services/kit/wires.h"

namespace ron::kit {

class ServiceBase : public Service {
 public:
  ~ServiceBase() override;

  [[nodiscard]] std::string_view name() const noexcept override { return kind_.wires->service; }
  [[nodiscard]] bool listens() const noexcept final { return listens_; }
  platform::Task<base::Result<Endpoints>> start() final;
  platform::Task<base::Result<>> prepare(std::shared_ptr<const config::Config> next) final;
  platform::Task<Endpoints> adopt(config::Reloaded next, Credentials credentials) final;
  platform::Task<void> discard() final;
  void count_reload_failure(config::ReloadFail fail) final;
  platform::Task<std::size_t> stop() final;
  void abort_now() noexcept final { supervisor_.abort_now(); }
  void on_give_up(std::function<void()> tell) final { tell_give_up_ = std::move(tell); }

  void show(Service& neighbour) final;
  platform::Task<http::Response> call(const http::Request* from) final {
    return listeners_.call(from);
  }
  [[nodiscard]] bool judges_origins() const noexcept final { return kind_.judges_origins; }
  void on_front(const Service&, const Endpoints&) override {}
  void add_operator_routes(http::Router&) override {}
  [[nodiscard]] Readiness readiness_now() const final;
  [[nodiscard]] runtime::Meters& meters() noexcept final { return meters_; }
  [[nodiscard]] const runtime::Topology& topology() const noexcept final { return topology_; }
  [[nodiscard]] std::shared_ptr<const config::Config> config() const final { return config_.get(); }
  [[nodiscard]] Credentials credentials() const final;
  [[nodiscard]] observe::Log log() const final { return log_; }

 protected:
  // `kind` is a constant of the service.
  ServiceBase(ServiceParts parts, const ServiceKind& kind);

  // Hooks. Each has the state of a started base except open(), which comes before listeners and
  // tasks. An error of open() fails the start.
  virtual platform::Task<base::Result<>> open();
  // Starts the tasks the service has besides the base's, in the order of its wires.
  virtual void start_tasks() = 0;
  // Takes over what may change while running; at the start, too. On cores[0].
  virtual void apply(const config::Config& config) = 0;
  // Besides draining, which the base adds.
  [[nodiscard]] virtual Readiness readiness() const { return {}; }

  [[nodiscard]] const platform::Host& host() const noexcept { return host_; }
  [[nodiscard]] runtime::Topology& topology() noexcept { return topology_; }
  [[nodiscard]] http::Router& router() noexcept { return router_; }
  [[nodiscard]] const CapabilityGate& gate() const noexcept { return gate_; }
  [[nodiscard]] const std::shared_ptr<const platform::TlsClient>& trust() const noexcept {
    return trust_;
  }
  // Whom it shows: the other services of the process. From open() on.
  [[nodiscard]] std::span<Service* const> neighbours() const noexcept { return shown_; }

  // In the constructor: spans of clients' requests go there, for an exporter (otel.h) to take.
  void trace_to(observe::SpanQueue& spans) noexcept { listeners_.trace(spans); }

  // In the constructor: called with the code of each error that a client is told. Any core.
  void tell_errors(const http::OnError& tell) { listeners_.tell_errors(tell); }

  // One task, or `count` of a kind spread over the cores.
  void start_task(const runtime::TaskDecl& decl, platform::Executor& home, runtime::ChildBody body);
  void start_workers(const runtime::TaskDecl& decl, std::size_t count,
                     const runtime::ChildBody& body);
  template <class Event>
  void start_auditor(runtime::Broadcast<Event>& events, Tell<Event> tell) {
    start_task(kAuditorTask, *host_.cores[0],
               [this, &events, tell = std::move(tell)](runtime::Shutdown stop) {
                 return audit(&events, &host_.clock, log_, tell, std::move(stop));
               });
  }
  void add_gauge(const runtime::MetricDecl& decl, std::function<std::uint64_t()> read);
  void add_gauges(const runtime::MetricDecl& decl, std::function<runtime::Meters::Levels()> read);

 private:
  [[nodiscard]] std::shared_ptr<const ServiceConfig> settings() const {
    return kind_.settings(*config_.get());
  }
  runtime::SupervisorEvents supervisor_events();
  platform::Task<void> reloader(runtime::Shutdown shutdown);

  platform::Host host_;
  const ServiceKind& kind_;
  const bool listens_;
  runtime::Meters meters_;
  runtime::Topology topology_;
  observe::Log log_;
  observe::Log access_;
  runtime::Watch<std::shared_ptr<const config::Config>> config_;
  std::shared_ptr<const platform::TlsServer> tls_;
  const std::shared_ptr<const platform::TlsClient> trust_;
  const TaskWrap wrap_task_;
  std::atomic<bool> draining_ = false;
  CapabilityGate gate_;
  http::Router router_;
  http::Router admin_router_;
  std::vector<Service*> shown_;
  Listeners listeners_;
  std::vector<runtime::GaugeRegistration> gauges_;
  std::function<void()> tell_give_up_;
  Endpoints endpoints_;
  runtime::Supervisor supervisor_;  // last: its tasks use everything above
};

}  // namespace ron::kit
