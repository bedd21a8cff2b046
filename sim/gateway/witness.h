// Witness: looks at the gateway after every step of the world and notes what could be a reason to
// refuse something: writes are shed, a turn was dropped, a breaker is open. And that none of these
// comes about without a reason itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/breaker.h"
#include "runtime/meter.h"
#include "services/gateway/config.h"
#include "services/gateway/core.h"
#include "sim/gateway/book.h"
#include "sim/harness/timeline.h"

namespace ron::sim {

class Witness {
 public:
  Witness(const GatewayPlan& plan, const Book& book, const Timeline& timeline)
      : plan_(plan), book_(book), timeline_(timeline), not_closed_(plan.members.size()) {}
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  // A gateway begins; it must be left before it goes.
  void watch(gateway::Core& core, runtime::Meters& meters);
  void leave(TimePoint now);
  // After a step. What came about without a reason, if anything did.
  std::optional<std::string> look(TimePoint now);

  [[nodiscard]] bool shed_writes(TimePoint from, TimePoint until) const {
    return overlaps(shedding_, from, until);
  }
  [[nodiscard]] bool dropped_turns(TimePoint from, TimePoint until) const;
  [[nodiscard]] bool breaker_was_open(const GroupPlan& group, TimePoint from,
                                      TimePoint until) const;

  // In a quiet world, or at the end of a life: what the books of the gateway say that cannot be.
  [[nodiscard]] std::optional<std::string> check_books(unsigned life) const;
  [[nodiscard]] std::optional<std::string> check_quiet() const;

 private:
  struct Span {
    TimePoint from;
    TimePoint until;
  };
  using Spans = std::vector<Span>;
  // One member as its metrics show it.
  struct Seen {
    std::string name;
    runtime::Gauge* closed;
    runtime::Gauge* open;
    runtime::Gauge* half_open;
    runtime::Counter* answered;
    runtime::Counter* unavailable;
    runtime::Counter* failed;
    runtime::Counter* abandoned;
    runtime::Counter* ejections;
    runtime::Counter* returns;
    runtime::BreakerState state;
    TimePoint since;               // of the state
    std::uint64_t bad_before;      // when it began
    std::uint64_t answers_before;  // by the book

    [[nodiscard]] std::uint64_t bad() const { return failed->value() + unavailable->value(); }
    [[nodiscard]] std::uint64_t attempts() const {
      return bad() + answered->value() + abandoned->value();
    }
  };

  static bool overlaps(const Spans& spans, TimePoint from, TimePoint until);
  static void note(Spans& spans, bool holds, TimePoint now);
  std::optional<std::string> look_at_breaker(std::size_t member, TimePoint now);
  [[nodiscard]] std::optional<std::string> judge_change(const Seen& seen, std::size_t member,
                                                        runtime::BreakerState to,
                                                        TimePoint now) const;
  [[nodiscard]] bool may_shed() const;
  [[nodiscard]] const gateway::GatewayConfig& settings() const;
  // Members may have been put into another group of the same name, which starts anew.
  [[nodiscard]] bool regrouped() const;

  const GatewayPlan& plan_;
  const Book& book_;
  const Timeline& timeline_;
  gateway::Core* core_ = nullptr;  // null: nobody is watched
  std::shared_ptr<const gateway::GatewayConfig> settings_;
  runtime::Counter* dropped_ = nullptr;
  runtime::Counter* retries_ = nullptr;
  runtime::Counter* stale_retries_ = nullptr;
  std::uint64_t dropped_before_ = 0;
  Spans shedding_;
  std::vector<TimePoint> drops_;
  std::vector<Seen> members_;
  std::vector<Spans> not_closed_;  // when breakers were not, by member, over all lives
};

}  // namespace ron::sim
