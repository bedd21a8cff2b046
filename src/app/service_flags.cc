#include "app/service_flags.h"

#include <utility>

#include <CLI/CLI.hpp>

#include "app/services.h"
#include "cli/server_url.h"

namespace ron::app {
namespace {

std::string here(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

}  // namespace

void ServiceFlags::declare(CLI::App& command) {
  config.declare(command);
  command.add_option("--bind", bind, "Listen here; port 0 picks a free one")
      ->type_name("HOST:PORT");
  command.add_option("--admin", admin, "Metrics and debugging listen here")->type_name("HOST:PORT");
  command.add_option("--data", data, "Keep its data, keys and the admin token there")
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

void ServiceFlags::declare_only(CLI::App& command) {
  std::string known;
  for (const ServiceEntry& entry : services()) {
    known += (known.empty() ? "" : ",") + std::string(entry.kind->name);
  }
  command
      .add_option("--only", only,
                  "Run these behind the gateway and leave the others out; there are " + known)
      ->type_name("NAME,NAME")
      ->delimiter(',')
      ->allow_extra_args(false);
}

// Shortcuts come first: a --set for the same key is more explicit and wins.
base::Result<ServeOptions> ServiceFlags::options(std::string_view command) const {
  using base::Code;
  using base::fail;
  if (data.empty()) return fail(Code::Malformed, "--data: name a directory");
  const bool is_up = command == kUp;
  if (!is_up && !only.empty()) return fail(Code::Malformed, "--only: is for ron up");
  ServeOptions out = config.options();
  auto selected = select_services(is_up ? in_front(only) : std::vector{std::string(command)});
  if (!selected) {
    return fail(Code::Malformed, (is_up ? "--only: " : "") + selected.error().message);
  }
  out.services = std::move(*selected);
  const std::string section(front(out.services).name);
  if (is_up) {
    out.defaults = {{section + ".bind", here(cli::kUpPort)},
                    {section + ".admin", here(cli::kUpAdminPort)}};
  }
  out.token_out = token_out;
  out.data_dir = data;
  out.flags.clear();
  const auto override_key = [&out](const std::string& key, const std::string& value) {
    if (!value.empty()) out.flags.push_back(key + "=" + value);
  };
  override_key(section + ".bind", bind);
  override_key(section + ".admin", admin);
  override_key(section + ".uds.path", uds);
  for (const ServiceEntry* entry : out.services) {
    override_key(std::string(entry->kind->name) + ".amnesia", amnesia ? "true" : "");
  }
  override_key("runtime.cores", cores);
  override_key("log.format", log_format);
  override_key("log.level", log_level);
  out.flags.insert(out.flags.end(), config.set.begin(), config.set.end());
  return out;
}

}  // namespace ron::app
