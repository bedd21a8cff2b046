// The commands of this folder as they join the command line. Only their .cc files see CLI11.
#pragma once

#include "cli/commands.h"

namespace ron::app {

void add_service_commands(CLI::App& root, cli::Action& chosen);
void add_config_commands(CLI::App& root, cli::Action& chosen);
void add_topology_command(CLI::App& root, cli::Action& chosen);
void add_doctor_command(CLI::App& root, cli::Action& chosen);

}  // namespace ron::app
