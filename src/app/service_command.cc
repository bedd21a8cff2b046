#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "app/command_groups.h"
#include "app/service_flags.h"
#include "cli/exit.h"

namespace ron::app {
namespace {

int run_storage(const ServiceFlags& flags) {
  const std::string problem = flags.problem();
  return problem.empty() ? serve_storage(flags.options("storage")) : cli::bad_usage(problem);
}

}  // namespace

void add_service_commands(CLI::App& root, cli::Action& chosen) {
  const auto flags = std::make_shared<ServiceFlags>();
  CLI::App* command = root.add_subcommand("storage", "Run svc-storage: objects under /o");
  flags->declare(*command);
  command->footer(
      "Prints one line when it listens; logs go to standard error. SIGTERM drains, a second one\n"
      "aborts, SIGHUP reloads the configuration, keys and deny list. ron doctor with the same "
      "flags\n"
      "says beforehand whether it would start.\n\n"
      "Examples:\n"
      "  ron storage --amnesia --token-out admin.token\n"
      "  ron storage --amnesia --bind 127.0.0.1:0 --set auth.keys_dir=keys\n"
      "  ron storage --config ron.toml");
  command->callback([flags, &chosen] { chosen = [flags] { return run_storage(*flags); }; });
}

}  // namespace ron::app
