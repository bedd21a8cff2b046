// The memory a configuration may take at its limits, as a sum with named addends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/kit/budget.h"
#include "services/storage/config.h"

namespace ron::storage {

// Everything that grows with load or configuration, each at its limit at once. Socket buffers are
// the kernel's and not in it.
std::vector<kit::Addend> memory_budget(const StorageConfig& config, std::size_t cores);

// File descriptors at the limits: both listeners' connections, and what every core holds.
std::uint64_t descriptors_needed(const StorageConfig& config, std::size_t cores) noexcept;

}  // namespace ron::storage
