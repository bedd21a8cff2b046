#include "services/kit/service_base.h"

#include <utility>

#include "config/render.h"
#include "runtime/metric_names.h"

namespace ron::kit {

using platform::Task;
using runtime::Shutdown;

namespace {

observe::Log access_log(observe::LogHub* hub, runtime::Meters& meters) {
  if (hub == nullptr) return {};
  return {*hub, meters, runtime::metrics::kAccessLogDroppedTotal};
}

}  // namespace

std::string url_of(const Service& service, const Endpoints& at) {
  if (at.bind.is_wildcard()) return "";
  return (service.credentials().tls ? "https://" : "http://") + at.bind.text();
}

ServiceBase::ServiceBase(ServiceParts parts, const ServiceKind& kind)
    : host_(parts.host),
      kind_(kind),
      listens_(parts.listens),
      meters_(std::string(kind_.wires->service)),
      topology_(*kind_.wires, meters_),
      log_(*parts.logs, meters_),
      access_(access_log(parts.access, meters_)),
      config_(topology_, kConfigChannel, std::move(parts.config)),
      tls_(std::move(parts.credentials.tls)),
      trust_(std::move(parts.credentials.trust)),
      wrap_task_(std::move(parts.wrap_task)),
      gate_(host_.clock, std::move(parts.credentials.keyring),
            config_.get()->get(auth_section())->public_reads),
      router_(meters_),
      admin_router_(meters_),
      listeners_({host_, std::string(kind_.name), &router_, &admin_router_,
                  [this](http::Request& request, const http::Route& route) {
                    return gate_.check(request, route.access);
                  },
                  &meters_, log_, access_, kind_.relays},
                 settings()),
      supervisor_(topology_, host_.random, supervisor_events()) {
  const auto ready = [this] { return readiness_now(); };
  for (http::Router* router : {&router_, &admin_router_}) {
    add_health_routes(*router, meters_.service(), ready);
  }
  add_gauge(*kind_.life.draining, [this] { return draining_.load() ? 1 : 0; });
  meters_.counter(*kind_.life.reload_success);
}

ServiceBase::~ServiceBase() = default;

void ServiceBase::show(Service& neighbour) { shown_.push_back(&neighbour); }

void ServiceBase::add_gauge(const runtime::MetricDecl& decl, std::function<std::uint64_t()> read) {
  gauges_.push_back(meters_.gauge_fn(
      decl, {}, [read = std::move(read)] { return static_cast<std::int64_t>(read()); }));
}

void ServiceBase::add_gauges(const runtime::MetricDecl& decl,
                             std::function<runtime::Meters::Levels()> read) {
  gauges_.push_back(meters_.gauge_levels_fn(decl, std::move(read)));
}

Credentials ServiceBase::credentials() const { return {gate_.keyring(), tls_, trust_}; }

runtime::SupervisorEvents ServiceBase::supervisor_events() {
  return {
      .on_failure =
          [this](const runtime::TaskDecl& task, const std::string& what, base::Duration retry_in) {
            const std::string delay = base::print(retry_in);
            log_.error("task failed", {{"kind", task.kind}, {"what", what}, {"retry_in", delay}});
          },
      .on_give_up =
          [this](const runtime::TaskDecl& task, const std::string& what) {
            log_.error("task given up", {{"kind", task.kind}, {"what", what}});
            if (task.importance == runtime::Importance::Critical && tell_give_up_) tell_give_up_();
          },
      .on_phase =
          [this](runtime::Phase phase) { log_.info("phase", {{"phase", runtime::name(phase)}}); },
  };
}

Readiness ServiceBase::readiness_now() const {
  Readiness state = readiness();
  if (draining_.load(std::memory_order_relaxed)) {
    state.ready = state.write_ready = false;
    state.missing.insert(state.missing.begin(), "draining");
  }
  for (const Service* neighbour : shown_) {
    const Readiness other = neighbour->readiness_now();
    state.ready = state.ready && other.ready;
    state.write_ready = state.write_ready && other.write_ready;
    state.degraded = state.degraded || other.degraded;
    for (const std::string& what : other.missing) {
      state.missing.push_back(std::string(neighbour->name()) + ": " + what);
    }
  }
  state.write_ready = state.write_ready && state.ready;
  state.degraded = state.degraded || !state.write_ready;
  return state;
}

Task<base::Result<>> ServiceBase::open() { co_return base::Result<>(); }

Task<base::Result<Endpoints>> ServiceBase::start() {
  AdminSources sources{
      {&meters_}, {&topology_}, [this] { return config::show_json(*config_.get()); }};
  add_operator_routes(admin_router_);
  for (Service* neighbour : shown_) {
    neighbour->add_operator_routes(admin_router_);
    sources.meters.push_back(&neighbour->meters());
    sources.topologies.push_back(&neighbour->topology());
  }
  add_admin_routes(admin_router_, std::move(sources));
  const base::Result<> opened = co_await open();
  if (!opened) co_return base::fail(opened.error());
  if (listens_) {
    co_await listeners_.apply(tls_);
    auto listening = co_await listeners_.open();
    if (!listening) co_return base::fail(std::move(listening.error()));
    endpoints_ = std::move(*listening);
    listeners_.start_admin(supervisor_);
  }
  start_task(kReloaderTask, *host_.cores[0],
             [this](Shutdown stop) { return reloader(std::move(stop)); });
  start_tasks();
  if (listens_) listeners_.start_public(supervisor_);
  co_return endpoints_;
}

void ServiceBase::start_task(const runtime::TaskDecl& decl, platform::Executor& home,
                             runtime::ChildBody body) {
  if (wrap_task_) body = wrap_task_(decl, std::move(body));
  supervisor_.start(decl, home, std::move(body));
}

void ServiceBase::start_workers(const runtime::TaskDecl& decl, std::size_t count,
                                const runtime::ChildBody& body) {
  for (std::size_t i = 0; i < count; ++i) {
    start_task(decl, *host_.cores[i % host_.cores.size()], body);
  }
}

// Hands each new configuration to every core, and first the one it finds: a reload may have come
// before this task, or while it was being restarted.
Task<void> ServiceBase::reloader(Shutdown shutdown) {
  auto receiver = config_.subscribe();
  runtime::Waited waited = runtime::Waited::Ready;
  while (waited == runtime::Waited::Ready) {
    const auto config = receiver.see();
    apply(*config);
    co_await listeners_.apply(kind_.settings(*config));
    waited = co_await receiver.changed(runtime::Deadline(), shutdown);
  }
}

Task<base::Result<>> ServiceBase::prepare(std::shared_ptr<const config::Config> next) {
  if (!listens_) co_return base::Result<>();
  co_return co_await listeners_.prepare(kind_.settings(*next));
}

Task<Endpoints> ServiceBase::adopt(config::Reloaded next, Credentials credentials) {
  if (listens_) {
    tls_ = std::move(credentials.tls);
    co_await listeners_.apply(tls_);
    endpoints_ = co_await listeners_.adopt();
  }
  gate_.apply(std::move(credentials.keyring), next.config->get(auth_section())->public_reads);
  config_.set(next.config);
  meters_.counter(*kind_.life.reload_success).add();
  if (!listens_) co_return endpoints_;  // said once, by the service that is the process's face
  for (const config::Change& change : next.changes.hot) {
    log_.info("configuration changed",
              {{"key", change.key}, {"before", change.before}, {"after", change.after}});
  }
  co_return endpoints_;
}

Task<void> ServiceBase::discard() {
  if (listens_) co_await listeners_.discard();
}

void ServiceBase::count_reload_failure(config::ReloadFail fail) {
  meters_.counter(*kind_.life.reload_fail, {config::reason(fail)}).add();
}

Task<std::size_t> ServiceBase::stop() {
  draining_.store(true);
  co_await listeners_.close_unserved();
  const std::size_t aborted =
      co_await supervisor_.stop(runtime::StopReason::Signal, settings()->drain_deadline);
  log_.info("stopped", {{"aborted_tasks", aborted}});
  co_return aborted;
}

}  // namespace ron::kit
