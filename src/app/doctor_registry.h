// What `ron doctor` says of svc-registry.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/finding.h"
#include "config/load.h"
#include "platform/posix/probe.h"
#include "services/kit/budget.h"

namespace ron::app {

// Whether the signers' secret keys still lie together on this machine. Nothing in amnesia mode.
void examine_registry_files(const config::Config& config, const std::string& directory,
                            Findings& out);

// Descriptors and memory at its limits. Pure.
void judge_registry(const config::Config& config, const platform::posix::Machine& machine,
                    std::size_t cores, Findings& out);

std::vector<kit::Addend> budget_registry(const config::Config& config,
                                         const kit::ServiceConfig* front, std::size_t cores);

}  // namespace ron::app
