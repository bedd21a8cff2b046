#include <memory>

#include <CLI/CLI.hpp>

#include "app/command_groups.h"
#include "app/config_flags.h"
#include "app/doctor.h"
#include "cli/exit.h"

namespace ron::app {
namespace {

int run(const ConfigFlags& flags) {
  const std::vector<Finding> findings = examine(flags.options());
  const int printed = cli::print_result(print(findings));
  return has_failure(findings) ? cli::kExitFailed : printed;
}

}  // namespace

void add_doctor_command(CLI::App& root, cli::Action& chosen) {
  const auto flags = std::make_shared<ConfigFlags>();
  CLI::App* command =
      root.add_subcommand("doctor", "Check configuration, keys, ports, limits and memory");
  flags->declare(*command);
  command->footer(
      "Run it before a start, on the machine and as the user of the service: it opens the ports\n"
      "for a moment. Exit status 1 when something would make the start fail.\n\n"
      "Example:\n"
      "  ron doctor --config ron.toml");
  command->callback([flags, &chosen] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace ron::app
