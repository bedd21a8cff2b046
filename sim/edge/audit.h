// EdgeAuditor: one client that does everything right, in a world without faults or others. What
// origins have is had through the edge, what may be kept is kept, and nothing takes more room than
// it may.
#pragma once

#include <cstdint>
#include <string>

#include "services/edge/core.h"
#include "sim/edge/maps.h"
#include "sim/edge/request.h"
#include "sim/harness/talk.h"

namespace ron::sim {

// Lives in the task that runs it.
class EdgeAuditor {
 public:
  // In this life: then bytes that nobody wants may stay on it until the next. Ever: then what is on
  // it may have rotted.
  struct Disk {
    bool failed = false;
    bool failed_ever = false;
  };
  EdgeAuditor(Talk* talk, const EdgeRequestMaker* maker, const EdgePlan* plan, const Maps* maps,
              edge::Core* core, Disk disk);

  Task<void> run();
  [[nodiscard]] std::uint64_t checked() const noexcept { return checked_; }

 private:
  Task<void> check_url(std::size_t url);
  Task<void> check_map();
  Task<void> check_room();
  Task<std::string> ask(std::size_t url, RequestPolicy policy);
  void expect(bool holds, const std::string& what);

  Talk& talk_;
  Scene& scene_;
  const EdgeRequestMaker& maker_;
  const EdgePlan& plan_;
  const Maps& maps_;
  edge::Core& core_;
  const bool disk_failed_;
  const bool may_have_rotted_;
  Dice dice_;
  std::uint64_t checked_ = 0;
};

}  // namespace ron::sim
