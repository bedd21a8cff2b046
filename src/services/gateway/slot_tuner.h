// SlotTuner: how many requests an upstream gets at once while several tenants wait for it.
//
// With more than it works on at a time they queue inside the upstream, first come first served, and
// a polite tenant waits there behind a greedy one. With fewer it idles. Where that number lies is
// not known, differs a hundredfold between upstreams, and changes; so it is looked for. The tuner
// compares the throughput of neighbouring numbers, and takes the larger one if it gives more, else
// the smaller one if that gives as much.
//
// Latency is not looked at: the lowest one seen would say more about the moment it was seen in, and
// holding the number down to measure it again costs throughput. Below what the upstream can do
// throughput grows in proportion, so that the number cannot drift down unnoticed.
//
// Sans I/O, one owner.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "platform/executor.h"

namespace ron::gateway {

class SlotTuner {
 public:
  // Where it begins.
  static constexpr std::size_t kFirst = 8;
  // Throughputs that differ by less are the same.
  static constexpr double kWorth = 1.0 / 16;
  // A measurement lasts for at least this many turns, this many for each slot, and this long.
  static constexpr std::uint64_t kLeastTurns = 128;
  static constexpr std::uint64_t kTurnsPerSlot = 8;
  static constexpr base::Duration kLeastTime = std::chrono::milliseconds(20);
  // After a comparison that changed nothing the next one waits for twice as many measurements, up
  // to this many: comparing costs throughput or latency, so it is to be less than a hundredth of
  // the time. A throughput that changes by kChanged is a reason to compare at once.
  static constexpr unsigned kLongestRest = 256;
  static constexpr double kChanged = 1.0 / 4;

  // Never more than `most`, which is at least 1.
  explicit SlotTuner(std::size_t most) noexcept;

  [[nodiscard]] std::size_t slots() const noexcept { return slots_; }
  void set_most(std::size_t most) noexcept;

  // `ended` turns so far; `is_backlogged` unless a slot was left free for want of anybody waiting,
  // which says nothing about the upstream.
  void observe(platform::TimePoint now, std::uint64_t ended, bool is_backlogged) noexcept;

 private:
  enum class Step : std::uint8_t { Base, More, Fewer };

  void begin(Step step, std::size_t slots) noexcept;
  void measured(double throughput) noexcept;
  void rest() noexcept;
  [[nodiscard]] std::size_t more() const noexcept;
  [[nodiscard]] std::size_t fewer() const noexcept;

  std::size_t most_;
  std::size_t slots_;  // in use, on trial or not
  std::size_t base_;   // the best number so far
  double base_throughput_ = 0;
  Step step_ = Step::Base;
  bool grows_ = true;     // in large steps until the first that is of no use
  unsigned resting_ = 1;  // measurements of the base before the next comparison
  unsigned rest_ = 1;
  bool is_fresh_ = true;  // the present measurement waits for its first observation
  bool is_warm_ = false;  // turns from before the change have ended
  std::uint64_t from_turn_ = 0;
  platform::TimePoint from_{};
};

}  // namespace ron::gateway
