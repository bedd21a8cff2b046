// POLYVAL (RFC 8452): a fingerprint under a secret key, several times faster than any hash.
//
// For whoever checked bytes once and wants to know whether they are still the same: somebody who
// does not know the key, nor any value under it, cannot find other bytes with the same value but by
// chance, n / 2^128 for n blocks of 16 bytes. It proves nothing to others, and a value that leaves
// the process gives the key away.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace ron::volume {

// A key made ready. Immutable, 4 KB, aligned to 64 bytes (so not in a coroutine's frame); any
// thread.
class Polyval {
 public:
  static constexpr std::size_t kKeyBytes = 16;
  static constexpr std::size_t kBlockBytes = 16;

  struct Value {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    friend bool operator==(const Value&, const Value&) = default;
  };

  // How it is computed; the value is the same. Plain is slower than hashing.
  enum class Way : std::uint8_t { Plain, OneBlock, FourBlocks };
  // The best this machine has instructions for.
  static Way best() noexcept;

  // Another way only for tests; at most the best there is.
  explicit Polyval(const std::array<std::byte, kKeyBytes>& key, Way way = best()) noexcept;

  // Goes on from `value`: the value of what came before, in whole blocks, followed by `bytes`; the
  // last block is filled up with zeros.
  [[nodiscard]] Value update(Value value, base::ByteView bytes) const noexcept;

 private:
  // Blocks between two reductions.
  static constexpr std::size_t kStride = 128;

  [[nodiscard]] Value update_blocks(Value value, const std::byte* blocks,
                                    std::size_t count) const noexcept;

  // Powers of the key, the highest first; of each, the sum of its halves.
  alignas(64) std::array<Value, kStride> powers_;
  alignas(64) std::array<Value, kStride> sums_;
  Way way_;
};

}  // namespace ron::volume
