#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/client_flags.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/site.h"

namespace ron::cli {
namespace {

constexpr std::uint16_t kEdgePort = 8084;  // where `ron edge` listens by itself

constexpr const char* kSiteHelp =
    "The server is --url, else RON_URL, else http://127.0.0.1:8080 (ron up) or, if nobody listens\n"
    "there, port 8084 (ron edge). The token is the one in --token FILE, else RON_TOKEN, else\n"
    "keys/admin.token of the data directory; it needs edge:admin, for a directory storage:write\n"
    "and index:write as well, and listing needs none.\n";

struct SiteFlags {
  SiteFlags() { client.service_port = kEdgePort; }

  ClientFlags client;
  std::string site;
  std::string target;
  std::string name;
  bool json = false;
  bool allow_skipped = false;
  bool follow = false;
};
using FlagsPtr = std::shared_ptr<SiteFlags>;
using Run = int (*)(const ClientOptions& options, const SiteFlags& flags);

int run_add(const ClientOptions& options, const SiteFlags& flags) {
  if (!options.admin) return bad_usage("site add: " + options.admin.error().message);
  AddSite what{.site = flags.site,
               .target = flags.target,
               .name = {},
               .allow_skipped = flags.allow_skipped,
               .follow = flags.follow};
  if (!flags.name.empty()) {
    const auto name = catalog::parse_name(flags.name);
    if (!name) return bad_usage("site add: --name: " + name.error().message);
    what.name = *name;
  }
  return add_site(options, what);
}
int run_ls(const ClientOptions& options, const SiteFlags& flags) {
  return list_sites(options, flags.json);
}
int run_rm(const ClientOptions& options, const SiteFlags& flags) {
  if (!options.admin) return bad_usage("site rm: " + options.admin.error().message);
  return remove_site(options, flags.site);
}

CLI::App* declare(CLI::App& group, Action& chosen, const FlagsPtr& flags, const std::string& name,
                  const std::string& help, Run run) {
  CLI::App* command = group.add_subcommand(name, help);
  declare_client_flags(*command, flags->client);
  declare_data_flag(*command, flags->client);
  command->callback([flags, run, name, &chosen] {
    chosen = [flags, run, name] {
      const auto options = resolve(flags->client);
      if (!options) return bad_usage("site " + name + ": " + options.error().message);
      return run(*options, *flags);
    };
  });
  return command;
}

void declare_site(CLI::App& command, SiteFlags& flags) {
  command.add_option("site", flags.site, "What it is called in URLs: /edge/sites/SITE/")
      ->type_name("SITE")
      ->required();
}

void add_add(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<SiteFlags>();
  CLI::App* command =
      declare(group, chosen, flags, "add", "Make a folder or a tree a web site", &run_add);
  declare_site(*command, *flags);
  command->add_option("target", flags->target, "A directory, the name of a tree, or its address")
      ->type_name("DIR|NAME|ADDR")
      ->required();
  command->add_option("--name", flags->name, "What a directory is put under, default sites/SITE")
      ->type_name("NAME")
      ->check(not_empty);
  command->add_flag("--allow-skipped", flags->allow_skipped,
                    "Leave out what a tree cannot hold, as ron put does");
  command->add_flag("--follow", flags->follow,
                    "Store what links that lead out of the directory lead to");
  declare_admin_flag(*command, flags->client);
  command->footer(
      std::string(
          "Prints the URL. A directory is stored as ron put DIR --name sites/SITE does, and the "
          "site\n"
          "follows that name: put it again, or add it again, and the site switches between two\n"
          "requests. So does one of a NAME that moves; NAME@N and an address stay as they are. "
          "For\n"
          "directories there is index.html, for what is missing 404.html, and stored FILE.br, "
          "FILE.zst\n"
          "and FILE.gz are sent to those who take them. The site is kept until ron site rm.\n"
          "Everything in the directory is published, also what begins with a dot; a server's data\n"
          "directory in it is refused. A ron edge by itself stores nothing: put the directory at "
          "its\n"
          "origin (ron put DIR --name NAME --url ORIGIN), and add the NAME.\n\n") +
      kSiteHelp + kAdminHelp +
      "\nExamples:\n"
      "  ron site add docs ./public\n"
      "  ron site add docs docs/v2\n"
      "  ron site add v1 docs/v2@1");
}

void add_ls(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<SiteFlags>();
  CLI::App* command = declare(group, chosen, flags, "ls", "List the web sites there are", &run_ls);
  command->add_flag("--json", flags->json, "As JSON, an object per line");
  command->footer(std::string("Prints `SITE  TARGET  STATE  FILES  URL`. A stale site "
                              "still shows its last\nversion; the line says why.\n\n") +
                  kSiteHelp +
                  "\nExample:\n"
                  "  ron site ls");
}

void add_rm(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<SiteFlags>();
  CLI::App* command =
      declare(group, chosen, flags, "rm", "Remove a web site that was added", &run_rm);
  declare_site(*command, *flags);
  declare_admin_flag(*command, flags->client);
  command->footer(std::string("Its name and its files stay; ron name rm and ron rm are for those. "
                              "A site of ron.toml is\nremoved there.\n\n") +
                  kSiteHelp + kAdminHelp +
                  "\nExample:\n"
                  "  ron site rm docs");
}

}  // namespace

void add_site_commands(CLI::App& root, Action& chosen) {
  CLI::App* const sites = root.add_subcommand("site", "Folders and trees as web sites");
  sites->require_subcommand(1);
  add_add(*sites, chosen);
  add_ls(*sites, chosen);
  add_rm(*sites, chosen);
}

}  // namespace ron::cli
