// What `ron doctor` says of svc-gateway.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/finding.h"
#include "config/load.h"
#include "platform/posix/probe.h"
#include "services/kit/budget.h"

namespace ron::app {

// It keeps nothing on disk.
void examine_gateway_files(const config::Config& config, const std::string& directory,
                           Findings& out);

// Descriptors at its limits. Pure.
void judge_gateway(const config::Config& config, const platform::posix::Machine& machine,
                   std::size_t cores, Findings& out);

std::vector<kit::Addend> budget_gateway(const config::Config& config,
                                        const kit::ServiceConfig* front, std::size_t cores);

}  // namespace ron::app
