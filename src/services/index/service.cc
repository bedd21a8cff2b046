#include "services/index/service.h"

#include <utility>

#include "platform/memory_disk.h"
#include "services/index/admin_routes.h"
#include "services/index/lists.h"
#include "services/index/metric_names.h"
#include "services/index/wires.h"
#include "services/kit/key_file.h"
#include "services/kit/node_key.h"

namespace ron::index {
namespace {

// What the log takes in memory at most in amnesia mode.
constexpr std::uint64_t kAmnesiaLogBytes = 256 * base::kMiB;

std::unique_ptr<kit::Service> make(kit::ServiceParts parts, std::string directory) {
  std::string keys = kit::keys_directory(*parts.config, directory);
  return std::make_unique<Service>(std::move(parts),
                                   Directories{std::move(directory), std::move(keys)});
}

}  // namespace

constinit const kit::ServiceKind kKind{.name = "index",
                                       .help = "names, trees and providers under /names, /resolve",
                                       .wires = &kWires,
                                       .life = metrics::kLife,
                                       .metrics = metrics::kAll,
                                       .lists = kLists,
                                       .section = kit::section_of<index_section>,
                                       .settings = kit::settings_of<index_section>,
                                       .make = make,
                                       .dials = true};

Service::Service(kit::ServiceParts parts, Directories directories, const RouteAdder& routes)
    : ServiceBase(std::move(parts), kKind),
      keys_(directories.keys),
      core_(core_parts(std::move(directories)), settings()) {
  routes(router(), core_);
  add_gauges_of_core();
}

Service::~Service() = default;

CoreParts Service::core_parts(Directories directories) {
  const SettingsPtr config = settings();
  if (config->amnesia) {
    memory_ = std::make_unique<platform::MemoryDisk>(kAmnesiaLogBytes);
    directories.data = "/index";
  }
  StoreOptions store{.directory = std::move(directories.data),
                     .cache_bytes = config->map_cache_bytes.bytes,
                     .is_amnesiac = config->amnesia,
                     .on_trouble = [this](std::string_view text) {
                       const auto silenced = trouble_limit_.admit(host().clock.unix_ms());
                       if (silenced) {
                         log().warn("log trouble", {{"what", text}, {"silenced", *silenced}});
                       }
                     }};
  return {.host = host(),
          .topology = &topology(),
          .disk = memory_ ? memory_.get() : &host().disk,
          .store = std::move(store),
          .tls = trust(),
          .gate = &gate(),
          .log = log()};
}

void Service::add_operator_routes(http::Router& router) {
  index::add_operator_routes(router, core_);
}

void Service::add_gauges_of_core() {
  add_gauge(metrics::kCacheEntries, [this] { return core_.cache().size(); });
  add_gauge(metrics::kMapBytes, [this] { return core_.map_bytes(); });
}

kit::Readiness Service::readiness() const {
  kit::Readiness state;
  state.missing = core_.missing_for_writes();
  state.write_ready = state.missing.empty();
  return state;
}

// The records that this node signs count here, too.
platform::Task<base::Result<>> Service::open() {
  const std::string keys = settings()->amnesia ? std::string() : keys_;
  const auto key = co_await kit::load_node_key(&host().disk, &host().random, keys);
  if (!key) co_return base::fail(key.error());
  core_.searches().set_own((*key)->public_key());
  const base::Result<void> opened = co_await core_.open();
  if (!opened) co_return base::fail(opened.error());
  co_return base::Result<>();
}

void Service::apply(const config::Config& config) { core_.apply(config.get(index_section())); }

void Service::start_tasks() {
  using runtime::Shutdown;
  start_auditor<IndexEvent>(core_.events(), tell);
  const auto start = [this](const runtime::TaskDecl& decl,
                            platform::Task<void> (Core::*body)(Shutdown)) {
    start_task(decl, *host().cores[0],
               [this, body](Shutdown stop) { return (core_.*body)(std::move(stop)); });
  };
  const auto cores = host().cores;
  for (std::size_t core = 0; core < cores.size(); ++core) {
    start_task(kDialerTask, *cores[core],
               [this, core](Shutdown stop) { return core_.searches().dial(core, stop); });
  }
  start(kWriterTask, &Core::run_writer);
  start(kCacheJanitorTask, &Core::run_cache_janitor);
  start(kBreakerJanitorTask, &Core::run_breaker_janitor);
  start(kRegistryFollowerTask, &Core::run_registry_follower);
  start(kRepublisherTask, &Core::run_republisher);
  start_workers(kResolverTask, settings()->workers,
                [this](Shutdown stop) { return core_.run_resolver(std::move(stop)); });
  start(kWarmupTask, &Core::run_warmup);
}

}  // namespace ron::index
