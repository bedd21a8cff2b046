#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "auth/capability.h"
#include "cli/caveat_flags.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/token.h"
#include "platform/posix/clock.h"
#include "platform/posix/files.h"
#include "platform/posix/random.h"

namespace ron::cli {
namespace {

struct TokenFlags {
  KeySource keys;
  CaveatFlags caveats;
  bool any_tenant = false;
  std::string token;
  std::string out;
};

std::int64_t unix_now() { return platform::posix::SystemClock().unix_ms() / 1000; }

void declare_caveats(CLI::App& command, CaveatFlags& flags, const char* tenant_help) {
  command.add_option("--scope", flags.scope, "What it may do, for example storage:write")
      ->type_name("SCOPE,...");
  command.add_option("--tenant", flags.tenant, tenant_help)->type_name("NAME");
  command.add_option("--path-prefix", flags.path_prefix, "Only this path and below")
      ->type_name("PATH");
  command.add_option("--method", flags.method, "Only these methods, for example GET,HEAD")
      ->type_name("METHOD,...");
  command.add_option("--expires", flags.expires, "How long, for example 24h, or an RFC 3339 time")
      ->type_name("WHEN");
  command.add_option("--max-bytes", flags.max_bytes, "Largest body, for example 64KiB")
      ->type_name("SIZE");
}

void declare_keys(CLI::App& command, KeySource& keys) {
  CLI::Option* file = command.add_option("--key", keys.file, "The key file")->type_name("FILE");
  command.add_option("--keys", keys.directory, "The directory of keys; the newest one signs")
      ->type_name("DIR")
      ->excludes(file);
}

// To the file that was named, else to standard output.
int hand_over(const auth::Macaroon& token, const std::string& out) {
  const std::string line = token.text() + "\n";
  if (out.empty()) return print_result(line);
  const auto written = platform::posix::write_private_file(out, line);
  return written ? kExitClean : failed(written.error().message);
}

int run_mint(const TokenFlags& flags) {
  if (!flags.keys.given()) return bad_usage("token mint: say which key signs, --key or --keys");
  const auto caveats = caveats_of(flags.caveats, unix_now());
  if (!caveats) return bad_usage(caveats.error().message);
  const auto keyring = load_keyring(flags.keys);
  if (!keyring) return failed(keyring.error().message);
  platform::posix::SystemRandom random;
  const auto choice = flags.any_tenant ? auth::TenantChoice::Any : auth::TenantChoice::Fixed;
  const auto token = mint(*keyring, *caveats, random, unix_now(), choice);
  return token ? hand_over(*token, flags.out) : failed(token.error().message);
}

int run_attenuate(const TokenFlags& flags) {
  const auto caveats = caveats_of(flags.caveats, unix_now());
  if (!caveats) return bad_usage(caveats.error().message);
  if (caveats->empty()) return bad_usage("token attenuate: say what to take away, see --help");
  const auto token = read_token(flags.token);
  if (!token) return failed(token.error().message);
  const auto narrower = auth::attenuate_token(*token, *caveats);
  return narrower ? hand_over(*narrower, flags.out) : failed(narrower.error().message);
}

int run_inspect(const TokenFlags& flags) {
  const auto token = read_token(flags.token);
  if (!token) return failed(token.error().message);
  if (!flags.keys.given()) return print_result(describe(*token, unix_now(), nullptr));
  const auto keyring = load_keyring(flags.keys);
  if (!keyring) return failed(keyring.error().message);
  return print_result(describe(*token, unix_now(), &*keyring));
}

void add_mint(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<TokenFlags>();
  CLI::App* command = group.add_subcommand("mint", "Make a token with a signing key");
  declare_keys(*command, flags->keys);
  declare_caveats(*command, flags->caveats,
                  "The tenant it acts for and is charged to, for good; without it, none");
  command->get_option("--scope")->required();
  command
      ->add_flag("--any-tenant", flags->any_tenant,
                 "For operators: whoever holds it may act for every tenant")
      ->excludes(command->get_option("--tenant"));
  command->add_option("--out", flags->out, "Write it there, mode 0600, not to standard output")
      ->type_name("FILE");
  command->footer(
      "The tenant of a token is fixed when it is minted: attenuate cannot add one or change it. A\n"
      "token minted with --any-tenant, as a server's admin.token is, acts for no tenant until\n"
      "attenuate --tenant gives it one, which is then fixed as well.\n\n"
      "Examples:\n"
      "  ron token mint --keys keys --scope storage:write --expires 24h\n"
      "  ron token mint --keys keys --scope storage:write,storage:delete --tenant acme \\\n"
      "      --max-bytes 64KiB --out acme.token\n"
      "  ron token mint --keys keys --scope storage:write --any-tenant --out operator.token");
  command->callback([flags, &chosen] { chosen = [flags] { return run_mint(*flags); }; });
}

void add_attenuate(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<TokenFlags>();
  CLI::App* command =
      group.add_subcommand("attenuate", "Narrow a token; needs no key, and cannot be undone");
  command->add_option("--token", flags->token, "The token's file, - for standard input")
      ->type_name("FILE");
  declare_caveats(*command, flags->caveats,
                  "The tenant it acts for; only if it was minted for any tenant");
  command->add_option("--out", flags->out, "Write it there, mode 0600, not to standard output")
      ->type_name("FILE");
  command->footer(
      "Without --token the token is taken from RON_TOKEN.\n\n"
      "What is made of admin.token without --tenant stays good for every tenant: whoever gets it\n"
      "can add --tenant. Name the tenant, or give people a token of `ron token mint`.\n\n"
      "Examples:\n"
      "  ron token attenuate --token admin.token --scope storage:write --tenant acme --expires 1h\n"
      "  RON_TOKEN=$(cat admin.token) ron token attenuate --method GET,HEAD --path-prefix /o");
  command->callback([flags, &chosen] { chosen = [flags] { return run_attenuate(*flags); }; });
}

void add_inspect(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<TokenFlags>();
  CLI::App* command =
      group.add_subcommand("inspect", "Show what a token says, never the token itself");
  command->add_option("token", flags->token, "The token's file, - for standard input")
      ->type_name("FILE");
  declare_keys(*command, flags->keys);
  command->footer(
      "Without a file the token is taken from RON_TOKEN. With keys, the signature is checked.\n\n"
      "Examples:\n"
      "  ron token inspect admin.token\n"
      "  ron token inspect --keys keys - < acme.token");
  command->callback([flags, &chosen] { chosen = [flags] { return run_inspect(*flags); }; });
}

}  // namespace

void add_token_commands(CLI::App& root, Action& chosen) {
  CLI::App* group = root.add_subcommand("token", "Capabilities: mint, attenuate, inspect");
  group->require_subcommand(1);
  group->footer("Start with: ron token mint --help");
  add_mint(*group, chosen);
  add_attenuate(*group, chosen);
  add_inspect(*group, chosen);
}

}  // namespace ron::cli
