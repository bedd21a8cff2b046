// EdgeAuditor: one client that does everything right, in a world without faults or others. What
// origins have is had through the edge, what may be kept is kept, and nothing takes more room than
// it may.
#pragma once

#include <cstdint>
#include <string>

#include "services/edge/core.h"
#include "sim/edge/request.h"
#include "sim/harness/talk.h"

namespace ron::sim {

// Lives in the task that runs it.
class EdgeAuditor {
 public:
  // `disk_failed` in this life: then bytes that nobody wants may stay on it until the next.
  EdgeAuditor(Talk* talk, const EdgeRequestMaker* maker, const EdgePlan* plan, edge::Core* core,
              bool disk_failed);

  Task<void> run();
  [[nodiscard]] std::uint64_t checked() const noexcept { return checked_; }

 private:
  Task<void> check_url(std::size_t url);
  Task<void> check_room();
  Task<std::string> ask(std::size_t url, RequestPolicy policy);
  void expect(bool holds, const std::string& what);

  Talk& talk_;
  Scene& scene_;
  const EdgeRequestMaker& maker_;
  const EdgePlan& plan_;
  edge::Core& core_;
  const bool disk_failed_;
  Dice dice_;
  std::uint64_t checked_ = 0;
};

}  // namespace ron::sim
