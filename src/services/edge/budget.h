// The memory, the disk and the descriptors a configuration may take at its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/edge/config.h"
#include "services/kit/budget.h"

namespace ron::edge {

// Everything that grows with load or configuration, each at its limit at once. What a process has
// once, whatever it runs, is not in it.
std::vector<kit::Addend> memory_budget(const EdgeConfig& config, std::size_t cores);

// What the cache takes on disk at most.
std::vector<kit::Addend> disk_budget(const EdgeConfig& config);

// File descriptors at the limits: both listeners' connections, those to origins that are in use and
// those that each core keeps, packs, and the files of the cache.
std::uint64_t descriptors_needed(const EdgeConfig& config, std::size_t cores) noexcept;

}  // namespace ron::edge
