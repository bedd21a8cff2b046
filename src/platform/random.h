// Random: the only source of randomness. The posix one is the kernel's, fit for keys; the simulated
// one is seeded.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace ron::platform {

class Random {
 public:
  Random() = default;
  Random(const Random&) = delete;
  Random& operator=(const Random&) = delete;
  virtual ~Random() = default;

  // Any thread.
  virtual void fill(base::MutableBytes out) noexcept = 0;

  std::uint64_t next() noexcept {
    std::uint64_t value = 0;
    fill(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  // Uniform in [0, bound); bound > 0. The bias of the multiply is below 2^-32 for bounds we use.
  std::uint64_t below(std::uint64_t bound) noexcept {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
};

// A small fast generator seeded once per core from Random: jitter, correlation ids. Not for
// secrets.
class FastRandom {
 public:
  explicit FastRandom(std::uint64_t seed) noexcept : state_(seed) {}
  // SplitMix64.
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t bound) noexcept {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace ron::platform
