#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/client_flags.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/rm.h"
#include "cli/stat.h"
#include "cli/verify.h"
#include "cli/verify_offline.h"

namespace ron::cli {
namespace {

struct ObjectFlags {
  ClientFlags client;
  std::vector<std::string> addresses;
  std::vector<std::string> directories;
  bool json = false;
  bool details = false;
  bool all = false;
  bool force = false;
};

using Ids = std::vector<base::ObjectId>;
using Run = int (*)(const ClientOptions& options, const Ids& ids, const ObjectFlags& flags);

int run_stat(const ClientOptions& options, const Ids& ids, const ObjectFlags& flags) {
  if (!ids.empty() && !flags.details) return stat_objects(options, ids, {.json = flags.json});
  if (!options.admin) return bad_usage("stat: " + options.admin.error().message);
  if (!ids.empty()) return stat_objects(options, ids, {.json = flags.json, .details = true});
  if (flags.json) return stat_server(options, StatForm::Json);
  return stat_server(options, flags.all ? StatForm::All : StatForm::Screen);
}
int run_rm(const ClientOptions& options, const Ids& ids, const ObjectFlags& flags) {
  return remove_objects(options, ids, flags.force);
}
int run_verify(const ClientOptions& options, const Ids& ids, const ObjectFlags& flags) {
  if (!flags.directories.empty()) return verify_offline(options, flags.directories);
  if (!ids.empty()) return verify_objects(options, ids);
  if (!options.admin) return bad_usage("verify: " + options.admin.error().message);
  return verify_server(options);
}

// What the three have in common: addresses, and how to reach the server.
CLI::Option* declare(CLI::App& command, const std::shared_ptr<ObjectFlags>& flags, Run run,
                     Action& chosen) {
  CLI::Option* addresses =
      command.add_option("address", flags->addresses, "b3: and 64 hex digits")->type_name("ADDR");
  declare_client_flags(command, flags->client);
  const std::string name = command.get_name();
  command.callback([flags, run, name, &chosen] {
    chosen = [flags, run, name] {
      const auto options = resolve(flags->client);
      if (!options) return bad_usage(name + ": " + options.error().message);
      const auto ids = parse_addresses(flags->addresses);
      if (!ids) {
        const char* const hint = name == "rm" ? "; ron name rm NAME removes a name" : "";
        return bad_usage(name + ": " + ids.error().message + hint);
      }
      return run(*options, *ids, *flags);
    };
  });
  return addresses;
}

void add_stat(CLI::App& root, Action& chosen) {
  const auto flags = std::make_shared<ObjectFlags>();
  CLI::App* command = root.add_subcommand("stat", "Show objects, or how the server is doing");
  declare(*command, flags, &run_stat, chosen);
  declare_data_flag(*command, flags->client);
  declare_admin_flag(*command, flags->client);
  CLI::Option* json = command->add_flag("--json", flags->json, "As JSON, an object per line");
  command->add_flag("--details", flags->details,
                    "Also which tenants hold each object; needs a token with storage:admin");
  command->add_flag("--all", flags->all, "All statistics of the server, not only a screen")
      ->excludes(json);
  command->footer(
      std::string(
          "Prints `ADDR  present  LENGTH  ETAG` or `ADDR  missing`; exit code 1 if one is "
          "missing.\n"
          "Without an address, how the server is doing: what it holds, its volumes, what its\n"
          "tenants use, how far the check of everything stored is and when it will be done.\n\n") +
      kClientHelp + kAdminHelp +
      "\nExamples:\n"
      "  ron stat b3:<hash>\n"
      "  ron stat b3:<hash> --details\n"
      "  ron stat\n"
      "  ron stat --url http://storage.example:8081\n"
      "  ron stat --json --admin-url http://127.0.0.1:9081");
}

void add_rm(CLI::App& root, Action& chosen) {
  const auto flags = std::make_shared<ObjectFlags>();
  CLI::App* command = root.add_subcommand("rm", "Remove objects");
  declare(*command, flags, &run_rm, chosen)->required();
  declare_data_flag(*command, flags->client);
  command->add_flag("-f,--force", flags->force, "A missing object is no failure");
  command->footer(
      std::string(
          "Prints `ADDR  removed` or `ADDR  missing`. Needs a token with storage:delete, and "
          "gives up\n"
          "what its tenant holds; the bytes go when nobody holds them any more. A token with\n"
          "storage:admin removes an object whoever holds it. A name is removed with ron name "
          "rm.\n\n") +
      kClientHelp +
      "\nExamples:\n"
      "  ron rm b3:<hash>\n"
      "  cut -c1-67 tree.list | xargs ron rm --force");
}

void add_verify(CLI::App& root, Action& chosen) {
  const auto flags = std::make_shared<ObjectFlags>();
  CLI::App* command =
      root.add_subcommand("verify", "Check the hashes of a server's or a data directory's objects");
  CLI::Option* addresses = declare(*command, flags, &run_verify, chosen);
  declare_admin_flag(*command, flags->client);
  command->add_option("--data", flags->directories, "Check this data directory, without a server")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->excludes(addresses);
  command->footer(
      std::string(
          "Reads every byte and compares the hash with the address; keeps nothing. Without an "
          "address,\n"
          "all objects of the server, which needs a token with storage:admin. Exit code 1 if an\n"
          "object is corrupt or missing.\n\n"
          "With --data, reads the directory itself, or what it has under `storage`, while no "
          "server\n"
          "uses it, and changes nothing: a read-only copy will do. Names every damaged object; "
          "where "
          "not\n"
          "even the address can be read, the place. Takes memory for an index of all objects and "
          "parts,\n"
          "some 300 bytes for each.\n\n") +
      kClientHelp + kAdminHelp +
      "\nExamples:\n"
      "  ron verify b3:<hash>\n"
      "  ron verify\n"
      "  ron verify --data ron-data");
}

}  // namespace

void add_object_commands(CLI::App& root, Action& chosen) {
  add_stat(root, chosen);
  add_rm(root, chosen);
  add_verify(root, chosen);
}

}  // namespace ron::cli
