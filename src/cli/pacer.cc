#include "cli/pacer.h"

#include <algorithm>
#include <chrono>

namespace ron::cli {
namespace {

using platform::TimePoint;

// What servers keep for clients that have paused (http/ingress.cc).
constexpr base::Duration kBurst = std::chrono::seconds(1);
// Of the rate: requests do not arrive as evenly as they are sent.
constexpr double kShare = 0.99;
constexpr double kSlower = 0.85;  // after a refusal
constexpr double kFaster = 0.05;  // of the whole rate, in each second without one
constexpr double kSlowestShare = 0.01;

double seconds(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

TimePoint Pacer::next(TimePoint now) noexcept {
  ++in_flight_;
  next_ = std::max(next_, now - kBurst);
  const TimePoint due = std::max(next_, now);
  if (most_ == 0) return due;
  rate_ = std::min(most_, rate_ + most_ * kFaster * seconds(now - raised_));
  raised_ = now;
  next_ += std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(1 / rate_));
  return due;
}

void Pacer::refused(TimePoint now, TimePoint sent, std::uint64_t most_per_second,
                    base::Duration wait) noexcept {
  // Sent before the last lesson was learnt: nothing new.
  if (sent < lowered_) return;
  if (most_per_second == 0) {
    next_ = std::max(next_, now + wait);
    lowered_ = now;
    return;
  }
  const double most = static_cast<double>(most_per_second) * kShare;
  rate_ = most == most_ ? std::max(rate_ * kSlower, most * kSlowestShare) : most;
  most_ = most;
  raised_ = lowered_ = now;
  // Those in flight are on the server's account already, or will be.
  const std::chrono::duration<double> taken(
      static_cast<double>(std::max<std::int64_t>(in_flight_, 0)) / rate_);
  next_ = std::max(next_, now + std::chrono::duration_cast<base::Duration>(taken));
}

}  // namespace ron::cli
