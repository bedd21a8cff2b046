// Planted bugs: known mistakes, put between the routes and the core of a service or between it and
// its disk, to see that the simulation finds them. Compiled into the simulation only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "http/router.h"
#include "services/storage/object_store.h"
#include "sim/harness/subject.h"

namespace ron::sim {

// X(name, text, what it does wrong)
#define RON_SIM_PLANTS(X)                                                                        \
  X(AckEarly, "ack-early", "takes a put that timed out for one that will still be done")         \
  X(ShortKey, "short-key", "remembers the last read by four bits of its address")                \
  X(SharedBuffer, "shared-buffer", "sends every answer of a core from the same piece of memory") \
  X(LostWakeup, "lost-wakeup", "passes a turn on to a put that has given up waiting")            \
  X(HastyDeadline, "hasty-deadline", "gives a put half of the time that it has")                 \
  X(KeepsAnyway, "keeps-anyway", "says that an object is gone before it is")                     \
  X(StaleCache, "stale-cache", "still has in memory what was removed")                           \
  X(PermitLeak, "permit-leak", "does not give back the place of a put that failed")              \
  X(SkipSync, "skip-sync", "acknowledges what it has not synced")                                \
  X(ForeignHolds, "foreign-holds", "removes what others hold together with the caller's hold")

enum class Plant : std::uint8_t {
  None,
#define RON_X(name, text, what) name,
  RON_SIM_PLANTS(RON_X)
#undef RON_X
};

std::span<const PlantInfo> all_plants() noexcept;
std::optional<Plant> plant_named(std::string_view name) noexcept;

// The routes of svc-storage with one mistake. Outlives the router it was given.
class Planted {
 public:
  Planted(Plant plant, http::Router& router, storage::ObjectStore& api);
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;
  ~Planted();

 private:
  class Mangler;
  std::unique_ptr<storage::ObjectStore> faulty_;
  std::unique_ptr<Mangler> mangler_;
};

}  // namespace ron::sim
