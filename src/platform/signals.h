// Signals: what an operator tells the process. Terminate drains, a second one aborts, reload
// re-reads the configuration.
#pragma once

#include <cstdint>

#include "platform/wait.h"

namespace ron::platform {

enum class Signal : std::uint8_t { None, Terminate, Reload };

class Signals {
 public:
  Signals() = default;
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  virtual ~Signals() = default;

  // The oldest signal not taken yet, or None. Executor thread of the supervisor only.
  virtual Signal take() noexcept = 0;
  [[nodiscard]] Event& arrived() noexcept { return arrived_; }

 protected:
  Event arrived_;
};

}  // namespace ron::platform
