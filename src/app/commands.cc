#include "app/commands.h"

#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/process.h"
#include "app/schema.h"
#include "config/render.h"
#include "services/kit/ops_routes.h"

namespace ron::app {
namespace {

// The flags every service has, as overrides of configuration keys.
struct ServiceFlags {
  std::string config;
  std::string bind;
  std::string admin;
  bool amnesia = false;
  std::string cores;
  std::string token_out;
  std::string log_format;
  std::string log_level;
  std::vector<std::string> set;

  void declare(CLI::App& command) {
    command.add_option("--config", config, "Read this configuration file (TOML)")
        ->type_name("FILE");
    command.add_option("--bind", bind, "Listen here; port 0 picks a free one")
        ->type_name("HOST:PORT");
    command.add_option("--admin", admin, "Metrics and debugging listen here")
        ->type_name("HOST:PORT");
    command.add_flag("--amnesia", amnesia, "Keep everything in memory; not a byte on disk");
    command.add_option("--cores", cores, "Event loops; default one per CPU")->type_name("N");
    command.add_option("--token-out", token_out, "Write the admin token there, mode 0600")
        ->type_name("FILE");
    command.add_option("--log-format", log_format, "json or text");
    command.add_option("--log-level", log_level, "trace, debug, info, warn or error");
    command.add_option("--set", set, "Override any key, for example storage.server.max_rps=1000")
        ->type_name("KEY=VALUE");
  }

  [[nodiscard]] ServeOptions options(const std::string& section) const {
    ServeOptions out;
    out.config_file = config;
    out.token_out = token_out;
    const auto override_key = [&out](const std::string& key, const std::string& value) {
      if (!value.empty()) out.flags.push_back(key + "=" + value);
    };
    override_key(section + ".bind", bind);
    override_key(section + ".admin", admin);
    override_key(section + ".amnesia", amnesia ? "true" : "");
    override_key("runtime.cores", cores);
    override_key("log.format", log_format);
    override_key("log.level", log_level);
    out.flags.insert(out.flags.end(), set.begin(), set.end());
    return out;
  }
};

}  // namespace

int run(int argc, char** argv) {
  CLI::App app(
      "RON: a self-hosted, content-addressed store. Store bytes under their BLAKE3 hash, "
      "verified.");
  app.require_subcommand(1);
  ServiceFlags flags;
  CLI::App* storage = app.add_subcommand("storage", "Run svc-storage: objects under /o");
  flags.declare(*storage);
  CLI::App* version = app.add_subcommand("version", "Print the version");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitClean : kExitBadUsage;
  }
  if (version->parsed()) {
    std::printf("ron %s\n", std::string(kit::version()).c_str());
    return kExitClean;
  }
  return serve_storage(flags.options("storage"));
}

}  // namespace ron::app
