#include "app/commands.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/command_groups.h"
#include "cli/exit.h"
#include "config/nearest.h"
#include "config/value.h"
#include "services/kit/ops_routes.h"

namespace ron::app {
namespace {

using Arguments = std::span<char* const>;

std::string version_text() { return "ron " + std::string(kit::version()); }

std::vector<std::string> command_names(const CLI::App& group) {
  std::vector<std::string> names;
  for (const CLI::App* command : group.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  std::ranges::sort(names);
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// Why the words that should name a command do not; nothing when they do. The library would call a
// mistyped command a surplus argument.
std::optional<std::string> unknown_command(const CLI::App& root, Arguments arguments) {
  const CLI::App* at = &root;
  std::string path;  // "token " once inside
  for (const char* argument : arguments) {
    const std::vector<std::string> names = command_names(*at);
    const std::string word = argument;
    if (names.empty() || word.starts_with('-')) return std::nullopt;
    if (!std::ranges::binary_search(names, word)) {
      const std::string near = config::nearest(word, names);
      return "no command '" + path + config::printable(word) + "' in this build" +
             (near.empty() ? "; " : " (did you mean " + near + "?); ") + "there are " +
             joined(names);
    }
    at = at->get_subcommand(word);
    path += word + " ";
  }
  const std::vector<std::string> names = command_names(*at);
  // The registry's command runs the service when nothing follows it.
  if (names.empty() || at->get_require_subcommand_min() == 0) return std::nullopt;
  return (path.empty() ? "say what to do: " : path + "needs a command: ") + joined(names) +
         "; try ron " + path + "--help";
}

// The words of the command that was parsed, each followed by a blank.
std::string parsed_path(const CLI::App& root) {
  std::string path;
  for (const CLI::App* at = &root; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    path += at->get_name() + " ";
  }
  return path;
}

// One line for whatever the library found. Surplus words are not repeated: they may be secrets.
std::string explain(const CLI::App& root, const CLI::ParseError& error) {
  const std::string path = parsed_path(root);
  std::string what = config::printable(error.what(), 200);
  // Without a command the library complains of that, not of the option it did not know.
  if (path.empty() || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    what = "more arguments than it takes";
    for (const std::string& extra : root.remaining(true)) {
      if (!extra.starts_with('-') || extra.size() < 2) continue;
      what = "no option " + config::printable(extra.substr(0, extra.find('=')), 40);
      break;
    }
  }
  return (path.empty() ? "" : path.substr(0, path.size() - 1) + ": ") + what + "; try ron " + path +
         "--help";
}

void add_version_command(CLI::App& root, cli::Action& chosen) {
  root.set_version_flag("--version", version_text());
  CLI::App* command = root.add_subcommand("version", "Print the version");
  command->callback(
      [&chosen] { chosen = [] { return cli::print_result(version_text() + "\n"); }; });
}

// In the list of commands only: run() makes `ron put --help` of `ron help put`.
void add_help_command(CLI::App& root) {
  root.add_subcommand("help", "Explain a command: ron help put");
}

std::vector<char*> without_help_command(Arguments arguments) {
  static std::string help_flag = "--help";
  std::vector<char*> out(arguments.begin(), arguments.end());
  if (out.empty() || std::string_view(out.front()) != "help") return out;
  out.erase(out.begin());
  out.push_back(help_flag.data());
  return out;
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App root(
      "RON: a self-hosted, content-addressed store. Store bytes under their BLAKE3 hash, "
      "verified.",
      "ron");
  root.require_subcommand(1);
  cli::Action chosen;
  add_service_commands(root, chosen);
  cli::add_transfer_commands(root, chosen);
  cli::add_object_commands(root, chosen);
  cli::add_index_commands(root, chosen);
  cli::add_site_commands(root, chosen);
  cli::add_token_commands(root, chosen);
  cli::add_key_commands(root, chosen);
  cli::add_pack_commands(root, chosen);
  cli::add_registry_commands(*root.get_subcommand("registry"), chosen);
  add_config_commands(root, chosen);
  add_topology_command(root, chosen);
  add_doctor_command(root, chosen);
  add_version_command(root, chosen);
  add_help_command(root);
  root.footer(
      "First steps:\n"
      "  ron up --amnesia --token-out admin.token &\n"
      "  ron put --token admin.token FILE\n"
      "  ron get b3:<hash> -o FILE\n"
      "  ron put --token admin.token DIR --name docs/v2 && ron get docs/v2 -o COPY\n"
      "  ron site add --token admin.token docs DIR\n"
      "Every command explains itself: ron help COMMAND.");

  const Arguments given(argv + 1, static_cast<std::size_t>(std::max(argc - 1, 0)));
  std::vector<char*> arguments = without_help_command(given);
  if (const auto why = unknown_command(root, arguments)) return cli::bad_usage(*why);
  arguments.insert(arguments.begin(), argv[0]);
  try {
    root.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::Success& asked) {  // --help, --version
    return root.exit(asked);
  } catch (const CLI::ParseError& error) {
    return cli::bad_usage(explain(root, error));
  }
  // What a start cannot do without and the kernel refuses.
  try {
    return chosen();
  } catch (const std::exception& failure) {
    return cli::failed(failure.what());
  }
}

}  // namespace ron::app
