#include "services/registry/service.h"

#include <utility>

#include "platform/memory_disk.h"
#include "services/kit/key_file.h"
#include "services/registry/admin_routes.h"
#include "services/registry/lists.h"
#include "services/registry/metric_names.h"
#include "services/registry/wires.h"

namespace ron::registry {
namespace {

// What is kept in memory at most in amnesia mode.
constexpr std::uint64_t kAmnesiaBytes = 256 * base::kMiB;

std::unique_ptr<kit::Service> make(kit::ServiceParts parts, std::string directory) {
  std::string keys = kit::keys_directory(*parts.config, directory);
  return std::make_unique<Service>(std::move(parts),
                                   Directories{std::move(directory), std::move(keys)});
}

}  // namespace

constinit const kit::ServiceKind kKind{
    .name = "registry",
    .help = "signed, approved and chained descriptors under /registry",
    .wires = &kWires,
    .life = metrics::kLife,
    .metrics = metrics::kAll,
    .lists = kLists,
    .section = kit::section_of<registry_section>,
    .settings = kit::settings_of<registry_section>,
    .make = make,
    .dials = true};

Service::Service(kit::ServiceParts parts, Directories directories, const RouteAdder& routes)
    : ServiceBase(std::move(parts), kKind),
      keys_(directories.keys),
      core_(core_parts(std::move(directories)), settings()),
      otel_({host(), &topology(), trust(), log()}) {
  routes(router(), core_);
  trace_to(otel_.spans());
  add_gauges_of_core();
}

Service::~Service() = default;

CoreParts Service::core_parts(Directories directories) {
  const auto config = settings();
  if (config->amnesia) {
    memory_ = std::make_unique<platform::MemoryDisk>(kAmnesiaBytes);
    directories.data = "/registry";
  }
  StoreOptions store{.directory = std::move(directories.data),
                     .keys = std::move(directories.keys),
                     .segment_bytes = config->storage.segment_bytes.bytes,
                     .signers = genesis_signers(*config),
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
          .log = log()};
}

void Service::add_operator_routes(http::Router& router) {
  registry::add_operator_routes(router, core_);
}

void Service::add_gauges_of_core() {
  add_gauge(metrics::kVersion, [this] {
    const HeadPtr head = core_.views().head();
    return head ? head->head.version : 0;
  });
  add_gauge(metrics::kFirstVersion, [this] { return core_.first_version(); });
  add_gauge(metrics::kPending, [this] { return core_.views().pending_count(); });
  add_gauge(metrics::kCheckpointVersion, [this] {
    const CheckpointPtr latest = core_.checkpoints().latest();
    return latest ? latest->checkpoint.version : 0;
  });
  add_gauge(metrics::kVerifiedVersion, [this] {
    const std::uint64_t below = core_.verified_below();
    return below == 0 ? 0 : below - 1;
  });
  add_gauge(metrics::kStreams, [this] { return core_.streams().open(); });
  add_gauge(metrics::kSignerExpiry, [this] { return core_.signer_expiry_s(); });
}

// Reads go on as long as HEAD is known, whatever keeps writes from it.
kit::Readiness Service::readiness() const {
  kit::Readiness state;
  state.missing = core_.missing_for_writes();
  state.write_ready = state.missing.empty();
  return state;
}

platform::Task<base::Result<>> Service::open() {
  const auto is_new = co_await core_.open();
  if (!is_new) co_return base::fail(is_new.error());
  if (settings()->amnesia && settings()->genesis_signers.empty()) {
    log().warn(
        "nobody can approve anything: in amnesia mode no signer's key is kept; name signers in "
        "registry.genesis.signers");
  } else if (*is_new && settings()->genesis_signers.empty()) {
    log().warn(
        "a new log was begun with three signer keys; move them to the machines of three people",
        {{"directory", keys_ + "/signers"}});
  }
  co_return base::Result<>();
}

void Service::apply(const config::Config& config) {
  const auto next = config.get(registry_section());
  otel_.apply(next->otel.enabled, next->otel.endpoint);
  core_.apply(next);
}

void Service::start_tasks() {
  using runtime::Shutdown;
  start_auditor<RegistryEvent>(core_.events(), tell);
  const auto start = [this](const runtime::TaskDecl& decl,
                            platform::Task<void> (Core::*body)(Shutdown)) {
    start_task(decl, *host().cores[0],
               [this, body](Shutdown stop) { return (core_.*body)(std::move(stop)); });
  };
  start_task(kit::kOtelTask, *host().cores[0],
             [this](Shutdown stop) { return otel_.run(std::move(stop)); });
  start(kCommitterTask, &Core::run_committer);
  start(kRetentionTask, &Core::run_retention);
  start(kCheckpointorTask, &Core::run_checkpointor);
  start(kVerifierTask, &Core::run_verifier);
  start(kPublisherTask, &Core::run_publisher);
  start(kConfigReloaderTask, &Core::run_config_reloader);
}

}  // namespace ron::registry
