// One process that runs services: from flags to exit code.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"

namespace ron::app {

// What the command line says, before anything is read.
struct ServeOptions {
  std::string config_file;         // empty: none
  std::vector<std::string> flags;  // KEY=VALUE overrides, in order
  std::string token_out;           // where the admin token goes; empty: nowhere
};

// Exit codes of the contract.
inline constexpr int kExitClean = 0;
inline constexpr int kExitFailedStart = 1;
inline constexpr int kExitBadUsage = 2;

// The configuration inputs as they are now: file, environment, flags. An error names the file.
base::Result<config::Inputs> read_inputs(const ServeOptions& options);

// Runs svc-storage until a signal stops it.
int serve_storage(const ServeOptions& options);

}  // namespace ron::app
