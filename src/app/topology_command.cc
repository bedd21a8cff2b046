#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "app/command_groups.h"
#include "cli/exit.h"
#include "cli/fetch.h"
#include "cli/topology_text.h"
#include "runtime/topology.h"
#include "services/storage/wires.h"

namespace ron::app {
namespace {

struct TopologyFlags {
  std::string url = "http://127.0.0.1:9081";
  bool declared = false;
  std::string format = "text";
};

// What a server would say if nothing of it ran.
std::string declared_topology(bool mermaid) {
  if (mermaid) return runtime::to_mermaid(storage::kWires);
  runtime::Meters meters{std::string(storage::kWires.service)};
  const runtime::Topology topology(storage::kWires, meters);
  return "[" + runtime::to_json(topology) + "]";
}

base::Result<std::string> topology(const TopologyFlags& flags) {
  const bool mermaid = flags.format == "mermaid";
  if (flags.declared) return declared_topology(mermaid);
  return cli::fetch(flags.url, mermaid ? "/debug/topology?format=mermaid" : "/debug/topology");
}

int run(const TopologyFlags& flags) {
  const auto answer = topology(flags);
  if (!answer) {
    const bool bad_url = answer.error().code == base::Code::Malformed;
    return bad_url ? cli::bad_usage(answer.error().message) : cli::failed(answer.error().message);
  }
  if (flags.format == "json") return cli::print_result(*answer + "\n");
  if (flags.format == "mermaid") return cli::print_result(*answer);
  const auto text = cli::topology_text(*answer);
  return text ? cli::print_result(*text) : cli::failed(flags.url + ": " + text.error().message);
}

}  // namespace

void add_topology_command(CLI::App& root, cli::Action& chosen) {
  const auto flags = std::make_shared<TopologyFlags>();
  CLI::App* command =
      root.add_subcommand("topology", "Show the tasks, channels and locks of a running server");
  CLI::Option* url =
      command->add_option("--url", flags->url, "Its admin listener, default http://127.0.0.1:9081");
  url->type_name("URL");
  command->add_flag("--static", flags->declared, "As declared, without asking a server")
      ->excludes(url);
  command->add_option("--format", flags->format, "text, json or mermaid")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json", "mermaid"}));
  command->footer(
      "Examples:\n"
      "  ron topology                                depths of the queues right now\n"
      "  ron topology --static --format mermaid      the graph, for a document");
  command->callback([flags, &chosen] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace ron::app
