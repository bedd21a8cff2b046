#include "app/config_flags.h"

#include <CLI/CLI.hpp>

namespace ron::app {

void ConfigFlags::declare(CLI::App& command) {
  command.add_option("--config", file, "Read this configuration file (TOML)")->type_name("FILE");
  command.add_option("--set", set, "Override any key, for example storage.server.max_rps=1000")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

}  // namespace ron::app
