// Planted bugs: known mistakes, put between clients and the index or between it and its disk, to
// see that the simulation finds them. Compiled into the simulation only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "http/router.h"
#include "services/index/core.h"
#include "sim/harness/subject.h"

namespace ron::sim {

// X(name, text, what it does wrong)
#define RON_SIM_INDEX_PLANTS(X)                                                      \
  X(SkipSync, "skip-sync", "acknowledges what it has not synced")                    \
  X(StaleAnswer, "stale-answer", "resolves a name from memory after it has changed") \
  X(LostCas, "lost-cas", "sets a name whatever version was expected")                \
  X(BelieveAnyone, "believe-anyone", "returns the records of strangers")             \
  X(Late, "late", "goes on with a resolve after its deadline")

enum class IndexPlant : std::uint8_t {
  None,
#define RON_X(name, text, what) name,
  RON_SIM_INDEX_PLANTS(RON_X)
#undef RON_X
};

std::span<const PlantInfo> all_index_plants() noexcept;
std::optional<IndexPlant> index_plant_named(std::string_view name) noexcept;

// The routes of the index, with a watch on how long a resolve takes inside the server, and perhaps
// with a mistake. Made for one life, which it outlives.
class WatchedRoutes {
 public:
  // `late` is told of a resolve that took longer than it may, by how much.
  using Late = std::function<void(base::Duration)>;
  WatchedRoutes(IndexPlant plant, Late late) : plant_(plant), late_(std::move(late)) {}
  WatchedRoutes(const WatchedRoutes&) = delete;
  WatchedRoutes& operator=(const WatchedRoutes&) = delete;

  // Once.
  void add(http::Router& router, index::Core& core);

 private:
  platform::Task<http::Response> resolve(http::Request* request);
  platform::Task<http::Response> set_name(http::Request* request);
  platform::Task<http::Response> call(http::Method method, http::Request* request);
  [[nodiscard]] std::optional<std::string> remembered(const http::Request& request) const;

  const IndexPlant plant_;
  const Late late_;
  index::Core* core_ = nullptr;
  std::unique_ptr<runtime::Meters> meters_;
  std::unique_ptr<http::Router> real_;        // the routes as they are
  std::map<std::string, std::string> stale_;  // by path
};

}  // namespace ron::sim
