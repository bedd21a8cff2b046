// The memory and the descriptors a configuration may take at its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/index/config.h"
#include "services/kit/budget.h"

namespace ron::index {

// Everything that grows with load or configuration, each at its limit at once. What a process has
// once, whatever it runs, is not in it.
std::vector<kit::Addend> memory_budget(const IndexConfig& config, std::size_t cores);

// File descriptors at the limits: both listeners' connections, those to others, the files of the
// map and of the log.
std::uint64_t descriptors_needed(const IndexConfig& config, std::size_t cores) noexcept;

}  // namespace ron::index
