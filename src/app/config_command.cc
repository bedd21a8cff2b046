#include <algorithm>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "app/command_groups.h"
#include "app/config_flags.h"
#include "cli/exit.h"
#include "config/render.h"
#include "services/kit/capability_gate.h"

namespace ron::app {
namespace {

using ConfigPtr = std::shared_ptr<const config::Config>;

struct ShowFlags {
  ConfigFlags config;
  std::string format = "text";
};

base::Result<ConfigPtr> load(const ConfigFlags& flags) {
  const auto inputs = read_inputs(flags.options());
  if (!inputs) return base::fail(inputs.error());
  const auto outcome = config::load(schema(), *inputs);
  if (!outcome) return base::fail(base::Code::Malformed, outcome.error().text());
  // A start would refuse these as well.
  const auto denied = kit::parse_deny_list((*outcome)->get(kit::auth_section())->deny);
  if (!denied) return base::fail(denied.error());
  return *outcome;
}

int run_check(const ConfigFlags& flags) {
  const auto config = load(flags);
  if (!config) return cli::failed(config.error().message);
  const auto entries = (*config)->entries();
  const auto set = std::ranges::count_if(entries, [](const config::Entry& entry) {
    return entry.source.layer != config::Layer::Default;
  });
  return cli::print_result("ok: " + std::to_string(entries.size()) + " keys, " +
                           std::to_string(set) + " of them set\n");
}

int run_show(const ShowFlags& flags) {
  const auto config = load(flags.config);
  if (!config) return cli::failed(config.error().message);
  if (flags.format == "json") return cli::print_result(config::show_json(**config) + "\n");
  if (flags.format == "toml") return cli::print_result(config::effective_toml(schema(), **config));
  return cli::print_result(config::show(**config));
}

}  // namespace

void add_config_commands(CLI::App& root, cli::Action& chosen) {
  CLI::App* group = root.add_subcommand("config", "Configuration: check, show");
  group->require_subcommand(1);
  group->footer(
      "Flags win over RON_ environment variables, those over the file, it over defaults.");

  const auto checked = std::make_shared<ConfigFlags>();
  CLI::App* check = group->add_subcommand("check", "Say ok, or every problem with its place");
  checked->declare(*check);
  check->footer("Example:\n  ron config check --config ron.toml");
  check->callback([checked, &chosen] { chosen = [checked] { return run_check(*checked); }; });

  const auto shown = std::make_shared<ShowFlags>();
  CLI::App* show = group->add_subcommand("show", "Show every effective value and its source");
  shown->config.declare(*show);
  show->add_option("--format", shown->format, "text, json, or toml: an annotated file")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json", "toml"}));
  show->footer(
      "Examples:\n"
      "  ron config show --config ron.toml\n"
      "  ron config show --format toml > ron.toml");
  show->callback([shown, &chosen] { chosen = [shown] { return run_show(*shown); }; });
}

}  // namespace ron::app
