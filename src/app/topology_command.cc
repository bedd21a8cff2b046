#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "app/command_groups.h"
#include "app/services.h"
#include "cli/client_options.h"
#include "cli/exit.h"
#include "cli/fetch.h"
#include "cli/topology_text.h"
#include "runtime/topology.h"

namespace ron::app {
namespace {

struct TopologyFlags {
  cli::ClientFlags client;
  bool declared = false;
  std::string format = "text";
};

// What `ron up` would say if nothing of it ran.
std::string declared_topology(bool mermaid) {
  std::string out;
  for (const ServiceEntry& entry : services()) {
    const runtime::Wires& wires = *entry.kind->wires;
    if (mermaid) {
      out += runtime::to_mermaid(wires);
      continue;
    }
    runtime::Meters meters{std::string(wires.service)};
    out += (out.empty() ? "" : ",") + runtime::to_json(runtime::Topology(wires, meters));
  }
  return mermaid ? out : "[" + out + "]";
}

int show(const std::string& topology, const std::string& format) {
  if (format == "json") return cli::print_result(topology + "\n");
  if (format == "mermaid") return cli::print_result(topology);
  const auto text = cli::topology_text(topology);
  return text ? cli::print_result(*text) : cli::failed(text.error().message);
}

int run(const TopologyFlags& flags) {
  const bool mermaid = flags.format == "mermaid";
  if (flags.declared) return show(declared_topology(mermaid), flags.format);
  const auto options = cli::resolve_admin(flags.client);
  if (!options) return cli::bad_usage("topology: " + options.error().message);
  const auto answer = cli::fetch(*options->admin, options->tls,
                                 mermaid ? "/debug/topology?format=mermaid" : "/debug/topology");
  return answer ? show(*answer, flags.format) : cli::failed(answer.error().message);
}

}  // namespace

void add_topology_command(CLI::App& root, cli::Action& chosen) {
  const auto flags = std::make_shared<TopologyFlags>();
  CLI::App* command =
      root.add_subcommand("topology", "Show the tasks, channels and locks of a running server");
  CLI::Option* url =
      command->add_option("--admin-url,--url", flags->client.admin_url,
                          "Its admin listener, default RON_ADMIN_URL or the local one");
  url->type_name("URL");
  command
      ->add_option("--ca", flags->client.ca_file,
                   "PEM file with the certificates an https server is trusted by")
      ->type_name("FILE");
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
