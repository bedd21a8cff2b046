// ClientPatience: how long a client may be waited for by a request that has a slot others want.
//
// Each byte the client sends or takes renews it a little, so that a client as fast as most are
// keeps the slot, and one that drips loses it after kWhole, however evenly it drips.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/units.h"

namespace ron::gateway {

class ClientPatience {
 public:
  static constexpr base::Duration kWhole = std::chrono::milliseconds(25);
  // So many bytes renew all of it.
  static constexpr std::uint64_t kBytes = 64 * base::kKiB;

  [[nodiscard]] base::Duration left() const noexcept { return left_; }
  // The client was waited for, and then sent or took so many bytes.
  void note(base::Duration waited, std::uint64_t bytes) noexcept {
    const auto moved = static_cast<std::int64_t>(std::min(bytes, kBytes));
    const base::Duration renewed = kWhole * moved / static_cast<std::int64_t>(kBytes);
    left_ = std::min(kWhole, std::max(base::Duration(), left_ - waited) + renewed);
  }

 private:
  base::Duration left_ = kWhole;
};

}  // namespace ron::gateway
