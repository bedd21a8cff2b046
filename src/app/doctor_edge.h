// What `ron doctor` says of svc-edge.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/finding.h"
#include "config/load.h"
#include "platform/posix/probe.h"
#include "services/kit/budget.h"

namespace ron::app {

// The files of packs and the directory of packs, which are mounted as soon as they are there; the
// token for the origin, without which a start fails.
void examine_edge_files(const config::Config& config, const std::string& directory, Findings& out);

// Descriptors and memory at its limits. Pure.
void judge_edge(const config::Config& config, const platform::posix::Machine& machine,
                std::size_t cores, Findings& out);

std::vector<kit::Addend> budget_edge(const config::Config& config, const kit::ServiceConfig* front,
                                     std::size_t cores);

}  // namespace ron::app
