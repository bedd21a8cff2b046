#include "services/index/hedge.h"

#include <algorithm>
#include <cassert>

namespace ron::index {

HedgeTally::HedgeTally(HedgePolicy policy, std::uint32_t candidates) noexcept
    : policy_(policy), candidates_(candidates) {
  assert(policy.alpha > 0 && policy.quorum > 0);
}

std::uint32_t HedgeTally::most() const noexcept {
  return std::min(candidates_, policy_.alpha + (hedging_ ? policy_.beta : 0));
}

bool HedgeTally::wants_another() const noexcept { return !won() && asked_ < most(); }

bool HedgeTally::can_hedge() const noexcept {
  return !hedging_ && policy_.beta > 0 && candidates_ > policy_.alpha;
}

bool HedgeTally::lost() const noexcept { return !wants_another() && !can_hedge() && !in_reach(); }

// Those asked cannot make the quorum any more: waiting for the hedge would be waiting for nothing.
void HedgeTally::answer(const base::Error* error) {
  if (error == nullptr) {
    ++good_;
  } else if (error->code == base::Code::NotFound) {
    ++no_;
  } else {
    ++failed_;
    if (!failure_) failure_ = *error;
  }
  if (asked_ == most() && !in_reach() && can_hedge()) hedge();
}

base::Error HedgeTally::verdict() const {
  if (no_ >= policy_.quorum || !failure_) {
    return {base::Code::NotFound, "none of the servers that were asked knows it"};
  }
  return *failure_;
}

}  // namespace ron::index
