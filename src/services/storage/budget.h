// The memory a configuration may take at its limits, as a sum with named addends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/storage/config.h"

namespace ron::storage {

struct Addend {
  std::string what;  // names the keys behind it
  std::uint64_t count = 0;
  std::uint64_t each_bytes = 0;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return count * each_bytes; }
};

// Everything that grows with load or configuration, each at its limit at once. Socket buffers are
// the kernel's and not in it.
std::vector<Addend> memory_budget(const StorageConfig& config, std::size_t cores);
std::uint64_t total_bytes(const std::vector<Addend>& budget) noexcept;

// File descriptors at the limits: both listeners' connections, and what every core holds.
std::uint64_t descriptors_needed(const StorageConfig& config, std::size_t cores) noexcept;

}  // namespace ron::storage
