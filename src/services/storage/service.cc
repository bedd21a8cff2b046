#include "services/storage/service.h"

#include <algorithm>
#include <utility>

#include "runtime/metric_names.h"
#include "services/index/api/http_index.h"
#include "services/kit/key_file.h"
#include "services/kit/node_key.h"
#include "services/storage/admin_routes.h"
#include "services/storage/lists.h"
#include "services/storage/metric_names.h"
#include "services/storage/wires.h"

namespace ron::storage {
namespace {

std::unique_ptr<kit::Service> make(kit::ServiceParts parts, std::string directory) {
  std::string keys = kit::keys_directory(*parts.config, directory);
  auto directories =
      object_directories(*parts.config->get(storage_section()), std::move(directory));
  return std::make_unique<Service>(std::move(parts), std::move(directories), add_routes,
                                   std::move(keys));
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

}  // namespace

constinit const kit::ServiceKind kKind{.name = "storage",
                                       .help = "objects under /o",
                                       .wires = &kWires,
                                       .life = metrics::kLife,
                                       .metrics = metrics::kAll,
                                       .lists = kLists,
                                       .section = kit::section_of<storage_section>,
                                       .settings = kit::settings_of<storage_section>,
                                       .make = make,
                                       .dials = true};

Service::Service(kit::ServiceParts parts, std::vector<std::string> directories,
                 const RouteTable& routes, std::string keys)
    : ServiceBase(std::move(parts), kKind),
      directories_(std::move(directories)),
      keys_(std::move(keys)),
      core_(topology(), *settings(), host()) {
  routes(router(), core_);
  add_gauges_of_core();
  // Named by the specification; it fills once there is something to repair.
  meters().histogram(runtime::metrics::kRepairWaitSeconds);
}

Service::~Service() = default;

void Service::add_operator_routes(http::Router& router) {
  storage::add_operator_routes(router, core_, [this] { return settings(); });
}

void Service::add_gauges_of_core() {
  const auto total = [this](const runtime::MetricDecl& decl,
                            std::uint64_t volume::VolumeStats::* what) {
    add_gauge(decl, [this, what] { return core_.volumes().totals().*what; });
  };
  total(metrics::kObjects, &volume::VolumeStats::objects);
  total(metrics::kObjectBytes, &volume::VolumeStats::object_bytes);
  total(metrics::kFreeBytes, &volume::VolumeStats::free_bytes);
  total(metrics::kUploadsOpen, &volume::VolumeStats::uploads);
  total(metrics::kQuarantined, &volume::VolumeStats::quarantined);
  total(metrics::kUnreadableBytes, &volume::VolumeStats::unreadable_bytes);
  const auto tenants = [this](const runtime::MetricDecl& decl,
                              std::uint64_t volume::Usage::* what) {
    add_gauges(
        decl, [this, what] { return tenant_levels(core_.volumes().tenants(kTenantsShown), what); });
  };
  tenants(metrics::kTenantBytes, &volume::Usage::bytes);
  tenants(metrics::kTenantObjects, &volume::Usage::objects);
  add_gauge(metrics::kMemoryBytes, [this] { return core_.memory_bytes(); });
  add_gauge(metrics::kMemoryLimitBytes, [this] { return core_.memory_limit(); });
}

// One volume that can be written to is enough for writes; for reads every one has to answer.
kit::Readiness Service::readiness() const {
  kit::Readiness state;
  bool any_writable = false;
  for (const auto& volume : core_.volumes().all()) {
    const volume::VolumeHealth health = volume->health();
    any_writable = any_writable || health.writable;
    state.ready = state.ready && health.readable;
    if (!health.reason.empty()) state.missing.push_back(health.reason);
  }
  state.write_ready = any_writable;
  return state;
}

VolumeHooks Service::volume_hooks() {
  return {.coming_writes = &core_.coming_writes(),
          .on_corrupt = [this](const base::ObjectId& id,
                               std::uint64_t group) { core_.note_corrupt(id, group); },
          .on_trouble =
              [this](std::string_view text) {
                const auto silenced = trouble_limit_.admit(host().clock.unix_ms());
                if (silenced)
                  log().warn("volume trouble", {{"what", text}, {"silenced", *silenced}});
              }};
}

platform::Task<base::Result<>> Service::open() {
  auto volumes =
      co_await make_volumes(host(), &topology(), settings(), directories_, volume_hooks());
  if (!volumes) co_return base::fail(std::move(volumes.error()));
  core_.adopt(std::move(*volumes));
  if (announces()) co_return co_await make_announcer();
  co_return base::Result<>();
}

// A node that forgets has nothing to promise.
bool Service::announces() const {
  const auto config = settings();
  return config->announce.enabled && !config->amnesia && !keys_.empty() &&
         (index_ != nullptr || !config->announce.index.empty());
}

platform::Task<base::Result<void>> Service::make_announcer() {
  const auto config = settings();
  auto key = co_await kit::load_node_key(&host().disk, &host().random, keys_);
  if (!key) co_return base::fail(std::move(key.error()));
  if (!config->announce.token_path.empty()) {
    const auto token = co_await kit::read_small_text(&host().disk, config->announce.token_path);
    if (!token) {
      co_return base::fail(token.error().code,
                           "storage.announce.token_path: " + token.error().message);
    }
    index_token_ = *token;
    std::erase_if(index_token_, [](char c) { return c <= ' '; });  // a line feed at the end
  }
  announcer_ = std::make_unique<Announcer>(
      AnnouncerParts{host(), &topology(), &api_, std::move(*key), log()},
      announce_settings(*config));
  add_gauge(metrics::kAnnounceBacklog, [this] { return announcer_->backlog(); });
  add_gauge(metrics::kAnnounceLagSeconds, [this] { return announcer_->lag_ms() / 1000; });
  co_return base::Result<void>();
}

AnnounceSettings Service::announce_settings(const StorageConfig& config) const {
  const AnnounceConfig& announce = config.announce;
  return {.url = announce.url.empty() ? front_url_ : announce.url,
          .region = announce.region,
          .rps = announce.rps,
          .ttl = announce.ttl};
}

void Service::on_front(const kit::Service& front, const kit::Endpoints& at) {
  if (!announcer_) return;
  front_url_ = kit::url_of(front, at);
  if (front_url_.empty() && settings()->announce.url.empty()) {
    log().warn(
        "nothing is announced: the process listens on every address; storage.announce.public_url "
        "says "
        "under which one others find it");
  }
  announcer_->apply(announce_settings(*settings()));
}

platform::Task<void> Service::announce(runtime::Shutdown stop) {
  const std::string elsewhere = settings()->announce.index;
  if (elsewhere.empty()) {
    co_await announcer_->run(index_, std::move(stop));
    co_return;
  }
  index_api::HttpIndex index({.host = host(),
                              .address = *http::UpstreamAddress::parse(elsewhere),
                              .token = index_token_,
                              .trust = trust(),
                              .meters = &meters()});
  co_await announcer_->run(&index, std::move(stop));
}

void Service::apply(const config::Config& config) {
  core_.apply(*config.get(storage_section()));
  if (announcer_) announcer_->apply(announce_settings(*config.get(storage_section())));
}

void Service::start_tasks() {
  using runtime::Shutdown;
  const auto config = settings();
  const auto cores = host().cores;
  start_auditor<StorageEvent>(core_.events(), &Core::tell);
  if (announcer_) {
    start_task(kAnnouncerTask, *cores[0],
               [this](Shutdown stop) { return announce(std::move(stop)); });
  }
  std::size_t core = 0;
  for (volume::DiskVolume* const disk : core_.disks()) {
    start_disk_tasks(disk, *cores[core++ % cores.size()]);
  }
  start_workers(kPutWorkerTask, config->put_workers,
                [this](Shutdown stop) { return core_.put_worker(std::move(stop)); });
  start_workers(kGetWorkerTask, config->get_workers,
                [this](Shutdown stop) { return core_.get_worker(std::move(stop)); });
}

// The writer comes first and stops last: the others, and every worker, wait for it.
void Service::start_disk_tasks(volume::DiskVolume* disk, platform::Executor& core) {
  using runtime::Shutdown;
  start_task(kCommitterTask, core,
             [disk](Shutdown stop) { return disk->committer(std::move(stop)); });
  start_task(kRecovererTask, core,
             [disk](Shutdown stop) { return disk->recoverer(std::move(stop)); });
  start_task(kCompactorTask, core,
             [disk](Shutdown stop) { return disk->compactor(std::move(stop)); });
  start_task(kScrubberTask, core,
             [disk](Shutdown stop) { return disk->scrubber(std::move(stop)); });
}

}  // namespace ron::storage
