// The memory tier of svc-edge: tiles, files of sites and assets, ready to be sent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/kit/fifo_cache.h"
#include "services/kit/representation.h"

namespace ron::edge {

// One representation. What is mounted anew gets a new generation, so that an answer never mixes
// two, and what belonged to the old one is evicted because nobody asks for it any more.
struct MemoryKey {
  std::uint64_t generation = 0;  // Loader::new_generation()
  std::uint64_t item = 0;
  std::uint64_t variant = 0;
  friend bool operator==(const MemoryKey&, const MemoryKey&) = default;
};

struct MemoryKeyHash {
  std::size_t operator()(const MemoryKey& key) const noexcept {
    std::uint64_t mixed = key.item;
    for (const std::uint64_t word : {key.generation, key.variant}) {
      mixed = (mixed ^ (mixed >> 32)) * 0x9E3779B97F4A7C15ULL + word;
    }
    return (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9ULL;
  }
};

using MemoryTier = kit::FifoCache<MemoryKey, kit::Representation, MemoryKeyHash>;

}  // namespace ron::edge
