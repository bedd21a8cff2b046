#include "services/storage/service.h"

#include <algorithm>
#include <string>
#include <utility>

#include "config/render.h"
#include "runtime/metric_names.h"
#include "services/storage/admin_routes.h"
#include "services/storage/metric_names.h"
#include "services/storage/wires.h"

namespace ron::storage {
namespace {

// Both listeners have the same limits; the operators' one is never short of connections because of
// clients.
std::shared_ptr<const http::ServerSettings> server_settings(
    const std::shared_ptr<const StorageConfig>& config) {
  return {config, &config->server};
}

observe::Log access_log(observe::LogHub* hub, runtime::Meters& meters) {
  if (hub == nullptr) return {};
  return {*hub, meters, runtime::metrics::kAccessLogDroppedTotal};
}

http::Authorize authorize_with(const kit::CapabilityGate& gate) {
  return [&gate](http::Request& request, const http::Route& route) {
    return gate.check(request, route);
  };
}

// The largest tenants by name, everyone else together.
runtime::Meters::Levels tenant_levels(const volume::TenantUsage& tenants,
                                      std::uint64_t volume::Usage::* what) {
  runtime::Meters::Levels levels;
  std::uint64_t others = tenants.all.*what;
  for (const volume::TenantUsage::Tenant& tenant : tenants.largest) {
    levels.emplace_back(shown_tenant(tenant.name), static_cast<std::int64_t>(tenant.usage.*what));
    others -= std::min(others, tenant.usage.*what);
  }
  if (others != 0) levels.emplace_back(runtime::kOtherLabel, static_cast<std::int64_t>(others));
  return levels;
}

base::Result<platform::Endpoint> endpoint(const config::Address& address) {
  return platform::Endpoint::parse(config::print(address));
}

}  // namespace

Service::Service(platform::Host host, std::shared_ptr<const config::Config> config,
                 std::shared_ptr<const auth::Keyring> keyring, observe::LogHub& logs,
                 const RouteTable& routes, std::vector<std::string> directories,
                 observe::LogHub* access)
    : host_(host),
      meters_(std::string(kWires.service)),
      topology_(kWires, meters_),
      log_(logs, meters_),
      access_(access_log(access, meters_)),
      config_(topology_, kConfig, std::move(config)),
      directories_(std::move(directories)),
      core_(topology_, *settings(), host),
      gate_(host.clock, std::move(keyring), config_.get()->get(kit::auth_section())->public_reads),
      router_(meters_),
      admin_router_(meters_),
      ingress_(meters_, settings()->server, authorize_with(gate_)),
      admin_ingress_(meters_, settings()->server, authorize_with(gate_)),
      server_({host_, &router_, &ingress_, &meters_, log_, access_}, server_settings(settings())),
      admin_server_({host_.with_cores(1), &admin_router_, &admin_ingress_, &meters_, log_, access_},
                    server_settings(settings())),
      supervisor_(topology_, host.random, events()) {
  const auto ready = [this] { return readiness(); };
  routes(router_, core_);
  for (http::Router* router : {&router_, &admin_router_}) {
    kit::add_health_routes(*router, meters_.service(), ready);
  }
  kit::add_admin_routes(admin_router_, {{&meters_}, {&topology_}, [this] {
                                          return config::show_json(*config_.get());
                                        }});
  add_operator_routes(admin_router_, core_, [this] { return settings(); });
  add_gauges();
  // Named by the specification; it fills once there is something to repair.
  meters_.histogram(runtime::metrics::kRepairWaitSeconds);
}

void Service::add_gauges() {
  const auto gauge = [this](const runtime::MetricDecl& decl, std::function<std::uint64_t()> read) {
    gauges_.push_back(meters_.gauge_fn(
        decl, {}, [read = std::move(read)] { return static_cast<std::int64_t>(read()); }));
  };
  gauge(metrics::kObjects, [this] { return core_.volumes().totals().objects; });
  gauge(metrics::kObjectBytes, [this] { return core_.volumes().totals().object_bytes; });
  gauge(metrics::kFreeBytes, [this] { return core_.volumes().totals().free_bytes; });
  gauge(metrics::kUploadsOpen, [this] { return core_.volumes().totals().uploads; });
  gauge(metrics::kQuarantined, [this] { return core_.volumes().totals().quarantined; });
  const auto tenants = [this](const runtime::MetricDecl& decl,
                              std::uint64_t volume::Usage::* what) {
    gauges_.push_back(meters_.gauge_levels_fn(decl, [this, what] {
      return tenant_levels(core_.volumes().tenants(kTenantsShown), what);
    }));
  };
  tenants(metrics::kTenantBytes, &volume::Usage::bytes);
  tenants(metrics::kTenantObjects, &volume::Usage::objects);
  gauge(metrics::kUnreadableBytes, [this] { return core_.volumes().totals().unreadable_bytes; });
  gauge(metrics::kMemoryBytes, [this] { return core_.memory_bytes(); });
  gauge(metrics::kMemoryLimitBytes, [this] { return core_.memory_limit(); });
  gauge(metrics::kDraining, [this] { return draining_.load() ? 1 : 0; });
}

Service::~Service() = default;

std::shared_ptr<const StorageConfig> Service::settings() const {
  return config_.get()->get(storage_section());
}

runtime::SupervisorEvents Service::events() {
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

kit::Readiness Service::readiness() const {
  kit::Readiness state;
  if (draining_.load(std::memory_order_relaxed)) {
    state.ready = state.write_ready = false;
    state.missing.emplace_back("draining");
  }
  // One volume that can be written to is enough for writes; for reads every one has to answer.
  bool any_writable = false;
  for (const auto& volume : core_.volumes().all()) {
    const volume::VolumeHealth health = volume->health();
    any_writable = any_writable || health.writable;
    state.ready = state.ready && health.readable;
    if (!health.reason.empty()) state.missing.push_back(health.reason);
  }
  state.write_ready = state.write_ready && any_writable && state.ready;
  return state;
}

VolumeHooks Service::volume_hooks() {
  return {.coming_writes = &core_.coming_writes(),
          .on_corrupt = [this](const base::ObjectId& id,
                               std::uint64_t group) { core_.note_corrupt(id, group); },
          .on_trouble =
              [this](std::string_view text) {
                const auto silenced = trouble_limit_.admit(host_.clock.unix_ms());
                if (silenced)
                  log_.warn("volume trouble", {{"what", text}, {"silenced", *silenced}});
              }};
}

platform::Task<base::Result<Endpoints>> Service::start() {
  const auto config = settings();
  auto volumes = co_await make_volumes(host_, &topology_, config, directories_, volume_hooks());
  if (!volumes) co_return base::fail(std::move(volumes.error()));
  core_.adopt(std::move(*volumes));
  const auto bind = endpoint(config->bind);
  if (!bind) co_return base::fail(base::Code::Malformed, "storage.bind: " + bind.error().message);
  const auto admin = endpoint(config->admin);
  if (!admin)
    co_return base::fail(base::Code::Malformed, "storage.admin: " + admin.error().message);
  auto bound = co_await server_.bind(*bind);
  if (!bound) co_return base::fail(base::Code::Internal, "storage.bind: " + bound.error().message);
  auto admin_bound = co_await admin_server_.bind(*admin);
  if (!admin_bound) {
    co_return base::fail(base::Code::Internal, "storage.admin: " + admin_bound.error().message);
  }
  // Not left to the tasks: a reload may come before they run.
  co_await server_.adopt();
  co_await admin_server_.adopt();
  endpoints_ = {*bound, *admin_bound};
  start_tasks();
  co_return endpoints_;
}

void Service::start_tasks() {
  using runtime::Shutdown;
  const auto config = settings();
  const auto cores = host_.cores;
  supervisor_.start(kAdminTask, *cores[0],
                    [this](Shutdown stop) { return admin_server_.run(0, std::move(stop)); });
  supervisor_.start(kAuditorTask, *cores[0],
                    [this](Shutdown stop) { return core_.auditor(log_, std::move(stop)); });
  supervisor_.start(kReloaderTask, *cores[0],
                    [this](Shutdown stop) { return reloader(std::move(stop)); });
  std::size_t core = 0;
  for (volume::DiskVolume* const disk : core_.disks()) {
    start_disk_tasks(disk, *cores[core++ % cores.size()]);
  }
  for (std::size_t i = 0; i < config->put_workers; ++i) {
    supervisor_.start(kPutWorkerTask, *cores[i % cores.size()],
                      [this](Shutdown stop) { return core_.put_worker(std::move(stop)); });
  }
  for (std::size_t i = 0; i < config->get_workers; ++i) {
    supervisor_.start(kGetWorkerTask, *cores[i % cores.size()],
                      [this](Shutdown stop) { return core_.get_worker(std::move(stop)); });
  }
  for (std::size_t i = 0; i < cores.size(); ++i) {
    supervisor_.start(kListenerTask, *cores[i],
                      [this, i](Shutdown stop) { return server_.run(i, std::move(stop)); });
  }
}

// The writer comes first and stops last: the others, and every worker, wait for it.
void Service::start_disk_tasks(volume::DiskVolume* disk, platform::Executor& core) {
  using runtime::Shutdown;
  supervisor_.start(kCommitterTask, core,
                    [disk](Shutdown stop) { return disk->committer(std::move(stop)); });
  supervisor_.start(kRecovererTask, core,
                    [disk](Shutdown stop) { return disk->recoverer(std::move(stop)); });
  supervisor_.start(kCompactorTask, core,
                    [disk](Shutdown stop) { return disk->compactor(std::move(stop)); });
  supervisor_.start(kScrubberTask, core,
                    [disk](Shutdown stop) { return disk->scrubber(std::move(stop)); });
}

// Hands each new configuration to every core, and first the one it finds: a reload may have come
// before this task, or while it was being restarted.
platform::Task<void> Service::reloader(runtime::Shutdown shutdown) {
  auto receiver = config_.subscribe();
  runtime::Waited waited = runtime::Waited::Ready;
  while (waited == runtime::Waited::Ready) {
    const auto config = receiver.see()->get(storage_section());
    core_.apply(*config);
    co_await server_.apply(server_settings(config));
    co_await admin_server_.apply(server_settings(config));
    waited = co_await receiver.changed(runtime::Deadline(), shutdown);
  }
}

platform::Task<base::Result<Endpoints>> Service::reload(
    config::Reloaded next, std::shared_ptr<const auth::Keyring> keyring) {
  const auto before = settings();
  const auto after = next.config->get(storage_section());
  const auto auth = next.config->get(kit::auth_section());
  Endpoints next_endpoints = endpoints_;
  const bool bind_moves = before->bind != after->bind;
  const bool admin_moves = before->admin != after->admin;
  // Both are opened before either is used: a reload that fails leaves everything as it was.
  if (bind_moves) {
    const auto opened = co_await open_listener(&server_, after->bind);
    if (!opened)
      co_return base::fail(base::Code::Internal, "storage.bind: " + opened.error().message);
    next_endpoints.bind = *opened;
  }
  if (admin_moves) {
    const auto opened = co_await open_listener(&admin_server_, after->admin);
    if (!opened) {
      if (bind_moves) co_await server_.discard();
      co_return base::fail(base::Code::Internal, "storage.admin: " + opened.error().message);
    }
    next_endpoints.admin = *opened;
  }
  if (bind_moves) co_await server_.adopt();
  if (admin_moves) co_await admin_server_.adopt();
  endpoints_ = next_endpoints;
  gate_.apply(std::move(keyring), auth->public_reads);
  config_.set(next.config);
  meters_.counter(metrics::kReloadSuccessTotal).add();
  for (const config::Change& change : next.changes.hot) {
    log_.info("configuration changed",
              {{"key", change.key}, {"before", change.before}, {"after", change.after}});
  }
  co_return endpoints_;
}

platform::Task<base::Result<platform::Endpoint>> Service::open_listener(http::Server* server,
                                                                        config::Address to) {
  const auto parsed = endpoint(to);
  if (!parsed) co_return base::fail(parsed.error());
  co_return co_await server->bind(*parsed);
}

void Service::count_reload_failure(config::ReloadFail fail) {
  meters_.counter(metrics::kReloadFailTotal, {config::reason(fail)}).add();
}

platform::Task<std::size_t> Service::stop() {
  draining_.store(true);
  co_await server_.close_unserved();
  co_await admin_server_.close_unserved();
  const base::Duration drain = settings()->drain_deadline;
  const std::size_t aborted = co_await supervisor_.stop(runtime::StopReason::Signal, drain);
  log_.info("stopped", {{"aborted_tasks", aborted}});
  co_return aborted;
}

}  // namespace ron::storage
