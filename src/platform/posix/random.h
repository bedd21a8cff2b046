// The kernel's random source.
#pragma once

#include "platform/random.h"

namespace ron::platform::posix {

class SystemRandom final : public Random {
 public:
  void fill(base::MutableBytes out) noexcept override;
};

}  // namespace ron::platform::posix
