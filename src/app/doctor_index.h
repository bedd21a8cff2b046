// What `ron doctor` says of svc-index.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/finding.h"
#include "config/load.h"
#include "platform/posix/probe.h"
#include "services/kit/budget.h"

namespace ron::app {

// Nothing to say of its files: a start says what is wrong with them.
void examine_index_files(const config::Config& config, const std::string& directory, Findings& out);

// Descriptors and memory at its limits. Pure.
void judge_index(const config::Config& config, const platform::posix::Machine& machine,
                 std::size_t cores, Findings& out);

std::vector<kit::Addend> budget_index(const config::Config& config, const kit::ServiceConfig* front,
                                      std::size_t cores);

}  // namespace ron::app
