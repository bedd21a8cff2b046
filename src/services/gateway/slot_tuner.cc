#include "services/gateway/slot_tuner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace ron::gateway {

SlotTuner::SlotTuner(std::size_t most) noexcept
    : most_(most), slots_(std::min(most, kFirst)), base_(slots_) {}

void SlotTuner::set_most(std::size_t most) noexcept {
  if (most == most_) return;
  most_ = most;
  base_ = std::min(most, std::max(base_, kFirst));
  grows_ = true;
  resting_ = rest_ = 1;
  begin(Step::Base, base_);
}

std::size_t SlotTuner::more() const noexcept {
  const std::size_t step = grows_ ? base_ : std::max<std::size_t>(1, base_ / 4);
  return std::min(most_, base_ + step);
}
std::size_t SlotTuner::fewer() const noexcept {
  return std::max<std::size_t>(1, base_ - std::max<std::size_t>(1, base_ / 4));
}

void SlotTuner::begin(Step step, std::size_t slots) noexcept {
  step_ = step;
  slots_ = slots;
  is_fresh_ = true;
  is_warm_ = false;
}

void SlotTuner::observe(platform::TimePoint now, std::uint64_t ended, bool is_backlogged) noexcept {
  if (most_ == 1) return;
  if (is_fresh_ || !is_backlogged) {
    is_fresh_ = false;
    is_warm_ = false;
    from_turn_ = ended;
    return;
  }
  const std::uint64_t turns = ended - from_turn_;
  if (!is_warm_) {
    if (turns < 2 * std::max(slots_, base_)) return;
    is_warm_ = true;
    from_turn_ = ended;
    from_ = now;
    return;
  }
  if (now - from_ < kLeastTime || turns < std::max(kLeastTurns, kTurnsPerSlot * slots_)) return;
  measured(static_cast<double>(turns) / std::chrono::duration<double>(now - from_).count());
}

void SlotTuner::measured(double throughput) noexcept {
  switch (step_) {
    case Step::Base:
      if (std::abs(throughput - base_throughput_) > kChanged * base_throughput_) {
        rest_ = resting_ = 1;
      }
      base_throughput_ = throughput;
      if (--resting_ > 0) return begin(Step::Base, base_);
      return begin(more() > base_ ? Step::More : Step::Fewer, more() > base_ ? more() : fewer());
    case Step::More:
      if (throughput > base_throughput_ * (1 + kWorth)) {
        base_ = slots_;
        base_throughput_ = throughput;
        rest_ = resting_ = 1;
        if (more() > base_) return begin(Step::More, more());
        return begin(Step::Base, base_);
      }
      // In large steps it may have been too far: the small ones come next.
      if (std::exchange(grows_, false) && more() < slots_) return begin(Step::More, more());
      return begin(Step::Fewer, fewer());
    case Step::Fewer:
      grows_ = false;
      if (slots_ == base_ || throughput < base_throughput_ * (1 - kWorth)) return rest();
      base_ = slots_;
      base_throughput_ = std::max(base_throughput_, throughput);
      rest_ = resting_ = 1;
      return begin(Step::Fewer, fewer());
  }
}

void SlotTuner::rest() noexcept {
  rest_ = std::min(2 * rest_, kLongestRest);
  resting_ = rest_;
  begin(Step::Base, base_);
}

}  // namespace ron::gateway
