// Refusals: what the service refused for want of room, and whether there really was none.
//
// Looks at the service after every step of the world. Whenever it has counted a refusal, the queue
// or limit that it names is read there and then: nothing can have left it since, as a step is one
// job and the job that was refused takes nothing out. A client's `Busy` is right only if it was
// witnessed here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/sim/world.h"
#include "runtime/meter.h"
#include "runtime/topology.h"
#include "sim/harness/timeline.h"

namespace ron::sim {

// How much of something is in use.
struct Level {
  std::uint64_t used;
  std::uint64_t most;
};

class Refusals {
 public:
  // The level of what only the service can tell; nothing: it is an ordinary queue.
  using Measure = std::function<std::optional<Level>(std::string_view detail)>;

  explicit Refusals(platform::sim::World& world) : world_(world) {}
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  // A service begins; it must be left before it goes.
  void watch(runtime::Meters& meters, const runtime::Topology& topology, const Timeline& timeline,
             Measure measure = {});
  void leave() noexcept { meters_ = nullptr; }
  // After a step. What was refused although there was room, if anything was.
  std::optional<std::string> look();

  // Something was refused for want of what the detail names (`max_conns`, `max_inflight`, the name
  // of a queue) within this time. Empty: for want of anything.
  [[nodiscard]] bool any(std::string_view detail, TimePoint begin, TimePoint end) const;
  // For tests of judges.
  void add(std::string detail, TimePoint at) { seen_.push_back({std::move(detail), at}); }
  [[nodiscard]] std::size_t seen() const noexcept { return seen_.size(); }

 private:
  struct Watched {
    std::string detail;  // as the error says it
    const runtime::Counter* refused;
    std::uint64_t before;
  };
  struct Seen {
    std::string detail;
    TimePoint at;
  };

  [[nodiscard]] Level level(const Watched& watched) const;
  [[nodiscard]] std::uint64_t gauge(std::string_view name) const;
  [[nodiscard]] std::uint64_t least(std::uint64_t http::ServerSettings::* limit) const;

  platform::sim::World& world_;
  const Timeline* timeline_ = nullptr;
  const runtime::Meters* meters_ = nullptr;  // null: nobody is watched
  const runtime::Topology* topology_ = nullptr;
  Measure measure_;
  std::vector<Watched> watched_;
  std::vector<Seen> seen_;
};

}  // namespace ron::sim
