#include <memory>

#include <CLI/CLI.hpp>

#include "app/command_groups.h"
#include "app/doctor.h"
#include "app/service_flags.h"
#include "cli/exit.h"

namespace ron::app {
namespace {

int run(const ServiceFlags& flags) {
  const std::string problem = flags.problem();
  if (!problem.empty()) return cli::bad_usage(problem);
  const std::vector<Finding> findings = examine(flags.options("storage"));
  const int printed = cli::print_result(print(findings));
  return has_failure(findings) ? cli::kExitFailed : printed;
}

}  // namespace

void add_doctor_command(CLI::App& root, cli::Action& chosen) {
  const auto flags = std::make_shared<ServiceFlags>();
  CLI::App* command = root.add_subcommand(
      "doctor", "Check configuration, data directory, keys, ports, limits and memory");
  flags->declare(*command);
  command->footer(
      "Run it before a start, on the machine, in the directory and as the user of the service, "
      "with "
      "the\n"
      "same flags. It opens the ports for a moment and changes nothing. Exit status 1 when the "
      "start would\n"
      "fail, or every write after it.\n\n"
      "Examples:\n"
      "  ron doctor --config ron.toml\n"
      "  ron doctor --data /srv/ron --bind 0.0.0.0:8081");
  command->callback([flags, &chosen] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace ron::app
