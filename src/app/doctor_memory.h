// What `ron doctor` says of a service's memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/finding.h"
#include "services/kit/budget.h"

namespace ron::app {

// A line for each addend and one for their sum, which is that service's: a warning, with the
// advice, if it is more than there is.
void judge_memory(std::string_view service, const std::vector<kit::Addend>& budget,
                  std::uint64_t memory_bytes, std::string advice, Findings& out);

}  // namespace ron::app
