// Power: whether a simulated device has any, and how often it was cut. What an operation began
// before a cut never takes effect after it.
#pragma once

#include <cstdint>

namespace ron::platform::sim {

struct Power {
  bool on = true;
  std::uint64_t cuts = 0;

  void cut() noexcept {
    on = false;
    ++cuts;
  }
};

}  // namespace ron::platform::sim
