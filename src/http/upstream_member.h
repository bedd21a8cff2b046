// UpstreamMember: one server of an upstream group, and what is known of its health.
//
// Four things keep requests from it, each with its own way back: an operator drained it; its probes
// failed (down, until they succeed); requests failed in a row (ejected, for a time); its circuit
// breaker is open. The breaker is asked last, with the right to send one request.
//
// Any thread. What every request looks at is atomic; a short mutex guards what changes when
// something fails. Outlives its attempts.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "base/units.h"
#include "http/upstream_address.h"
#include "http/upstream_metrics.h"
#include "http/upstream_policy.h"
#include "platform/executor.h"
#include "platform/random.h"
#include "runtime/breaker.h"
#include "runtime/meter.h"

namespace ron::http {

enum class UpstreamState : std::uint8_t { Healthy, Down, Ejected, Drained };
std::string_view name(UpstreamState state) noexcept;

// How many members of a group may be ejected at once. Any thread.
class EjectionPlaces {
 public:
  explicit EjectionPlaces(std::uint32_t places) noexcept : free_(places) {}
  EjectionPlaces(const EjectionPlaces&) = delete;
  EjectionPlaces& operator=(const EjectionPlaces&) = delete;

  [[nodiscard]] bool take() noexcept;
  void give_back() noexcept { free_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> free_;
};

// For an operator's page.
struct UpstreamStatus {
  std::string name;
  std::string url;
  UpstreamState state = UpstreamState::Healthy;
  runtime::BreakerState breaker = runtime::BreakerState::Closed;
  std::uint32_t in_flight = 0;
  std::uint32_t failures = 0;  // in a row
  std::uint64_t ejections = 0;
  base::Duration returns_in{};  // of one that is ejected
};

class UpstreamMember {
 public:
  // A verdict of "down" that no probe renewed for this many rounds is forgotten: a prober that has
  // stopped must not lock a member out.
  static constexpr std::int64_t kVerdictRounds = 3;

  // `places` outlives it.
  UpstreamMember(std::size_t position, std::string name, UpstreamAddress address,
                 const UpstreamPolicy& policy, EjectionPlaces& places, runtime::Meters& meters,
                 platform::Random& random);
  UpstreamMember(const UpstreamMember&) = delete;
  UpstreamMember& operator=(const UpstreamMember&) = delete;

  [[nodiscard]] std::size_t position() const noexcept { return position_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const UpstreamAddress& address() const noexcept { return address_; }
  [[nodiscard]] runtime::Breaker& breaker() noexcept { return breaker_; }
  [[nodiscard]] UpstreamMeters& meters() noexcept { return meters_; }

  // Notes an ejection that is over, or a verdict that nobody renewed.
  void refresh(platform::TimePoint now) noexcept {
    if (is_over(ejected_until_, now) || is_over(down_until_, now)) lapse(now);
  }
  [[nodiscard]] UpstreamState state(platform::TimePoint now) const noexcept;
  [[nodiscard]] std::uint32_t in_flight() const noexcept {
    return in_flight_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] UpstreamStatus status(platform::TimePoint now) const;

  void set_drained(bool drained) noexcept { drained_.store(drained, std::memory_order_relaxed); }
  void note_probe(bool healthy, platform::TimePoint now) noexcept;

  // For attempts.
  void request_began() noexcept { in_flight_.fetch_add(1, std::memory_order_relaxed); }
  void request_ended() noexcept { in_flight_.fetch_sub(1, std::memory_order_relaxed); }
  void note_success() noexcept {
    if (is_suspect_.load(std::memory_order_relaxed)) clear();
  }
  void note_failure(platform::TimePoint now) noexcept;

 private:
  // A moment until which something holds; kNotSet: it does not.
  using Moment = std::atomic<platform::TimePoint::rep>;
  static constexpr platform::TimePoint::rep kNotSet = 0;

  static bool holds(const Moment& until, platform::TimePoint now) noexcept {
    return until.load(std::memory_order_relaxed) > now.time_since_epoch().count();
  }
  static bool is_over(const Moment& until, platform::TimePoint now) noexcept {
    return until.load(std::memory_order_relaxed) != kNotSet && !holds(until, now);
  }
  static void set(Moment& until, platform::TimePoint at) noexcept {
    until.store(at.time_since_epoch().count(), std::memory_order_relaxed);
  }
  static void unset(Moment& until) noexcept { until.store(kNotSet, std::memory_order_relaxed); }
  static bool is_set(const Moment& until) noexcept {
    return until.load(std::memory_order_relaxed) != kNotSet;
  }

  void lapse(platform::TimePoint now) noexcept;
  void clear() noexcept;
  void eject(platform::TimePoint now) noexcept;
  void show_health() noexcept;

  // Read for every request.
  alignas(runtime::kCacheLineBytes) std::atomic<std::uint32_t> in_flight_{0};
  std::atomic<bool> drained_{false};
  std::atomic<bool> is_suspect_{false};  // a success changes what is known of it
  Moment ejected_until_{kNotSet};
  Moment down_until_{kNotSet};

  const std::size_t position_;
  const std::string name_;
  const UpstreamAddress address_;
  const UpstreamPolicy& policy_;
  EjectionPlaces& places_;
  UpstreamMeters meters_;
  runtime::Breaker breaker_;

  mutable std::mutex mutex_;         // guards what follows, and changes of the moments
  std::uint32_t failures_ = 0;       // in a row
  std::uint32_t ejected_again_ = 0;  // ejections since the last success
  std::uint64_t ejections_ = 0;
  std::uint32_t good_probes_ = 0;  // in a row
  std::uint32_t bad_probes_ = 0;
};

}  // namespace ron::http
