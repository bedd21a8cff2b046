// Dice: every choice a scenario makes, from one number.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "base/units.h"
#include "platform/random.h"

namespace ron::sim {

using base::Duration;

// A plain value. Two dice with the same seed roll the same; give each actor its own, so that what
// one of them does never shifts the choices of another.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) noexcept : random_(seed) {}

  std::uint64_t next() noexcept { return random_.next(); }
  std::uint64_t below(std::uint64_t bound) noexcept { return random_.below(bound); }
  // Both ends included.
  std::uint64_t between(std::uint64_t low, std::uint64_t high) noexcept {
    return low + below(high - low + 1);
  }
  Duration between(Duration low, Duration high) noexcept {
    const auto span = static_cast<std::uint64_t>((high - low).count());
    return low + Duration(static_cast<Duration::rep>(below(span + 1)));
  }
  bool chance(unsigned percent) noexcept { return below(100) < percent; }
  template <class T>
  T pick(std::initializer_list<T> from) noexcept {
    return from.begin()[below(from.size())];
  }

 private:
  platform::FastRandom random_;
};

}  // namespace ron::sim
