// What `ron doctor` says of the memory of a process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "app/finding.h"
#include "app/services.h"
#include "config/load.h"
#include "services/kit/budget.h"

namespace ron::app {

// The sum of all services of one process. Only the service in front listens: requests, their bodies
// and connections count once, with its limits, and so do the answers that connections send.
std::vector<kit::Addend> process_budget(const Selection& services, const config::Config& config,
                                        std::size_t cores);

// One line for the process, a warning if its sum is more than there is, which names the largest
// addends; and each addend as a detail.
void judge_memory(const std::vector<kit::Addend>& budget, std::uint64_t memory_bytes,
                  Findings& out);

}  // namespace ron::app
