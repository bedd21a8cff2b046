#include "services/edge/core.h"

#include <utility>

#include "services/edge/wires.h"

namespace ron::edge {

using base::Result;
using platform::Task;

Core::Core(CoreParts parts, SettingsPtr config)
    : send_arena_(parts.host.send_arena),
      settings_(*parts.topology, kSettings, config),
      events_(*parts.topology, kEvents, config->events_capacity),
      rejects_(parts.topology->meters()),
      loader_(*parts.topology, *config),
      packs_(parts_for(parts), parts.open_pack),
      pack_orders_(parts_for(parts), packs_),
      pack_keeper_(parts_for(parts), packs_, pack_orders_),
      sites_(parts_for(parts)),
      assets_(parts_for(parts)) {}

EdgeParts Core::parts_for(const CoreParts& parts) {
  return {.host = parts.host,
          .topology = parts.topology,
          .directory = parts.directory,
          .tls = parts.tls,
          .log = parts.log,
          .settings = &settings_,
          .events = &events_,
          .loader = &loader_,
          .rejects = &rejects_};
}

Task<Result<>> Core::open() {
  const Result<> assets = co_await assets_.open();
  if (!assets) co_return base::fail(assets.error());
  const Result<> packs = co_await pack_orders_.open();
  if (!packs) co_return base::fail(packs.error());
  co_return co_await sites_.open();
}

void Core::apply(SettingsPtr config) {
  settings_.set(config);
  loader_.apply(*config);
  assets_.apply(*config);
  packs_.apply(*config);
  sites_.apply(*config);
}

}  // namespace ron::edge
