#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/client_flags.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/pack_mounts.h"

namespace ron::cli {
namespace {

constexpr std::uint16_t kEdgePort = 8084;  // where `ron edge` listens by itself

constexpr const char* kPackHelp =
    "The server is --url, else RON_URL, else http://127.0.0.1:8080 (ron up) or, if nobody listens\n"
    "there, port 8084 (ron edge). The token is the one in --token FILE, else RON_TOKEN, else\n"
    "keys/admin.token of the data directory; it needs edge:admin, and listing needs none.\n";

struct PackFlags {
  PackFlags() { client.service_port = kEdgePort; }

  ClientFlags client;
  AddPack add;
  std::string name;
  bool json = false;
};
using FlagsPtr = std::shared_ptr<PackFlags>;
using Run = int (*)(const ClientOptions& options, const PackFlags& flags);

int run_add(const ClientOptions& options, const PackFlags& flags) {
  if (!options.admin) return bad_usage("pack add: " + options.admin.error().message);
  return add_pack(options, flags.add);
}
int run_ls(const ClientOptions& options, const PackFlags& flags) {
  return list_packs(options, flags.json);
}
int run_rm(const ClientOptions& options, const PackFlags& flags) {
  if (!options.admin) return bad_usage("pack rm: " + options.admin.error().message);
  return remove_pack(options, flags.name);
}

CLI::App* declare(CLI::App& group, Action& chosen, const FlagsPtr& flags, const std::string& name,
                  const std::string& help, Run run) {
  CLI::App* command = group.add_subcommand(name, help);
  declare_client_flags(*command, flags->client);
  declare_data_flag(*command, flags->client);
  command->callback([flags, run, name, &chosen] {
    chosen = [flags, run, name] {
      const auto options = resolve(flags->client);
      if (!options) return bad_usage("pack " + name + ": " + options.error().message);
      return run(*options, *flags);
    };
  });
  return command;
}

void add_add(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<PackFlags>();
  CLI::App* command =
      declare(group, chosen, flags, "add", "Make a file of tiles a map of the server", &run_add);
  command
      ->add_option("file", flags->add.file, "A .pmtiles or .mbtiles file of the server's machine")
      ->type_name("FILE")
      ->required();
  command->add_option("--name", flags->add.name, "What it is called in URLs, default as the file")
      ->type_name("NAME")
      ->check(not_empty);
  command
      ->add_option("--missing", flags->add.missing, "What a tile it does not have is answered with")
      ->check(CLI::IsMember({"204", "404"}));
  declare_admin_flag(*command, flags->client);
  command->footer(
      std::string(
          "Prints the URL of the map and that of its TileJSON. The server reads the file "
          "where it is:\n"
          "it verifies all of it first, and refuses with the reason what is not sound. "
          "Under a name that\n"
          "was added before it replaces the pack between two requests. It is kept until "
          "ron pack rm.\n"
          "A relative path is one of this machine; an absolute one that is not here goes\n"
          "to the server as it is.\n\n"
          "A name has up to 64 of a-z, 0-9, '.', '_' and '-', and no dot in front. Without "
          "--name it is\n"
          "that of the file without .pmtiles or .mbtiles, in lower case and with dashes for "
          "whatever\n"
          "else is in it: 'World Map (2).pmtiles' is world-map-2.\n\n") +
      kPackHelp + kAdminHelp +
      "\nExamples:\n"
      "  ron pack add world.pmtiles\n"
      "  ron pack add world.mbtiles --name countries --missing 404");
}

void add_ls(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<PackFlags>();
  CLI::App* command = declare(group, chosen, flags, "ls", "List the maps of the server", &run_ls);
  command->add_flag("--json", flags->json, "As JSON, an object per line");
  command->footer(std::string("Prints `NAME  STATE  FORMAT  ZOOMS  TILES  SIZE  URL`, and what is "
                              "wrong with a pack.\n\n") +
                  kPackHelp +
                  "\nExample:\n"
                  "  ron pack ls");
}

void add_rm(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<PackFlags>();
  CLI::App* command = declare(group, chosen, flags, "rm", "Remove a map that was added", &run_rm);
  command->add_option("name", flags->name, "What it is called in URLs")
      ->type_name("NAME")
      ->required()
      ->check(not_empty);
  declare_admin_flag(*command, flags->client);
  command->footer(std::string("Its file stays. To remove a pack of ron.toml or of packs_dir, "
                              "change that.\n\n") +
                  kPackHelp + kAdminHelp +
                  "\nExample:\n"
                  "  ron pack rm world");
}

}  // namespace

void add_pack_mount_commands(CLI::App& group, Action& chosen) {
  add_add(group, chosen);
  add_ls(group, chosen);
  add_rm(group, chosen);
}

}  // namespace ron::cli
