// The memory and the descriptors a configuration may take at its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/kit/budget.h"
#include "services/registry/config.h"

namespace ron::registry {

// Everything that grows with load or configuration, each at its limit at once. What a process has
// once, whatever it runs, is not in it.
std::vector<kit::Addend> memory_budget(const RegistryConfig& config, std::size_t cores);

// File descriptors at the limits: both listeners' connections, and the files of both logs.
std::uint64_t descriptors_needed(const RegistryConfig& config, std::size_t cores) noexcept;

}  // namespace ron::registry
