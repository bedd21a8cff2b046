// Planted bugs: known mistakes, put between clients and the edge or between it and its origins, to
// see that the simulation finds them. Compiled into the simulation only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "http/router.h"
#include "services/edge/core.h"
#include "sim/harness/subject.h"

namespace ron::sim {

// X(name, text, what it does wrong)
#define RON_SIM_EDGE_PLANTS(X)                                                               \
  X(PartialBody, "partial-body", "keeps what had come of an answer that broke off")          \
  X(JoinTries, "join-tries", "puts what came of a second try behind what came of the first") \
  X(NoSingleFlight, "no-single-flight", "asks an origin once for each who wants the same")   \
  X(AnyAddress, "any-address", "connects to private addresses")                              \
  X(FreshForever, "fresh-forever", "takes for fresh what is not any more")                   \
  X(SharePrivate, "share-private", "gives to many what was meant for one")                   \
  X(AlwaysSame, "always-same", "takes every copy for confirmed")                             \
  X(OldTiles, "old-tiles", "answers with tiles of a pack that was replaced")                 \
  X(TornCopy, "torn-copy", "answers from disk with what was neither synced nor checked")

enum class EdgePlant : std::uint8_t {
  None,
#define RON_X(name, text, what) name,
  RON_SIM_EDGE_PLANTS(RON_X)
#undef RON_X
};

std::span<const PlantInfo> all_edge_plants() noexcept;
std::optional<EdgePlant> edge_plant_named(std::string_view name) noexcept;

// What a cache without checks has on disk, by tag: the number of the life that wrote it there.
using CarelessCopies = std::map<std::string, unsigned>;

// The routes of the edge, perhaps with a mistake. Made for one life, which it outlives.
class PlantedRoutes {
 public:
  PlantedRoutes(EdgePlant plant, platform::Disk& disk, CarelessCopies& copies, unsigned life)
      : plant_(plant), disk_(disk), copies_(copies), life_(life) {}
  PlantedRoutes(const PlantedRoutes&) = delete;
  PlantedRoutes& operator=(const PlantedRoutes&) = delete;

  // Once.
  void add(http::Router& router, edge::Core& core);

 private:
  platform::Task<http::Response> alone(http::Request* request);
  platform::Task<http::Response> from_memory(http::Request* request);
  platform::Task<http::Response> careless(http::Request* request);
  platform::Task<void> write_down(std::string tag, std::string bytes);
  platform::Task<std::optional<std::string>> read_back(std::string tag, std::size_t length);
  platform::Task<http::Response> call(http::Request* request);

  const EdgePlant plant_;
  platform::Disk& disk_;
  CarelessCopies& copies_;
  const unsigned life_;
  std::unique_ptr<runtime::Meters> meters_;
  std::unique_ptr<http::Router> real_;        // the routes as they are
  std::map<std::string, std::string> tiles_;  // by path
};

}  // namespace ron::sim
