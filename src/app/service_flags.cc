#include "app/service_flags.h"

#include <CLI/CLI.hpp>

namespace ron::app {

void ServiceFlags::declare(CLI::App& command) {
  config.declare(command);
  command.add_option("--bind", bind, "Listen here; port 0 picks a free one")
      ->type_name("HOST:PORT");
  command.add_option("--admin", admin, "Metrics and debugging listen here")->type_name("HOST:PORT");
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
  command.add_option("--uds", uds, "Listen on this Unix socket, too; its directory must be 0700")
      ->type_name("PATH");
}

std::string ServiceFlags::problem() const {
  if (data.empty()) return "--data: name a directory";
  return "";
}

// Shortcuts come first: a --set for the same key is more explicit and wins.
ServeOptions ServiceFlags::options(const std::string& section) const {
  ServeOptions out = config.options();
  out.token_out = token_out;
  out.data_dir = data;
  out.flags.clear();
  const auto override_key = [&out](const std::string& key, const std::string& value) {
    if (!value.empty()) out.flags.push_back(key + "=" + value);
  };
  override_key(section + ".bind", bind);
  override_key(section + ".admin", admin);
  override_key(section + ".uds.path", uds);
  override_key(section + ".amnesia", amnesia ? "true" : "");
  override_key("runtime.cores", cores);
  override_key("log.format", log_format);
  override_key("log.level", log_level);
  out.flags.insert(out.flags.end(), config.set.begin(), config.set.end());
  return out;
}

}  // namespace ron::app
