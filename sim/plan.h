// Plan: everything a seed decides before its world begins. What happens inside the world then
// follows from the plan and the world's own draws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/object_id.h"
#include "base/units.h"
#include "platform/sim/world.h"
#include "sim/dice.h"

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

// Content that clients store, ask for and delete. Shared by all of them, so that they meet.
struct Payload {
  std::string bytes;
  base::ObjectId id;
  std::string address;
  std::string gzip;  // the same bytes, encoded
};
Payload make_payload(std::string bytes);
// Random bytes, or (compressible) runs of the same byte.
std::string make_bytes(Dice& dice, std::size_t size, bool compressible);

struct Plan {
  std::uint64_t seed = 0;
  platform::sim::WorldOptions world;
  std::size_t cores = 1;
  bool by_reference = false;  // large objects live in memory that is sent without copying
  std::vector<LifePlan> lives;
  std::vector<ClientPlan> clients;
  std::vector<Mishap> mishaps;
  std::vector<Payload> payloads;  // the last is the auditor's alone

  // What the network alone may add to the time an exchange of `bytes` takes for this client.
  [[nodiscard]] Duration network_slack(const ClientPlan& client, std::size_t bytes) const;
  // Time for things that take none but the cost of their jobs.
  [[nodiscard]] Duration moment() const;
};

// The node of the service; the others follow in order, the auditor's last.
inline constexpr platform::sim::NodeId kServerNode = 0;
inline constexpr std::uint16_t kPort = 8081;
inline constexpr std::uint16_t kAdminPort = 9081;

Plan make_plan(std::uint64_t seed);

}  // namespace ron::sim
