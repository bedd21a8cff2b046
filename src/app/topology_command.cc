#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "app/command_groups.h"
#include "cli/exit.h"
#include "runtime/topology.h"
#include "services/storage/wires.h"

namespace ron::app {
namespace {

struct TopologyFlags {
  bool declared = false;
  std::string format = "text";
};

int run(const TopologyFlags& flags) {
  if (flags.format == "mermaid") {
    return cli::print_result(runtime::to_mermaid(storage::kWires));
  }
  if (flags.format == "json") {
    runtime::Meters meters{std::string(storage::kWires.service)};
    const runtime::Topology topology(storage::kWires, meters);
    return cli::print_result("[" + runtime::to_json(topology) + "]\n");
  }
  return cli::print_result(runtime::to_markdown(storage::kWires));
}

}  // namespace

void add_topology_command(CLI::App& root, cli::Action& chosen) {
  const auto flags = std::make_shared<TopologyFlags>();
  CLI::App* command = root.add_subcommand("topology", "Show tasks, channels and locks");
  command->add_flag("--static", flags->declared, "As declared, without asking a server")
      ->required();
  command->add_option("--format", flags->format, "text, json or mermaid")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json", "mermaid"}));
  command->footer(
      "A running server shows the same with live depths: GET /debug/topology on its admin\n"
      "listener.\n\n"
      "Example:\n"
      "  ron topology --static --format mermaid");
  command->callback([flags, &chosen] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace ron::app
