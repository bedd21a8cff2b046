// Plan: everything a seed decides before its world begins. What happens inside the world then
// follows from the plan and the world's own draws.
//
// A service derives its own plan from this one and adds what its clients deal in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "platform/sim/world.h"
#include "sim/harness/dice.h"

namespace ron::sim {

// KEY=VALUE overrides, as the command line takes them.
using Flags = std::vector<std::string>;

struct ReloadPlan {
  Duration after{};  // since the start of the life
  Flags flags;
  // Held by another process, so that this reload fails and must change nothing.
  std::optional<std::uint16_t> occupied_port{};
};

// One run of the service, from start to stop.
struct LifePlan {
  Flags flags;
  std::vector<ReloadPlan> reloads;
  std::optional<Duration> stop_after;   // none: stopped once the clients are done and audited
  std::optional<Duration> abort_after;  // a second signal, this long after the first
  std::optional<Duration> cut_after;    // the machine loses power, if it still runs then
  std::vector<Duration> task_failures;  // a task of the service is made to fail, at these times
  Duration down_for{};                  // until the next life
};

struct ClientPlan {
  std::uint64_t seed = 0;
  platform::sim::LinkOptions link;
  std::size_t sessions = 1;  // connections at once
  std::size_t rounds = 1;    // connections one after the other
};

// Something done to the world from outside, at a time.
struct Mishap {
  enum class Kind : std::uint8_t { Partition, Deafen, Reset, Vanish };
  Kind kind = Kind::Partition;
  Duration at{};
  std::size_t client = 0;
  Duration lasts{};
};

struct Plan {
  std::uint64_t seed = 0;
  platform::sim::WorldOptions world;
  std::size_t cores = 1;
  bool by_reference = false;  // large bodies live in memory that is sent without copying
  std::vector<LifePlan> lives;
  std::vector<ClientPlan> clients;
  std::size_t helpers = 0;  // machines besides: whoever the service itself calls
  std::vector<Mishap> mishaps;
  std::uint64_t largest_body = 0;  // of any answer
  Duration start_slack{};          // what a slow disk may add to a start

  // What the network alone may add to the time an exchange of `bytes` takes for this client.
  [[nodiscard]] Duration network_slack(const ClientPlan& client, std::size_t bytes) const;
  // Time for things that take none but the cost of their jobs.
  [[nodiscard]] Duration moment() const;
};

// The node of the service; the clients' follow in order, then the helpers', the auditor's last.
inline constexpr platform::sim::NodeId kServerNode = 0;

// Where the service of a plan listens.
struct Ports {
  std::uint16_t bind = 0;
  std::uint16_t admin = 0;
};

// How the lives of a service are drawn. Its keys are `<section>.…`.
struct LifeMaker {
  std::string section;
  Ports ports;
  // Keys that stay as they are for a life, and keys a running service takes over.
  std::function<void(Dice&, Flags&)> add_fixed;
  std::function<void(Dice&, Flags&)> add_hot;

  // A life with its reloads; `last` may end by itself, once its clients are done.
  [[nodiscard]] LifePlan draw(Dice& dice, bool last) const;

 private:
  [[nodiscard]] Flags addresses(const Ports& at) const;
  [[nodiscard]] ReloadPlan draw_reload(Dice& dice, const Flags& fixed, std::uint16_t number) const;
};

// The keys of ServerSettings, hot, within bounds that clients of this world can meet.
// `deadline_ms` and `body_cap` fit what the service has to do.
struct ServerScale {
  std::uint64_t body_cap = 0;
  std::uint64_t least_deadline_ms = 50;
  std::uint64_t most_deadline_ms = 2000;
  std::uint64_t least_drain_ms = 10;
};
void add_server_flags(Dice& dice, const std::string& section, const ServerScale& scale,
                      Flags& flags);

// `120ms`, within bounds.
std::string draw_ms(Dice& dice, std::uint64_t low, std::uint64_t high);

// World, network faults, clients and mishaps: what no service has a say in.
void draw_world(Dice& dice, Plan& plan);
void draw_clients(Dice& dice, std::size_t most, Plan& plan);

}  // namespace ron::sim
