// GatewayAuditor: one client that does everything right, in a world without faults or other
// clients, in front of upstreams that are well again. So nothing may be refused to it, breakers
// close, and nothing is left of those who went: a turn, a slot or a connection that was lost on the
// way shows here.
#pragma once

#include <string>

#include "sim/gateway/plan.h"
#include "sim/gateway/request.h"
#include "sim/gateway/witness.h"
#include "sim/harness/talk.h"

namespace ron::sim {

// Lives in the task that runs it.
class GatewayAuditor {
 public:
  GatewayAuditor(Talk* talk, const GatewayRequests* requests, const GatewayPlan* plan,
                 const Witness* witness);

  Task<void> run();

 private:
  Task<void> ask_group(std::size_t group);
  Task<void> ask_storage();
  Task<bool> ask(std::unique_ptr<GatewayRequest> request, std::string wanted);
  [[nodiscard]] Duration pause() const;
  [[nodiscard]] std::size_t rounds() const;

  Talk& talk_;
  Scene& scene_;
  const GatewayRequests& requests_;
  const GatewayPlan& plan_;
  const Witness& witness_;
  Dice dice_;
};

}  // namespace ron::sim
