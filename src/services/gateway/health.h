// Health: what the gateway can do now. Writes are shed before reads suffer.
//
// Degraded means that something is missing which comes back by itself: a worker that is being
// restarted, or room in the queue. Until then writes are told so (503) and reads go on. It is not
// ready at all only when reads cannot be served either.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/units.h"
#include "platform/executor.h"
#include "runtime/lock.h"
#include "services/gateway/wires.h"
#include "services/kit/service.h"

namespace ron::gateway {

// What there is, against what there should be.
struct Vitals {
  std::size_t workers = 0;
  std::size_t workers_wanted = 0;
  bool scheduler = false;
  std::size_t waiting = 0;
  std::size_t waiting_most = 0;
  std::vector<std::string> lost_upstreams;  // groups without a member that can be used
  std::size_t upstreams = 0;
};

// One writer; read by any core.
class Health {
 public:
  // A queue that is three quarters full sheds writes; it takes them again at half.
  static constexpr std::size_t kShedAbove = 75;
  static constexpr std::size_t kTakeBelow = 50;

  // True when degraded has turned into well or the other way round.
  bool note(const Vitals& vitals);

  [[nodiscard]] bool sheds_writes() const noexcept {
    return degraded_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] kit::Readiness readiness() const;

 private:
  std::atomic<bool> degraded_ = false;
  std::atomic<bool> serving_ = true;
  mutable runtime::Lock lock_{kHealthLock};
  std::vector<std::string> missing_;  // guarded by lock_
  bool crowded_ = false;              // the writer's
};

}  // namespace ron::gateway
