// The breaker table: who may be asked. One circuit breaker (runtime/breaker.h) for each target.
//
// The breaker janitor is the only one that changes a breaker: resolvers read the states as atomics,
// and what came of their asks reaches the janitor through `outcomes(1024)`. It also lets a breaker
// half open when its rest is over, and probes the target itself, so that no client pays for finding
// out whether a target is back. Resolvers turn to a half-open target only when they have nobody
// else, and count as its probes then.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "platform/random.h"
#include "platform/task.h"
#include "runtime/background.h"
#include "runtime/breaker.h"
#include "runtime/deadline.h"
#include "runtime/mpsc.h"
#include "runtime/permit.h"
#include "runtime/shutdown.h"
#include "runtime/topology.h"

namespace ron::index {

struct BreakerSettings {
  base::Duration error_window = std::chrono::seconds(30);
  std::uint32_t trip_percent = 50;  // opens above this share of failures, not at it
  base::Duration cooldown = std::chrono::seconds(10);
  std::uint32_t half_open_probes = 3;  // at once while half open, and successes needed to close
};

class BreakerTable {
 public:
  // So few outcomes say nothing about a target, whatever their share of failures is.
  static constexpr std::uint32_t kMinVolume = 10;

  // Asks the target whether it is there; true if it is. It has a deadline of its own. Cancel-safe.
  using Probe = std::function<platform::Task<bool>(std::uint32_t target)>;

  // Target i is the one named names[i]; the names become labels of metrics.
  BreakerTable(runtime::Topology& topology, const std::vector<std::string>& names,
               BreakerSettings settings, platform::Random& random);
  BreakerTable(const BreakerTable&) = delete;
  BreakerTable& operator=(const BreakerTable&) = delete;

  // The right to ask a target once. Of several outcomes the first counts. Dropped without one it
  // says nothing, and a probe's place is free again.
  class [[nodiscard]] Pass {
   public:
    Pass() = default;  // for nothing

    void succeeded() noexcept { report(true); }
    void failed() noexcept { report(false); }
    [[nodiscard]] bool is_probe() const noexcept { return static_cast<bool>(probe_); }

   private:
    friend class BreakerTable;
    Pass(BreakerTable& table, std::uint32_t target, std::uint64_t published,
         runtime::Limit::Permit probe) noexcept
        : table_(&table), target_(target), published_(published), probe_(std::move(probe)) {}
    void report(bool good) noexcept;

    BreakerTable* table_ = nullptr;
    std::uint32_t target_ = 0;
    std::uint64_t published_ = 0;  // the state under which it was given
    runtime::Limit::Permit probe_;
  };

  // Nothing while the breaker is open, or half open with all its probes out; that is counted in
  // breaker_open_total. Any thread; lock-free.
  [[nodiscard]] std::optional<Pass> try_pass(std::uint32_t target) noexcept;
  // For one who would have asked it, saw that it is open and asks somebody else.
  void count_refusal(std::uint32_t target) noexcept { entries_[target]->refused.add(); }
  // Any thread; lock-free.
  [[nodiscard]] runtime::BreakerState state(std::uint32_t target) const noexcept;
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(entries_.size());
  }

  // The breaker janitor, until it is told to stop. Once at a time. Cancel-safe.
  platform::Task<void> run_janitor(Probe probe, runtime::Shutdown shutdown);

 private:
  struct Outcome {
    std::uint32_t target;
    std::uint64_t published;
    bool good;
  };
  struct Entry {
    Entry(runtime::Meters& meters, const std::string& name, const runtime::BreakerPolicy& policy,
          platform::Random& random)
        : breaker(meters, name, policy, random),
          refused(meters.counter(runtime::metrics::kBreakerOpenTotal, {name})),
          probes(policy.probes) {}

    // Written by the janitor alone: the state in the lowest bits, above it a number that no other
    // state had. What was asked under another one than the present says nothing any more.
    std::atomic<std::uint64_t> published{0};
    runtime::Breaker breaker;
    runtime::Counter& refused;
    runtime::Limit probes;  // those out at this moment, the janitor's and the resolvers'

    // The janitor's own.
    runtime::Deadline due;                             // when to look again; closed: never
    std::vector<runtime::Breaker::Permit> to_prove{};  // half open: one for each success to come
  };
  // A probe of the janitor's under way.
  struct Probing {
    std::uint32_t target;
    std::unique_ptr<runtime::Background<void>> running;
  };

  void record(const Outcome& outcome, platform::TimePoint now);
  void begin_probes(const Probe& probe, std::vector<Probing>& probing, platform::TimePoint now);
  void half_open(Entry& entry, platform::TimePoint now);
  void publish(Entry& entry, platform::TimePoint now);
  [[nodiscard]] runtime::Deadline next_due() const noexcept;

  const BreakerSettings settings_;
  std::vector<std::unique_ptr<Entry>> entries_;
  runtime::Mpsc<Outcome> outcomes_;
};

}  // namespace ron::index
