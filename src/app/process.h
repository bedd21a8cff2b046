// One process that runs services: from flags to exit code.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/data_directory.h"
#include "app/schema.h"
#include "app/services.h"
#include "config/load.h"

namespace ron::app {

// What the command line says, before anything is read.
struct ServeOptions {
  Selection services;
  std::string config_file;         // empty: none
  std::vector<std::string> flags;  // KEY=VALUE overrides, in order
  // Instead of declared defaults: `ron up` listens elsewhere than its services do alone.
  std::vector<std::pair<std::string, std::string>> defaults;
  std::string token_out;  // where the admin token goes; empty: nowhere
  std::string data_dir = std::string(kDefaultDataDirectory);  // not touched in amnesia mode
};

// The configuration inputs as they are now: file, environment, flags. An error names the file.
base::Result<config::Inputs> read_inputs(const ServeOptions& options);

// Event loops of a process with this configuration.
std::size_t core_count(const RuntimeConfig& config);

// Runs the services until a signal stops them; the exit code.
int serve(const ServeOptions& options);

}  // namespace ron::app
