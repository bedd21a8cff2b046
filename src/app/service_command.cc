#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "app/command_groups.h"
#include "app/config_flags.h"
#include "cli/exit.h"

namespace ron::app {
namespace {

// The flags every service has; most of them are overrides of configuration keys.
struct ServiceFlags {
  ConfigFlags config;
  std::string bind;
  std::string admin;
  bool amnesia = false;
  std::string cores;
  std::string token_out;
  std::string log_format;
  std::string log_level;
  std::string uds;
  std::string data{kDefaultDataDirectory};

  void declare(CLI::App& command) {
    config.declare(command);
    command.add_option("--bind", bind, "Listen here; port 0 picks a free one")
        ->type_name("HOST:PORT");
    command.add_option("--admin", admin, "Metrics and debugging listen here")
        ->type_name("HOST:PORT");
    command.add_option("--data", data, "Keep objects, keys and the admin token there")
        ->type_name("DIR")
        ->capture_default_str();
    command.add_flag("--amnesia", amnesia, "Keep everything in memory; not a byte on disk");
    command.add_option("--cores", cores, "Event loops; default one per CPU")->type_name("N");
    command.add_option("--token-out", token_out, "Write the admin token there, mode 0600")
        ->type_name("FILE");
    command.add_option("--log-format", log_format, "json or text")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"json", "text"}));
    command.add_option("--log-level", log_level, "trace, debug, info, warn or error")
        ->type_name("LEVEL")
        ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error"}));
    // Known to the contract, not to this build: an empty group keeps it out of the help.
    command.add_option("--uds", uds)->group("");
  }

  // Shortcuts come first: a --set for the same key is more explicit and wins.
  [[nodiscard]] ServeOptions options(const std::string& section) const {
    ServeOptions out = config.options();
    out.token_out = token_out;
    out.data_dir = data;
    out.flags.clear();
    const auto override_key = [&out](const std::string& key, const std::string& value) {
      if (!value.empty()) out.flags.push_back(key + "=" + value);
    };
    override_key(section + ".bind", bind);
    override_key(section + ".admin", admin);
    override_key(section + ".amnesia", amnesia ? "true" : "");
    override_key("runtime.cores", cores);
    override_key("log.format", log_format);
    override_key("log.level", log_level);
    out.flags.insert(out.flags.end(), config.set.begin(), config.set.end());
    return out;
  }
};

int run_storage(const ServiceFlags& flags) {
  if (!flags.uds.empty()) return cli::bad_usage("not in this build: --uds (Unix sockets)");
  if (flags.data.empty()) return cli::bad_usage("--data: name a directory");
  return serve_storage(flags.options("storage"));
}

}  // namespace

void add_service_commands(CLI::App& root, cli::Action& chosen) {
  const auto flags = std::make_shared<ServiceFlags>();
  CLI::App* command = root.add_subcommand("storage", "Run svc-storage: objects under /o");
  flags->declare(*command);
  command->footer(
      "Prints one line when it listens; logs go to standard error. SIGTERM drains, a second one\n"
      "aborts, SIGHUP reloads the configuration, keys and deny list.\n\n"
      "Examples:\n"
      "  ron storage --amnesia --token-out admin.token\n"
      "  ron storage --amnesia --bind 127.0.0.1:0 --set auth.keys_dir=keys\n"
      "  ron storage --config ron.toml");
  command->callback([flags, &chosen] { chosen = [flags] { return run_storage(*flags); }; });
}

}  // namespace ron::app
