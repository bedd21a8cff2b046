#include "platform/sim/node.h"

#include "platform/sim/world.h"

namespace ron::platform::sim {

Node::Node(World& world, NodeId id, NodeOptions options)
    : world_(world),
      id_(id),
      clock_(world, options.wall_skew),
      random_(world.seed() ^ (0xD1B54A32D192ED03ULL * (id + 1))),
      net_(world, id),
      resolver_(blocking_),
      disk_(world, id, options.disk),
      key_values_(world, id, options.key_values),
      signals_(world, id),
      blocking_(world, id, options.blocking) {
  for (std::size_t i = 0; i < options.cores; ++i) cores_.push_back(&world.add_core());
}

Host Node::host() noexcept {
  return {cores_, clock_,      random_,  net_,      resolver_,
          disk_,  key_values_, signals_, blocking_, send_arena_};
}

Endpoint Node::endpoint(std::uint16_t port) const noexcept {
  Endpoint endpoint = net_.address();
  endpoint.port = port;
  return endpoint;
}

void Node::power_cut() {
  world_.trace(TraceKind::PowerCut, id_);
  world_.network().power_off(id_);
  disk_.power_cut();
  key_values_.power_cut();
  blocking_.power_cut();
}

void Node::restart() {
  world_.trace(TraceKind::Restart, id_);
  disk_.restart();
  key_values_.restart();
  world_.network().power_on(id_);
}

}  // namespace ron::platform::sim
