#include <memory>

#include <CLI/CLI.hpp>

#include "app/command_groups.h"
#include "app/doctor.h"
#include "app/service_flags.h"
#include "cli/exit.h"

namespace ron::app {
namespace {

struct DoctorFlags {
  ServiceFlags service;
  std::string command{kUp};
  bool verbose = false;
};

int run(const DoctorFlags& flags) {
  const auto options = flags.service.options(flags.command);
  if (!options) return cli::bad_usage("doctor: " + options.error().message);
  const Findings findings = examine(*options);
  const int printed =
      cli::print_result(print(findings, flags.verbose ? Details::Show : Details::Hide));
  return has_failure(findings) ? cli::kExitFailed : printed;
}

}  // namespace

void add_doctor_command(CLI::App& root, cli::Action& chosen) {
  const auto flags = std::make_shared<DoctorFlags>();
  CLI::App* command = root.add_subcommand(
      "doctor", "Check configuration, data directory, keys, ports, limits and memory");
  command
      ->add_option("COMMAND", flags->command, "What would be started: up, or the name of a service")
      ->capture_default_str();
  command->add_flag("-v,--verbose", flags->verbose,
                    "Also what the sums of memory and disk are made of");
  flags->service.declare(*command);
  flags->service.declare_only(*command);
  command->footer(
      "Run it before a start, on the machine, in the directory and as the user of the service,\n"
      "with the same flags. It opens the ports for a moment and changes nothing. Exit status 1\n"
      "when the start would fail, or every write after it.\n\n"
      "Examples:\n"
      "  ron doctor --config ron.toml\n"
      "  ron doctor -v\n"
      "  ron doctor storage --data /srv/ron --bind 0.0.0.0:8081");
  command->callback([flags, &chosen] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace ron::app
