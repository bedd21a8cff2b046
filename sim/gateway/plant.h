// Planted bugs: known mistakes, put between the routes and the core of the gateway, to see that the
// simulation finds them. Compiled into the simulation only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "http/router.h"
#include "services/gateway/core.h"
#include "sim/harness/subject.h"

namespace ron::sim {

// X(name, text, what it does wrong)
#define RON_SIM_GATEWAY_PLANTS(X)                                                                  \
  X(MixedAnswers, "mixed-answers", "gives the bodies of two answers to each other's clients")      \
  X(RepeatedPost, "repeated-post", "sends a POST again whose answer failed")                       \
  X(ForgivingBody, "forgiving-body", "ends a body that broke off as if it were whole")             \
  X(LostTicket, "lost-ticket", "passes a turn on to a request that has given up waiting")          \
  X(SlotLeak, "slot-leak", "does not give back the slot of an answer that was cut off")            \
  X(EagerRetry, "eager-retry", "sends a GET that failed again at once, without asking the budget") \
  X(BareRefusal, "bare-refusal", "says 429 without a receipt")                                     \
  X(HidesFailure, "hides-failure", "says that an upstream is unavailable when it has no route")

enum class GatewayPlant : std::uint8_t {
  None,
#define RON_X(name, text, what) name,
  RON_SIM_GATEWAY_PLANTS(RON_X)
#undef RON_X
};

std::span<const PlantInfo> all_gateway_plants() noexcept;
std::optional<GatewayPlant> gateway_plant_named(std::string_view name) noexcept;

// The core of the gateway with one mistake. Outlives the routers it was added to.
class PlantedCore {
 public:
  static std::unique_ptr<PlantedCore> make(GatewayPlant plant, gateway::Core& core);

  explicit PlantedCore(gateway::Core& core) : core_(core) {}
  PlantedCore(const PlantedCore&) = delete;
  PlantedCore& operator=(const PlantedCore&) = delete;
  virtual ~PlantedCore() = default;

  void add_routes(http::Router& router);
  virtual platform::Task<http::Response> serve(http::Request* request) {
    return core_.serve(request);
  }

 protected:
  gateway::Core& core_;
};

}  // namespace ron::sim
