#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/caveat_flags.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/key.h"
#include "cli/signer_key.h"
#include "platform/posix/clock.h"
#include "platform/posix/random.h"

namespace ron::cli {
namespace {

struct KeyFlags {
  std::string signer;
  std::string out;
  std::string keys;
  std::string not_after;
  std::string retire_older;
  std::string shown;
};

std::int64_t unix_now() { return platform::posix::SystemClock().unix_ms() / 1000; }

// False, having said why, when the flag holds something else than a moment to come.
bool read_when(const char* flag, const std::string& text, std::optional<std::int64_t>& out) {
  if (text.empty()) return true;
  const auto when = parse_when(text, unix_now());
  if (when) {
    out = *when;
    return true;
  }
  bad_usage(std::string(flag) + ": " + when.error().message);
  return false;
}

int run_gen_signer(const KeyFlags& flags) {
  if (!flags.keys.empty() || !flags.not_after.empty() || !flags.retire_older.empty()) {
    return bad_usage("--signer: only --out goes with it; a signer's end is set in the registry");
  }
  platform::posix::SystemRandom random;
  const std::string file = flags.out.empty() ? flags.signer + ".pem" : flags.out;
  const auto said = generate_signer(flags.signer, file, random);
  return said ? print_result(*said) : failed(said.error().message);
}

int run_gen(const KeyFlags& flags) {
  if (!flags.signer.empty()) return run_gen_signer(flags);
  if (flags.out.empty() == flags.keys.empty()) {
    return bad_usage("key gen: say where the key goes, --out FILE or --keys DIR");
  }
  if (!flags.retire_older.empty() && flags.keys.empty()) {
    return bad_usage("--retire-older: only keys in a directory (--keys) have older ones");
  }
  KeyPlan plan{flags.out, flags.keys, {}, {}};
  const bool good = read_when("--not-after", flags.not_after, plan.not_after_unix_s) &&
                    read_when("--retire-older", flags.retire_older, plan.retire_older_at_unix_s);
  if (!good) return kExitBadUsage;
  platform::posix::SystemRandom random;
  const auto said = generate_key(plan, random, unix_now());
  return said ? print_result(*said) : failed(said.error().message);
}

int run_show(const KeyFlags& flags) {
  const auto said = is_signer_file(flags.shown) ? show_signer_key(flags.shown)
                                                : show_keys(flags.shown, unix_now());
  return said ? print_result(*said) : failed(said.error().message);
}

void add_gen(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<KeyFlags>();
  CLI::App* command = group.add_subcommand("gen", "Make a signing key; never replaces a file");
  CLI::Option* out = command->add_option("--out", flags->out, "Write this file, mode 0600");
  out->type_name("FILE");
  command->add_option("--keys", flags->keys, "Add it to this directory (0700) as the active key")
      ->type_name("DIR")
      ->excludes(out);
  command
      ->add_option("--signer", flags->signer,
                   "Make the Ed25519 key of a person who approves changes of the registry")
      ->type_name("NAME");
  command->add_option("--not-after", flags->not_after, "Its tokens are good until then")
      ->type_name("WHEN");
  command->add_option("--retire-older", flags->retire_older, "Older keys verify until then")
      ->type_name("WHEN");
  command->footer(
      "WHEN is a time from now such as 720h, or an RFC 3339 time.\n\n"
      "Examples:\n"
      "  ron key gen --keys keys                        a first key, for auth.keys_dir\n"
      "  ron key gen --keys keys --retire-older 168h    rotate; old tokens work one more week\n"
      "A running server takes the new keys over on SIGHUP.\n"
      "  ron key gen --signer alice --out alice.pem     for ron registry\n"
      "The secret key is PKCS#8 PEM in FILE, the public one in FILE with .pub instead of .pem;\n"
      "make it on alice's machine and send only the public one.");
  command->callback([flags, &chosen] { chosen = [flags] { return run_gen(*flags); }; });
}

void add_show(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<KeyFlags>();
  CLI::App* command = group.add_subcommand("show", "List keys, never their secrets");
  command
      ->add_option("keys", flags->shown,
                   "A key file or a directory of them; also a signer's or a node's")
      ->type_name("FILE|DIR")
      ->required();
  command->footer(
      "Examples:\n"
      "  ron key show ron-data/keys            the root keys, and this node's public key\n"
      "  ron key show ron-data/keys/node.pem   that alone, for index.discovery.nodes elsewhere\n"
      "  ron key show alice.pub");
  command->callback([flags, &chosen] { chosen = [flags] { return run_show(*flags); }; });
}

}  // namespace

void add_key_commands(CLI::App& root, Action& chosen) {
  CLI::App* group = root.add_subcommand("key", "Signing keys: gen, show");
  group->require_subcommand(1);
  group->footer("Start with: ron key gen --help");
  add_gen(*group, chosen);
  add_show(*group, chosen);
}

}  // namespace ron::cli
