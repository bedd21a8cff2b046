// Node: one simulated machine with its own cores, address, disk, clock, signals and blocking pool.
// Services see it as a platform::Host.
#pragma once

#include <cstdint>
#include <vector>

#include "platform/host.h"
#include "platform/sim/devices.h"
#include "platform/sim/disk.h"
#include "platform/sim/executor.h"
#include "platform/sim/key_value.h"
#include "platform/sim/net.h"

namespace ron::platform::sim {

struct NodeOptions {
  std::size_t cores = 1;
  Duration wall_skew{};
  DiskOptions disk = {};
  SimKeyValueOptions key_values = {};
  BlockingOptions blocking = {};
};

class Node {
 public:
  Node(World& world, NodeId id, NodeOptions options);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] Host host() noexcept;
  [[nodiscard]] NodeId id() const noexcept { return id_; }
  // The node's address with this port.
  [[nodiscard]] Endpoint endpoint(std::uint16_t port) const noexcept;

  [[nodiscard]] std::size_t cores() const noexcept { return cores_.size(); }
  [[nodiscard]] Executor& core(std::size_t index = 0) noexcept { return *cores_[index]; }
  [[nodiscard]] SimClock& clock() noexcept { return clock_; }
  [[nodiscard]] SimNet& net() noexcept { return net_; }
  [[nodiscard]] SimResolver& resolver() noexcept { return resolver_; }
  [[nodiscard]] SimDisk& disk() noexcept { return disk_; }
  [[nodiscard]] SimKeyValues& key_values() noexcept { return key_values_; }
  [[nodiscard]] SimSignals& signals() noexcept { return signals_; }
  [[nodiscard]] SimBlocking& blocking() noexcept { return blocking_; }

  // The machine goes dark: connections end without a word, unsynced bytes and names are kept, lost
  // or torn by seed, and so are unflushed batches of key-value maps. Destroy the services that ran
  // on it next, then restart() and build new ones.
  void power_cut();
  void restart();

 private:
  World& world_;
  NodeId id_;
  std::vector<Executor*> cores_;
  SimClock clock_;
  SimRandom random_;
  SimNet net_;
  SimResolver resolver_;
  SimDisk disk_;
  SimKeyValues key_values_;
  SimSignals signals_;
  SimBlocking blocking_;
  NoSendArena send_arena_;
};

}  // namespace ron::platform::sim
