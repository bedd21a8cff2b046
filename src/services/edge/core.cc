#include "services/edge/core.h"

#include <string>
#include <utility>

#include "services/edge/wires.h"

namespace ron::edge {
namespace {

void note_missing(kit::Readiness& state, std::string what, std::size_t running,
                  std::size_t wanted) {
  if (running >= wanted) return;
  what += std::to_string(running) + " of " + std::to_string(wanted);
  state.missing.push_back(std::move(what));
}

}  // namespace

using base::Result;
using platform::Task;

Core::Core(CoreParts parts, SettingsPtr config)
    : send_arena_(parts.host.send_arena),
      settings_(*parts.topology, kSettings, config),
      events_(*parts.topology, kEvents, config->events_capacity),
      rejects_(parts.topology->meters()),
      loader_(*parts.topology, *config),
      fetcher_(parts_for(parts)),
      cors_(parts_for(parts)),
      packs_(parts_for(parts), parts.open_pack),
      pack_orders_(parts_for(parts), packs_),
      pack_keeper_(parts_for(parts), packs_, pack_orders_),
      sites_(parts_for(parts)),
      assets_(parts_for(parts)),
      workers_wanted_(config->workers),
      loaders_wanted_(config->loaders) {}

EdgeParts Core::parts_for(const CoreParts& parts) {
  return {.host = parts.host,
          .topology = parts.topology,
          .directory = parts.directory,
          .tls = parts.tls,
          .log = parts.log,
          .settings = &settings_,
          .events = &events_,
          .loader = &loader_,
          .rejects = &rejects_,
          .origins = parts.origins != nullptr ? parts.origins : &fetcher_};
}

Task<Result<>> Core::open() {
  const Result<> assets = co_await assets_.open();
  if (!assets) co_return base::fail(assets.error());
  const Result<> packs = co_await pack_orders_.open();
  if (!packs) co_return base::fail(packs.error());
  co_return co_await sites_.open();
}

Task<void> Core::dial(std::size_t core, runtime::Shutdown shutdown) {
  co_await sites_.dial(core, shutdown);
  co_await fetcher_.dial(core, shutdown);
}

void Core::apply(SettingsPtr config) {
  settings_.set(config);
  loader_.apply(*config);
  cors_.apply(*config);
  assets_.apply(*config);
  packs_.apply(*config);
  sites_.apply(*config);
  workers_.ask_for(config->debug_fail_workers);
  loaders_.ask_for(config->debug_fail_workers);
}

kit::Readiness Core::readiness() const {
  kit::Readiness state;
  const std::size_t workers = workers_.running();
  const std::size_t loaders = loaders_.running();
  note_missing(state, "worker: ", workers, workers_wanted_);
  note_missing(state, "loader: ", loaders, loaders_wanted_);
  if (loader_.is_crowded()) state.missing.emplace_back("queue: full");
  if (const AssetStore* const store = assets_.store()) {
    const volume::VolumeHealth health = store->health();
    if (!health.reason.empty()) state.missing.push_back("cache: " + health.reason);
  }
  state.write_ready = state.missing.empty();
  state.ready = workers > 0 && loaders > 0;
  // A pack or a site that is not there is one answer of many: the rest is served, whoever is asked.
  for (std::string& what : packs_.missing()) state.missing.push_back(std::move(what));
  for (std::string& what : sites_.missing()) state.missing.push_back(std::move(what));
  state.degraded = !state.missing.empty();
  return state;
}

// What other parts refuse by a rule they count themselves.
void Core::note_error(std::string_view code) noexcept {
  using base::Code;
  const auto is = [code](Code one) { return code == base::info(one).name; };
  if (is(Code::RateLimited)) rejects_.count(Reject::RateLimit);
  if (is(Code::BadRange) || is(Code::RangeNotSatisfiable)) rejects_.count(Reject::InvalidRange);
  if (is(Code::Timeout)) rejects_.count(Reject::Timeout);
}

}  // namespace ron::edge
