#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/ulid.h"
#include "cli/client_flags.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/registry_change.h"
#include "cli/registry_client.h"
#include "cli/registry_init.h"
#include "cli/registry_read.h"
#include "cli/registry_verify.h"
#include "cli/signer_key.h"

namespace ron::cli {
namespace {

constexpr std::uint16_t kRegistryPort = 8083;  // where `ron registry` listens by itself
constexpr std::size_t kMostDocumentBytes = 2 * base::kMiB;

constexpr const char* kServerHelp =
    "The server is --url, else RON_URL, else http://127.0.0.1:8080 (ron up) or, if nobody listens\n"
    "there, port 8083 (ron registry). The token is the one in --token FILE, else RON_TOKEN, else\n"
    "keys/admin.token of the data directory; reading needs none.\n";

struct RegistryFlags {
  RegistryFlags() { client.service_port = kRegistryPort; }

  ClientFlags client;
  std::string what;  // FILE, ID, VERSION, TYPE/ID
  std::string key;
  std::string reason;
  std::string out;
  std::string vkey;
  std::string proof;
  std::string data;
  std::vector<std::string> kept;
  std::vector<std::string> signers;
  std::uint64_t threshold = 0;
  std::uint64_t limit = LogRange().limit;
  std::optional<std::uint64_t> from;
  std::optional<std::uint64_t> version;
  bool json = false;
  bool yes = false;
};
using FlagsPtr = std::shared_ptr<RegistryFlags>;
using Run = int (*)(const ClientOptions& options, RegistryFlags& flags);

// What makes another command mean the same server. Somebody else may run it, with a token of their
// own.
SameServer same_server(const RegistryFlags& flags) {
  SameServer same;
  if (!flags.client.url.empty()) same += " --url " + flags.client.url;
  if (!flags.client.token_file.empty()) same += " --token FILE";
  return same;
}

// A command to a server.
CLI::App* declare(CLI::App& group, Action& chosen, const FlagsPtr& flags, const std::string& name,
                  const std::string& help, Run run) {
  CLI::App* command = group.add_subcommand(name, help);
  declare_client_flags(*command, flags->client);
  command->callback([flags, run, name, &chosen] {
    chosen = [flags, run, name] {
      const auto options = resolve(flags->client);
      if (!options) return bad_usage("registry " + name + ": " + options.error().message);
      return run(*options, *flags);
    };
  });
  return command;
}

void declare_json(CLI::App& command, RegistryFlags& flags) {
  command.add_flag("--json", flags.json, "As JSON");
}

void declare_id(CLI::App& command, RegistryFlags& flags) {
  command.add_option("id", flags.what, "The proposal, as propose printed it")
      ->type_name("ID")
      ->required();
}

// Bad usage unless it is the id of a proposal.
std::optional<int> refuse_id(RegistryFlags& flags, const char* name) {
  const auto id = base::Ulid::parse(flags.what);
  if (!id) {
    return bad_usage(std::string("registry ") + name +
                     ": a proposal's id has 26 characters, such as "
                     "01JD0W5QJ8S3Q2M0V6X9Y4Z7AB; ron registry proposals lists them");
  }
  flags.what = id->text();
  return std::nullopt;
}

// The document in the file, or standard input.
base::Result<base::Value> read_document(const std::string& file) {
  const auto text = read_input(file, kMostDocumentBytes);
  if (!text) return base::fail(text.error());
  auto value = base::parse_json(*text);
  if (value) return value;
  return base::fail(value.error().code, (file == "-" ? "standard input" : "'" + file + "'") +
                                            std::string(" is no JSON document: ") +
                                            value.error().message);
}

void add_init(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<RegistryFlags>();
  flags->data = flags->client.data;
  CLI::App* command = group.add_subcommand(
      "init", "Begin a log with signers of your choice, before the first start");
  command->add_option("--signer", flags->signers, "A signer's public key; its name is the signer's")
      ->type_name("FILE.pub")
      ->required();
  command->add_option("--threshold", flags->threshold, "So many of them have to approve a change")
      ->type_name("M")
      ->required();
  command->add_option("--data", flags->data, "Data directory, default ron-data")->type_name("DIR");
  command->callback([flags, &chosen] {
    chosen = [flags] { return registry_init(flags->signers, flags->threshold, flags->data); };
  });
  command->footer(
      "Without it the first start makes three keys with threshold 2 in keys/signers, which then\n"
      "have to be moved to three machines. The threshold is less than the number of signers, so\n"
      "that one lost key does not stop everything. There must be no log yet.\n\n"
      "Example, with `ron key gen --signer NAME --out NAME.pem` on three machines before:\n"
      "  ron registry init --signer alice.pub --signer bob.pub --signer carol.pub --threshold 2\n"
      "  log b3:1f2e… in ron-data/registry\n"
      "  threshold 2\n"
      "  signer 0a1b2c3d4e5f6071  alice\n"
      "  …\n"
      "  next: ron up --data ron-data");
}

void add_head(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<RegistryFlags>();
  CLI::App* command = declare(group, chosen, flags, "head", "Print the last version and its hash",
                              [](const ClientOptions& options, RegistryFlags& all) {
                                return registry_head(options, all.json);
                              });
  declare_json(*command, *flags);
  command->footer(std::string(kServerHelp) +
                  "\nExample:\n"
                  "  ron registry head\n"
                  "  version 12  b3:5d41…");
}

void add_show(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<RegistryFlags>();
  CLI::App* command =
      declare(group, chosen, flags, "show", "Print a version, a proposal or a descriptor",
              [](const ClientOptions& options, RegistryFlags& all) {
                return registry_show(options, all.what, all.json);
              });
  command
      ->add_option("what", flags->what,
                   "A version, a proposal's id, or the type and id of a descriptor")
      ->type_name("VERSION|ID|TYPE/ID")
      ->required();
  declare_json(*command, *flags);
  command->footer(std::string(kServerHelp) +
                  "\nExamples:\n"
                  "  ron registry show 12\n"
                  "  ron registry show 01JD0W5QJ8S3Q2M0V6X9Y4Z7AB\n"
                  "  ron registry show region/eu");
}

void add_propose(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<RegistryFlags>();
  CLI::App* command =
      declare(group, chosen, flags, "propose", "Propose a change",
              [](const ClientOptions& options, RegistryFlags& all) {
                auto document = read_document(all.what);
                if (!document) return failed(document.error().message);
                return registry_propose(options, std::move(*document), same_server(all), all.json);
              });
  command->add_option("file", flags->what, "JSON, or - for standard input")
      ->type_name("FILE|-")
      ->required();
  declare_data_flag(*command, flags->client);
  declare_json(*command, *flags);
  command->footer(
      std::string(
          "The file holds {\"change\", \"reason\"?, \"if_head\"?}. Changes:\n"
          "  {\"kind\":\"update\",\"set\":[DESCRIPTOR,…],\"remove\":[\"type/id\",…]}\n"
          "  "
          "{\"kind\":\"signers\",\"threshold\":2,\"signers\":[{\"name\",\"public_key\",\"not_"
          "after\"?},…]}\n"
          "  {\"kind\":\"revoke\",\"signers\":[ID,…],\"reason\":\"…\"}\n"
          "A descriptor has a type (node, service, region, placement), an id and fields of its\n"
          "type. Needs a token with registry:propose. It waits 24 hours for its approvals.\n\n") +
      kServerHelp +
      "\nExample:\n"
      "  echo '{\"change\":{\"kind\":\"update\",\"set\":[{\"type\":\"region\",\"id\":\"eu\"}]}}' "
      "|\n"
      "    ron registry propose -\n"
      "  proposal 01JD0W5QJ8S3Q2M0V6X9Y4Z7AB  update\n"
      "  payload b3:9c56…\n"
      "  changes, compared with HEAD:\n"
      "    + region/eu  {\"id\":\"eu\",\"type\":\"region\"}\n"
      "  0 of 2 approvals, waits for approvals, expires 2026-11-17T12:00:00Z\n"
      "  next, 2 signers each with their own key:\n"
      "    ron registry approve 01JD0W5QJ8S3Q2M0V6X9Y4Z7AB --key FILE");
}

void add_supersede(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<RegistryFlags>();
  CLI::App* command =
      declare(group, chosen, flags, "supersede", "Propose to undo HEAD's change and make another",
              [](const ClientOptions& options, RegistryFlags& all) {
                auto change = read_document(all.what);
                if (!change) return failed(change.error().message);
                // As for propose: with the change in it.
                if (const base::Value* inner = change->find("change")) change = base::Value(*inner);
                return registry_supersede(options, std::move(*change), all.reason, same_server(all),
                                          all.json);
              });
  command->add_option("file", flags->what, "JSON of the change instead, or - for standard input")
      ->type_name("FILE|-")
      ->required();
  command->add_option("--reason", flags->reason, "Why HEAD's change was wrong")
      ->type_name("TEXT")
      ->required();
  declare_data_flag(*command, flags->client);
  declare_json(*command, *flags);
  command->footer(
      std::string(
          "Nothing is ever taken out of the log: the version that was wrong stays, and the\n"
          "next one undoes it. Only HEAD can be superseded, with the usual approvals.\n\n") +
      kServerHelp +
      "\nExample:\n"
      "  ron registry supersede change.json --reason 'wrong address'");
}

void add_approve(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<RegistryFlags>();
  CLI::App* command =
      declare(group, chosen, flags, "approve", "Look at a proposal and sign it with your key",
              [](const ClientOptions& options, RegistryFlags& all) {
                if (const auto refused = refuse_id(all, "approve")) return *refused;
                auto key = read_signing_key(all.key);
                if (!key) return failed(key.error().message);
                const ApprovePlan plan{all.what, std::move(*key), all.yes};
                return registry_approve(options, plan, same_server(all));
              });
  declare_id(*command, *flags);
  command->add_option("--key", flags->key, "Your secret key (PKCS#8 PEM); it stays here")
      ->type_name("FILE")
      ->required();
  command->add_flag("-y,--yes", flags->yes, "Do not ask");
  declare_data_flag(*command, flags->client);
  command->footer(
      std::string(
          "Shows what the proposal changes, asks, and signs here. The text to sign is made from\n"
          "the payload that is shown: a server that wants another one signed is refused.\n"
          "Needs a token with registry:approve.\n\n") +
      kServerHelp +
      "\nExample:\n"
      "  ron registry approve 01JD0W5QJ8S3Q2M0V6X9Y4Z7AB --key alice.pem\n"
      "  …\n"
      "  Approve this? [y/N] y\n"
      "  approved by 0a1b2c3d4e5f6071: 1 of 2\n"
      "The same with openssl: sign the text under \"sign\" of GET /registry/proposals/ID,\n"
      "  openssl pkeyutl -sign -rawin -inkey alice.pem -in text | base64 -w0");
}

void add_commit(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<RegistryFlags>();
  CLI::App* command = declare(group, chosen, flags, "commit", "Make an approved proposal a version",
                              [](const ClientOptions& options, RegistryFlags& all) {
                                if (const auto refused = refuse_id(all, "commit")) return *refused;
                                return registry_commit(options, all.what, all.json);
                              });
  declare_id(*command, *flags);
  declare_data_flag(*command, flags->client);
  declare_json(*command, *flags);
  command->footer(
      std::string("Prints the version; the same again if it is repeated. Needs a token with "
                  "registry:commit.\n\n") +
      kServerHelp +
      "\nExample:\n"
      "  ron registry commit 01JD0W5QJ8S3Q2M0V6X9Y4Z7AB\n"
      "  version 13  b3:7d79…");
}

void add_withdraw(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<RegistryFlags>();
  CLI::App* command = declare(group, chosen, flags, "withdraw", "Take back a proposal of yours",
                              [](const ClientOptions& options, RegistryFlags& all) {
                                if (const auto refused = refuse_id(all, "withdraw"))
                                  return *refused;
                                return registry_withdraw(options, all.what, "withdraw");
                              });
  declare_id(*command, *flags);
  declare_data_flag(*command, flags->client);
  command->footer(
      std::string(
          "Needs a token with registry:propose, of the tenant that proposed it. Again, the\n"
          "same.\n\n") +
      kServerHelp +
      "\nExample:\n"
      "  ron registry withdraw 01JD0W5QJ8S3Q2M0V6X9Y4Z7AB\n"
      "  proposal 01JD0W5QJ8S3Q2M0V6X9Y4Z7AB withdrawn");
}

void add_reject(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<RegistryFlags>();
  CLI::App* command =
      declare(group, chosen, flags, "reject", "Remove a proposal, whoever proposed it",
              [](const ClientOptions& options, RegistryFlags& all) {
                if (const auto refused = refuse_id(all, "reject")) return *refused;
                return registry_withdraw(options, all.what, "reject");
              });
  declare_id(*command, *flags);
  declare_data_flag(*command, flags->client);
  command->footer(std::string("Needs a token with registry:govern. Again, the same.\n\n") +
                  kServerHelp +
                  "\nExample:\n"
                  "  ron registry reject 01JD0W5QJ8S3Q2M0V6X9Y4Z7AB\n"
                  "  proposal 01JD0W5QJ8S3Q2M0V6X9Y4Z7AB rejected");
}

void add_log(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<RegistryFlags>();
  CLI::App* command = declare(group, chosen, flags, "log", "List versions: who approved what, when",
                              [](const ClientOptions& options, RegistryFlags& all) {
                                return registry_log(options, {all.from, all.limit}, all.json);
                              });
  command->add_option("--from", flags->from, "Begin with this version, default the latest")
      ->type_name("VERSION");
  command->add_option("--limit", flags->limit, "So many, default 20")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, UINT64_MAX));
  command->add_flag("--json", flags->json, "As JSON, a version per line");
  command->footer(std::string(kServerHelp) +
                  "\nExample:\n"
                  "  ron registry log --limit 1\n"
                  "  version 13  b3:7d79…\n"
                  "  committed 2026-11-16T12:00:00Z  proposal 01JD0W5QJ8S3Q2M0V6X9Y4Z7AB\n"
                  "  approved by 0a1b2c3d4e5f6071  alice\n"
                  "  approved by 8192a3b4c5d6e7f8  bob\n"
                  "  update\n"
                  "    set region/eu  {\"id\":\"eu\",\"type\":\"region\"}");
}

void add_state(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<RegistryFlags>();
  CLI::App* command =
      declare(group, chosen, flags, "state", "Print the signers and all descriptors",
              [](const ClientOptions& options, RegistryFlags& all) {
                return registry_state(options, all.version, all.json);
              });
  command->add_option("--version", flags->version, "As of this version, default HEAD")
      ->type_name("VERSION");
  declare_json(*command, *flags);
  command->footer(std::string(kServerHelp) +
                  "\nExamples:\n"
                  "  ron registry state\n"
                  "  ron registry state --version 3 --json");
}

void add_proposals(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<RegistryFlags>();
  CLI::App* command = declare(group, chosen, flags, "proposals", "List what is proposed",
                              [](const ClientOptions& options, RegistryFlags& all) {
                                return registry_proposals(options, all.json);
                              });
  declare_json(*command, *flags);
  command->footer(std::string(kServerHelp) +
                  "\nExample:\n"
                  "  ron registry proposals\n"
                  "  01JD0W5QJ8S3Q2M0V6X9Y4Z7AB  update  1 of 2 approvals  waits for approvals  "
                  "expires …");
}

void add_proof(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<RegistryFlags>();
  CLI::App* command = declare(group, chosen, flags, "proof",
                              "Save a file that proves a version to anybody, without a server",
                              [](const ClientOptions& options, RegistryFlags& all) {
                                return registry_proof(options, *all.version, all.out, all.vkey);
                              });
  command->add_option("version", flags->version, "The version")->type_name("VERSION")->required();
  command->add_option("-o,--out", flags->out, "The file, default standard output")
      ->type_name("FILE");
  command->add_option("--vkey", flags->vkey, "The log's key, if you have kept it")
      ->type_name("VKEY");
  command->footer(std::string("It is verified before it is written.\n\n") + kServerHelp +
                  "\nExample:\n"
                  "  ron registry proof 13 -o 13.proof");
}

int run_verify(const ClientOptions& options, RegistryFlags& flags) {
  const VerifyPlan plan{flags.vkey, flags.kept, flags.json};
  if (!flags.proof.empty()) return registry_verify_proof(flags.proof, plan);
  if (!flags.data.empty()) return registry_verify_data(options, flags.data, plan);
  return registry_verify_server(options, plan);
}

void add_verify(CLI::App& group, Action& chosen) {
  const auto flags = std::make_shared<RegistryFlags>();
  CLI::App* command =
      declare(group, chosen, flags, "verify",
              "Check a whole log: a server's, a directory's, or a proof file", run_verify);
  CLI::Option* data =
      command->add_option("--data", flags->data, "Check this data directory, without a server")
          ->type_name("DIR");
  CLI::Option* proof = command->add_option("--proof", flags->proof, "Check this proof file, or -")
                           ->type_name("FILE")
                           ->excludes(data);
  command->add_option("--vkey", flags->vkey, "The key that signs its checkpoints")
      ->type_name("VKEY");
  command
      ->add_option("--checkpoint", flags->kept,
                   "A checkpoint you kept: the log must still be the one it was")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->excludes(proof);
  declare_json(*command, *flags);
  command->footer(
      std::string(
          "Reads every version and checks the chain of hashes, every signature, the quorum each\n"
          "version needed when it was made, every signed checkpoint, the tree and the states. "
          "Exit\n"
          "code 0 only if all of it agrees; otherwise each problem is a line that names the "
          "version\n"
          "or the file. A log that was cut short or rolled back agrees with itself: keep a\n"
          "checkpoint elsewhere (GET /registry/tlog/checkpoint) and give it with --checkpoint.\n"
          "--data reads DIR/registry, or DIR itself, changes nothing, and needs the server "
          "stopped.\n"
          "The key is --vkey; else the server's, the directory's or the proof's own word.\n\n") +
      kServerHelp +
      "\nExamples:\n"
      "  ron registry verify\n"
      "  log b3:1f2e…\n"
      "  versions 0 to 13, HEAD b3:7d79…\n"
      "  checked 14 entries, 14 with their quorum and signatures, 14 replayed; 2 checkpoints\n"
      "  checkpoints are signed by ron-registry/1f2e…+0123abcd+Ae…\n"
      "  all of it agrees\n"
      "  ron registry verify --data ron-data --checkpoint kept.note\n"
      "  ron registry verify --proof 13.proof --vkey ron-registry/1f2e…+0123abcd+Ae…");
}

}  // namespace

void add_registry_commands(CLI::App& group, Action& chosen) {
  add_init(group, chosen);
  add_head(group, chosen);
  add_show(group, chosen);
  add_propose(group, chosen);
  add_approve(group, chosen);
  add_commit(group, chosen);
  add_withdraw(group, chosen);
  add_reject(group, chosen);
  add_supersede(group, chosen);
  add_proposals(group, chosen);
  add_log(group, chosen);
  add_state(group, chosen);
  add_proof(group, chosen);
  add_verify(group, chosen);
}

}  // namespace ron::cli
