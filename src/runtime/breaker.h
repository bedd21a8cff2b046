// Breaker: stops calling a target that keeps failing, and finds out carefully when it is back.
//
//   Closed --(too many errors in the window)--> Open --(time passed)--> HalfOpen
//   HalfOpen --(all probes succeed)--> Closed        HalfOpen --(one fails)--> Open
//
// Admission is a permit on which the outcome is recorded. An outcome that belongs to an earlier
// state is ignored: a slow failure from before the opening says nothing about the probes.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/units.h"
#include "platform/executor.h"
#include "platform/random.h"
#include "runtime/meter.h"

namespace ron::runtime {

struct BreakerPolicy {
  std::uint32_t error_percent = 50;  // opens at this share of failures in the window
  bool above_only = false;           // not at it, but beyond it
  std::uint32_t min_volume = 20;     // and not below this many outcomes
  base::Duration window = std::chrono::seconds(10);
  base::Duration open_for = std::chrono::seconds(5);
  std::uint32_t open_jitter_percent = 50;  // of open_for: up to this much more, drawn each time
  std::uint32_t probes = 3;                // at once while half open, and successes needed to close
};

enum class BreakerState : std::uint8_t { Closed, Open, HalfOpen };
std::string_view name(BreakerState state) noexcept;

// Any thread; one short mutex, which admission does without while it is closed. Outlives its
// permits. One breaker per target: the state gauge is its own. Open turns into HalfOpen with the
// first call after the wait, not by a timer.
class Breaker {
 public:
  Breaker(Meters& meters, std::string_view target, BreakerPolicy policy, platform::Random& random);
  Breaker(const Breaker&) = delete;
  Breaker& operator=(const Breaker&) = delete;

  // The right to make one call. Dropped unrecorded it counts as cancelled: neither good nor bad,
  // and a probe's place is free again. Of several records the first counts.
  class [[nodiscard]] Permit {
   public:
    Permit() = default;  // for nothing
    Permit(Permit&& other) noexcept
        : breaker_(std::exchange(other.breaker_, nullptr)),
          era_(other.era_),
          probe_(other.probe_),
          place_(other.place_) {}
    Permit& operator=(Permit&& other) noexcept {
      std::swap(breaker_, other.breaker_);
      std::swap(era_, other.era_);
      std::swap(probe_, other.probe_);
      std::swap(place_, other.place_);
      return *this;
    }
    ~Permit() { give_place_back(); }

    void succeeded(platform::TimePoint now) noexcept {
      if (breaker_ != nullptr) std::exchange(breaker_, nullptr)->record(era_, {true, place_}, now);
    }
    void failed(platform::TimePoint now) noexcept {
      if (breaker_ != nullptr) std::exchange(breaker_, nullptr)->record(era_, {false, place_}, now);
    }

    // The breaker is half open and learns from the outcome.
    [[nodiscard]] bool is_probe() const noexcept { return probe_; }
    // Others are refused until its outcome is known.
    [[nodiscard]] bool has_place() const noexcept { return place_; }
    // For a probe whose call waits for its own caller now, and not for the target: another probe
    // may have its place. Its outcome still counts.
    void give_place_back() noexcept {
      if (breaker_ != nullptr && std::exchange(place_, false)) breaker_->free_place(era_);
    }

   private:
    friend class Breaker;
    Permit(Breaker& breaker, std::uint64_t era, bool probe) noexcept
        : breaker_(&breaker), era_(era), probe_(probe), place_(probe) {}

    Breaker* breaker_ = nullptr;
    std::uint64_t era_ = 0;
    bool probe_ = false;
    bool place_ = false;  // one of the few that probes have
  };

  // BreakerOpen, with the seconds to wait, while the target is given its rest or all probes are
  // out.
  [[nodiscard]] base::Result<Permit> admit(platform::TimePoint now);
  // The same for a caller who has another target to turn to: a refusal has no reason and is not
  // counted.
  [[nodiscard]] std::optional<Permit> try_admit(platform::TimePoint now);
  [[nodiscard]] BreakerState state() const;

 private:
  static constexpr std::int64_t kBuckets = 10;
  struct Bucket {
    std::int64_t number = std::numeric_limits<std::int64_t>::min();  // which slice of time
    std::uint64_t good = 0;
    std::uint64_t bad = 0;
  };

  [[nodiscard]] std::optional<Permit> admit_closed() noexcept;
  [[nodiscard]] std::optional<Permit> admit_locked(platform::TimePoint now) noexcept;
  struct Outcome {
    bool good;
    bool has_place;
  };
  void record(std::uint64_t era, Outcome outcome, platform::TimePoint now) noexcept;
  void free_place(std::uint64_t era) noexcept;
  base::Error refusal(base::Duration wait);
  void count(bool good, platform::TimePoint now) noexcept;
  [[nodiscard]] bool too_many_errors(platform::TimePoint now) const noexcept;
  [[nodiscard]] std::int64_t bucket_number(platform::TimePoint now) const noexcept;
  void open(platform::TimePoint now) noexcept;
  void enter(BreakerState state) noexcept;

  const BreakerPolicy policy_;
  const std::string target_;
  std::array<Gauge*, 3> gauges_;  // by BreakerState
  Counter& refused_;
  std::atomic<std::uint64_t> closed_era_{0};  // era_ while closed, else 0

  mutable std::mutex mutex_;
  platform::FastRandom jitter_;  // guarded by mutex_, as the rest
  BreakerState state_ = BreakerState::Closed;
  std::uint64_t era_ = 0;  // counts state changes
  std::array<Bucket, kBuckets> buckets_{};
  platform::TimePoint open_until_{};
  std::uint32_t probing_ = 0;  // probes out that have a place
  std::uint32_t proven_ = 0;   // probes that succeeded
};

}  // namespace ron::runtime
