#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "app/command_groups.h"
#include "app/service_flags.h"
#include "app/services.h"
#include "cli/exit.h"

namespace ron::app {
namespace {

constexpr const char* kServeHelp =
    "Prints one line when it listens; logs go to standard error. SIGTERM drains, a second one\n"
    "aborts, SIGHUP reloads the configuration, keys and deny list. ron doctor with the same flags\n"
    "says beforehand whether it would start.\n\n";

int run(const ServiceFlags& flags, const std::string& command) {
  const auto options = flags.options(command);
  return options ? serve(*options) : cli::bad_usage(options.error().message);
}

CLI::App* add_command(CLI::App& root, cli::Action& chosen,
                      const std::shared_ptr<ServiceFlags>& flags, const std::string& name,
                      const std::string& help) {
  CLI::App* command = root.add_subcommand(name, help);
  flags->declare(*command);
  // One of its own commands, if it was given, has said what to do.
  command->callback([flags, name, command, &chosen] {
    if (!command->get_subcommands().empty()) return;
    chosen = [flags, name] { return run(*flags, name); };
  });
  return command;
}

void add_up_command(CLI::App& root, cli::Action& chosen) {
  const auto flags = std::make_shared<ServiceFlags>();
  CLI::App* command = add_command(root, chosen, flags, std::string(kUp),
                                  "Run every service in one process, on one data directory");
  flags->declare_only(*command);
  command->footer(
      std::string(
          "Listens on 127.0.0.1:8080, for operators on 127.0.0.1:9090: metrics, topology and\n"
          "configuration of all services.\n") +
      kServeHelp +
      "Examples:\n"
      "  ron up\n"
      "  ron up --amnesia --token-out admin.token\n"
      "  ron up --config ron.toml --data /srv/ron");
}

void add_service_command(CLI::App& root, cli::Action& chosen, const kit::ServiceKind& kind) {
  const std::string name(kind.name);
  CLI::App* command =
      add_command(root, chosen, std::make_shared<ServiceFlags>(), name,
                  "Run " + std::string(kind.wires->service) + ": " + std::string(kind.help));
  command->footer(kServeHelp + ("Examples:\n  ron " + name) +
                  " --amnesia --token-out admin.token\n  ron " + name +
                  " --amnesia --bind 127.0.0.1:0 --set auth.keys_dir=keys\n  ron " + name +
                  " --config ron.toml");
}

}  // namespace

void add_service_commands(CLI::App& root, cli::Action& chosen) {
  add_up_command(root, chosen);
  for (const ServiceEntry& entry : services()) add_service_command(root, chosen, *entry.kind);
}

}  // namespace ron::app
