#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "catalog/media_type.h"
#include "cli/client_flags.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/index_read.h"
#include "cli/tree_show.h"

namespace ron::cli {
namespace {

constexpr std::uint16_t kIndexPort = 8082;  // where `ron index` listens by itself

constexpr const char* kIndexHelp =
    "The server is --url, else RON_URL, else http://127.0.0.1:8080 (ron up) or, if nobody listens\n"
    "there, port 8082 (ron index). The token is the one in --token FILE, else RON_TOKEN, else\n"
    "keys/admin.token of the data directory; reading needs none.\n";

constexpr const char* kRefHelp =
    "NAME@3 is version 3 of a name. In NAME/PATH the longest name that exists is meant, and the\n"
    "rest is a place in its tree. The address of a manifest (b3:…, b3:…/PATH) does as well.\n\n";

struct IndexFlags {
  IndexFlags() { client.service_port = kIndexPort; }

  ClientFlags client;
  std::string what;
  std::string other;
  std::string type;
  std::string region;
  std::vector<std::string> meta;
  std::optional<std::uint64_t> if_version;
  std::optional<std::uint64_t> limit;
  bool json = false;
  bool is_long = false;
  bool recursive = false;
  bool fresh = false;
};
using FlagsPtr = std::shared_ptr<IndexFlags>;
using Run = int (*)(const ClientOptions& options, const IndexFlags& flags);

CLI::App* declare(CLI::App& group, Action& chosen, const FlagsPtr& flags, const std::string& name,
                  const std::string& help, Run run) {
  CLI::App* command = group.add_subcommand(name, help);
  declare_client_flags(*command, flags->client);
  declare_data_flag(*command, flags->client);
  command->callback([flags, run, name, &chosen] {
    chosen = [flags, run, name] {
      const auto options = resolve(flags->client);
      if (!options) return bad_usage(name + ": " + options.error().message);
      return run(*options, *flags);
    };
  });
  return command;
}

void declare_json(CLI::App& command, IndexFlags& flags) {
  command.add_flag("--json", flags.json, "As JSON, an object per line");
}
void declare_name(CLI::App& command, IndexFlags& flags, const char* what, const char* type_name) {
  command.add_option("name", flags.what, what)->type_name(type_name)->required();
}
void declare_if_version(CLI::App& command, IndexFlags& flags) {
  command
      .add_option("--if-version", flags.if_version,
                  "Only if the name is at this version, 0: not at all")
      ->type_name("N");
}

int refuse(const char* command, const base::Error& error) {
  return bad_usage(std::string(command) + ": " + error.message);
}

int run_name_set(const ClientOptions& options, const IndexFlags& flags) {
  const auto name = catalog::parse_name(flags.what);
  if (!name) return refuse("name set", name.error());
  const auto target = base::ObjectId::parse(flags.other);
  if (!target) return refuse("name set", target.error());
  if (!flags.type.empty() && !catalog::is_media_type(flags.type)) {
    return bad_usage("name set: --type is not a media type such as text/html");
  }
  std::map<std::string, std::string> meta;
  for (const std::string& pair : flags.meta) {
    const std::size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return bad_usage("name set: write --meta as KEY=VALUE");
    }
    meta[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return set_name(options, {*name, *target, flags.type, std::move(meta), flags.if_version});
}
int run_name_get(const ClientOptions& options, const IndexFlags& flags) {
  const auto ref = catalog::parse_name_ref(flags.what);
  if (!ref) return refuse("name get", ref.error());
  return show_name(options, *ref, flags.json);
}
int run_name_history(const ClientOptions& options, const IndexFlags& flags) {
  const auto name = catalog::parse_name(flags.what);
  if (!name) return refuse("name history", name.error());
  return show_history(options, *name, flags.json);
}
int run_name_rm(const ClientOptions& options, const IndexFlags& flags) {
  const auto name = catalog::parse_name(flags.what);
  if (!name) return refuse("name rm", name.error());
  return remove_name(options, *name, flags.if_version);
}
int run_name_ls(const ClientOptions& options, const IndexFlags& flags) {
  return list_names(options, {flags.what, flags.recursive, flags.is_long, flags.json});
}
int run_resolve(const ClientOptions& options, const IndexFlags& flags) {
  const auto key = catalog::parse_key(flags.what);
  if (!key) return refuse("resolve", key.error());
  return resolve_key(options, *key, flags.fresh, flags.json);
}
int run_providers(const ClientOptions& options, const IndexFlags& flags) {
  const auto address = base::ObjectId::parse(flags.what);
  if (!address) return refuse("providers", address.error());
  return find_providers(options, {*address, flags.region, flags.limit, flags.json});
}
int run_ls(const ClientOptions& options, const IndexFlags& flags) {
  return list_tree(options, {flags.what, flags.is_long, flags.recursive, flags.json});
}
int run_diff(const ClientOptions& options, const IndexFlags& flags) {
  return diff_trees(options, {flags.what, flags.other, flags.json});
}

void add_name_set(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<IndexFlags>();
  CLI::App* command =
      declare(group, chosen, flags, "set", "Let a name stand for an object", &run_name_set);
  declare_name(*command, *flags, "The name", "NAME");
  command->add_option("address", flags->other, "b3: and 64 hex digits")
      ->type_name("ADDR")
      ->required();
  command->add_option("--type", flags->type, "What the object is, such as text/html")
      ->type_name("TYPE");
  command->add_option("--meta", flags->meta, "Something to remember with it; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  declare_if_version(*command, *flags);
  command->footer(
      std::string("Prints the new version, `NAME@N  ADDR  TYPE  TIME`. Earlier ones stay: NAME@N "
                  "is version N.\nron put --name stores and names in one go, and makes trees of "
                  "directories.\n\n") +
      kIndexHelp +
      "\nExamples:\n"
      "  ron name set docs/logo b3:<hash> --type image/png\n"
      "  ron name set docs/logo b3:<hash> --if-version 3");
}

void add_name_get(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<IndexFlags>();
  CLI::App* command =
      declare(group, chosen, flags, "get", "Show what a name stands for", &run_name_get);
  declare_name(*command, *flags, "The name, or NAME@N for one of its versions", "NAME[@N]");
  declare_json(*command, *flags);
  command->footer(std::string("Prints `NAME@N  ADDR  TYPE  TIME`.\n\n") + kIndexHelp +
                  "\nExamples:\n"
                  "  ron name get docs/v2\n"
                  "  ron name get docs/v2@3 --json");
}

void add_name_history(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<IndexFlags>();
  CLI::App* command = declare(group, chosen, flags, "history",
                              "Show all versions of a name, the newest first", &run_name_history);
  declare_name(*command, *flags, "The name", "NAME");
  declare_json(*command, *flags);
  command->footer(std::string("A removal is a version too.\n\n") + kIndexHelp +
                  "\nExample:\n"
                  "  ron name history docs/v2");
}

void add_name_rm(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<IndexFlags>();
  CLI::App* command = declare(group, chosen, flags, "rm", "Remove a name", &run_name_rm);
  declare_name(*command, *flags, "The name", "NAME");
  declare_if_version(*command, *flags);
  command->footer(std::string("The history of the name and its objects stay; ron rm removes "
                              "objects.\n\n") +
                  kIndexHelp +
                  "\nExample:\n"
                  "  ron name rm docs/v1");
}

void add_name_ls(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<IndexFlags>();
  CLI::App* command = declare(group, chosen, flags, "ls", "List names", &run_name_ls);
  command->add_option("prefix", flags->what, "Only names that begin so")->type_name("PREFIX");
  command->add_flag("-l,--long", flags->is_long, "With version, address, type and time");
  command->add_flag("-r,--recursive", flags->recursive, "Every name, not only up to the next /");
  declare_json(*command, *flags);
  command->footer(std::string("`docs/` stands for all names that begin so: ron name ls docs/ lists "
                              "them. What is in a tree is\nshown by ron ls.\n\n") +
                  kIndexHelp +
                  "\nExamples:\n"
                  "  ron name ls\n"
                  "  ron name ls docs/ --long");
}

void add_resolve(CLI::App& root, Action& chosen) {
  const auto flags = std::make_shared<IndexFlags>();
  CLI::App* command = declare(root, chosen, flags, "resolve",
                              "Find the address of a name and who has it", &run_resolve);
  command->add_option("key", flags->what, "A name, NAME@N, or b3: and 64 hex digits")
      ->type_name("KEY")
      ->required();
  command->add_flag("--fresh", flags->fresh, "Past the server's cache");
  declare_json(*command, *flags);
  command->footer(std::string("Prints the address, where the answer came from, and providers, the "
                              "best first.\n\n") +
                  kIndexHelp +
                  "\nExamples:\n"
                  "  ron resolve docs/v2\n"
                  "  ron resolve b3:<hash> --fresh --json");
}

void add_providers(CLI::App& root, Action& chosen) {
  const auto flags = std::make_shared<IndexFlags>();
  CLI::App* command =
      declare(root, chosen, flags, "providers", "List who has an object", &run_providers);
  command->add_option("address", flags->what, "b3: and 64 hex digits")
      ->type_name("ADDR")
      ->required();
  command->add_option("--region", flags->region, "Prefer providers of this region")
      ->type_name("REGION");
  command->add_option("--limit", flags->limit, "So many at most")->type_name("N");
  declare_json(*command, *flags);
  command->footer(std::string("Prints `URL  REGION  SCORE  SOURCE  until TIME`, the best "
                              "first.\n\n") +
                  kIndexHelp +
                  "\nExample:\n"
                  "  ron providers b3:<hash> --limit 3");
}

void add_ls(CLI::App& root, Action& chosen) {
  const auto flags = std::make_shared<IndexFlags>();
  flags->client.service_port = ClientFlags().service_port;
  CLI::App* command = declare(root, chosen, flags, "ls", "List a tree that has a name", &run_ls);
  declare_name(*command, *flags, "The name of a tree, perhaps with a path in it",
               "NAME[@N][/PATH]");
  command->add_flag("-l,--long", flags->is_long, "With kind, size, time and address");
  command->add_flag("-r,--recursive", flags->recursive, "Everything below, with its path");
  declare_json(*command, *flags);
  command->footer(std::string("Kinds are f a file, x an executable one, l a link, d a directory. "
                              "ron name ls lists names.\n\n") +
                  kRefHelp + kClientHelp +
                  "\nExamples:\n"
                  "  ron ls docs/v2\n"
                  "  ron ls docs/v2@3/css --long");
}

void add_diff(CLI::App& root, Action& chosen) {
  const auto flags = std::make_shared<IndexFlags>();
  flags->client.service_port = ClientFlags().service_port;
  CLI::App* command = declare(root, chosen, flags, "diff", "Compare two trees", &run_diff);
  command->add_option("before", flags->what, "A tree")->type_name("NAME[@N][/PATH]")->required();
  command->add_option("after", flags->other, "Another one")
      ->type_name("NAME[@N][/PATH]")
      ->required();
  declare_json(*command, *flags);
  command->footer(std::string("Prints a line for every path that differs: A added, M modified, D "
                              "deleted. Exit code 0 if the\ntrees are the same, 1 if they differ, "
                              "2 if that cannot be told. No file is fetched.\n\n") +
                  kRefHelp + kClientHelp +
                  "\nExamples:\n"
                  "  ron diff docs/v2@3 docs/v2@4\n"
                  "  ron diff docs/v1 docs/v2");
}

}  // namespace

void add_index_commands(CLI::App& root, Action& chosen) {
  add_ls(root, chosen);
  add_diff(root, chosen);
  CLI::App* const names =
      root.add_subcommand("name", "Set, show, list and remove names of objects and trees");
  names->require_subcommand(1);
  add_name_set(*names, chosen);
  add_name_get(*names, chosen);
  add_name_history(*names, chosen);
  add_name_ls(*names, chosen);
  add_name_rm(*names, chosen);
  add_resolve(root, chosen);
  add_providers(root, chosen);
}

}  // namespace ron::cli
