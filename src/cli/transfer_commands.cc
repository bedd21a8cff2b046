#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "catalog/media_type.h"
#include "cli/client_flags.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/get.h"
#include "cli/put.h"
#include "cli/tree_get.h"
#include "cli/tree_put.h"
#include "cli/tree_ref.h"
#include "config/value.h"
#include "platform/posix/files.h"

namespace ron::cli {
namespace {

constexpr const char* kPutHelp =
    R"(Prints a line per file, `b3:<hash>  name`, in the order of the arguments. The hash is the one
that b3sum prints; the server refuses bytes that do not have it. Directories are stored file by
file, in the order of their names. Symbolic links, pipes and devices in them are skipped and
listed, and the exit code is 1. Pipes and links that are arguments themselves are read.

Files above 1 MiB are sent in parts, several at once. If the command is interrupted, run it again:
it sends only the parts that are missing. Unfinished uploads are remembered in
$XDG_STATE_HOME/ron/uploads or ~/.local/state/ron/uploads. A file that changes while it is read is
not stored.

With --name a directory becomes a tree: a manifest lists its files, links, empty directories and
which files are executable, and the name then stands for that manifest. Files that the name's
current tree has are not sent, and the server is asked about the others first. --resend sends all
of them, so that the token's tenant holds them too. If somebody else changes the name in between,
their version stays and the command fails.

The whole directory is checked before anything is sent. If it has links that lead out of it, pipes
or devices, they are listed and nothing is sent. --allow-skipped sends the rest and says how many
were left out; --follow stores what such links lead to.
Prints `docs/v2@3  b3:<hash>  (12 files, 3 new, 1.20 MiB sent)`.

)";
constexpr const char* kGetHelp =
    R"(The bytes are hashed as they arrive and compared with the address. A file gets its name only
when all of it is right and on disk; until then it is a hidden .ron-part file beside it, and the
same command continues there after an interruption. A file that is replaced keeps its permissions.
A symbolic link at the place of the file is followed, except with --list. Bytes for standard
output, pipes and devices are written as they arrive: exit code 1 says that they were wrong or not
complete.

A name that stands for a tree, or a directory in it, is restored below the directory that -o names.
Nothing is written outside of it, whatever links are there. Files that already have the right bytes
are not fetched again, so the same command continues after an interruption; files that are not in
the tree are left alone. In NAME/PATH the longest name that exists is meant; NAME@3 is version 3.

A range cannot be checked against the address: plain HTTP carries no proof for a part of an object.
The server has verified it when it read it.

)";

std::string temporary_directory() {
  for (const auto& [name, value] : platform::posix::environment()) {
    if (name == "TMPDIR" && !value.empty()) return value;
  }
  return "/tmp";
}

struct PutFlags {
  ClientFlags client;
  PutFiles what;
  std::string name;
  std::string type;
  std::optional<std::uint64_t> if_version;
  bool times = false;
  bool resend = false;
  bool no_resume = false;
};

int run_put_named(const PutFlags& flags, const ClientOptions& options) {
  const auto name = catalog::parse_name(flags.name);
  if (!name) return bad_usage("put: --name: " + name.error().message);
  if (flags.what.arguments.size() != 1) {
    return bad_usage("put: --name is for one directory, one file or -");
  }
  if (!flags.what.list.empty()) {
    return bad_usage("put: a tree is listed by its manifest: give --name or --list, not both");
  }
  if (!flags.type.empty() && !catalog::is_media_type(flags.type)) {
    return bad_usage("put: --type is not a media type such as text/html");
  }
  return put_named(options,
                   {.path = flags.what.arguments.front(),
                    .name = *name,
                    .type = flags.type,
                    .spool = flags.what.spool,
                    .if_version = flags.if_version,
                    .times = flags.times,
                    .resend = flags.resend,
                    .resume = !flags.no_resume,
                    .allow_skipped = flags.what.allow_skipped,
                    .links = flags.what.follow ? TreeWalk::Links::Follow : TreeWalk::Links::Keep});
}

int run_put(PutFlags flags) {
  const auto options = resolve(flags.client);
  if (!options) return bad_usage("put: " + options.error().message);
  if (!flags.name.empty()) return run_put_named(flags, *options);
  if (flags.times || flags.resend || flags.if_version || !flags.type.empty()) {
    return bad_usage("put: --times, --type, --resend and --if-version go with --name");
  }
  flags.what.resume = !flags.no_resume;
  return put_files(*options, flags.what);
}

void add_put(CLI::App& root, Action& chosen) {
  const auto flags = std::make_shared<PutFlags>();
  flags->what.spool = temporary_directory();
  CLI::App* command = root.add_subcommand("put", "Store files, directories or standard input");
  command->add_option("path", flags->what.arguments, "Files and directories, - for standard input")
      ->type_name("PATH")
      ->required();
  command->add_option("--list", flags->what.list, "Write the lines there, for ron get --list")
      ->type_name("FILE");
  command->add_flag("--no-resume", flags->no_resume, "Do not continue or remember large uploads");
  command->add_flag("--allow-skipped", flags->what.allow_skipped,
                    "Leave out what cannot be stored, such as pipes; it is no failure");
  command->add_flag("--follow", flags->what.follow,
                    "Store what symbolic links lead to; with --name: links that lead outside");
  command
      ->add_option("--spool", flags->what.spool, "Where large streams wait, default TMPDIR or /tmp")
      ->type_name("DIR");
  command->add_option("--name", flags->name, "Give it this name; a directory becomes a tree")
      ->type_name("NAME");
  command->add_flag("--times", flags->times, "With --name: also keep when files were modified");
  command->add_option("--type", flags->type, "With --name: what a file is, default by its ending")
      ->type_name("TYPE");
  command
      ->add_option("--if-version", flags->if_version,
                   "With --name: only if it is at this version, 0: if there is none")
      ->type_name("N");
  command->add_flag("--resend", flags->resend, "With --name: send also what the server has");
  declare_client_flags(*command, flags->client);
  declare_data_flag(*command, flags->client);
  command->footer(std::string(kPutHelp) + kClientHelp +
                  "\nExamples:\n"
                  "  ron put film.mkv\n"
                  "  tar c tree | ron put -\n"
                  "  ron put site --name docs/v2 && ron get docs/v2 -o copy\n"
                  "  ron put logo.png --name docs/logo\n"
                  "  ron put --list tree.list tree && ron get --list tree.list -o copy\n"
                  "  ron put --url http://10.0.0.2:8081 --token acme.token --jobs 16 photos");
  command->callback([flags, &chosen] { chosen = [flags] { return run_put(*flags); }; });
}

struct GetFlags {
  ClientFlags client;
  std::string address;
  std::string out;
  std::string range;
  std::string list;
  bool no_sync = false;
  bool force = false;
};

int run_get_list(const GetFlags& flags, const ClientOptions& options) {
  if (!flags.address.empty()) return bad_usage("get: give an address or --list, not both");
  if (!flags.range.empty()) return bad_usage("get: --range is for one object, not for a list");
  if (flags.out.empty() || flags.out == "-") {
    return bad_usage("get: name the directory for the files of --list, -o DIR");
  }
  return get_list(options, {flags.list, flags.out, !flags.no_sync, flags.force});
}

// Why the text can be no name; nothing if it can.
std::optional<std::string> why_unreadable(const std::string& text) {
  const auto ways = readings(text);
  if (ways) return std::nullopt;
  return "'" + config::printable(text) +
         "' is neither an address (b3: and 64 hex digits) nor a name: " + ways.error().message;
}

// A name, or a place in the tree at an address.
int run_get_named(const GetFlags& flags, const ClientOptions& options) {
  if (!flags.range.empty()) return bad_usage("get: --range is for an address, not for a name");
  return get_named(options, {flags.address, flags.out, !flags.no_sync, flags.force});
}

int run_get(const GetFlags& flags) {
  const auto options = resolve(flags.client);
  if (!options) return bad_usage("get: " + options.error().message);
  if (!flags.list.empty()) return run_get_list(flags, *options);
  if (flags.address.empty()) {
    return bad_usage("get: say which object or name, or give a list with --list");
  }
  const bool is_address = flags.address.starts_with("b3:") && !flags.address.contains('/');
  if (!is_address) {
    const auto readable =
        flags.address.starts_with("b3:") ? std::nullopt : why_unreadable(flags.address);
    if (readable) return bad_usage("get: " + *readable);
    return run_get_named(flags, *options);
  }
  const auto ids = parse_addresses({flags.address});
  if (!ids) return bad_usage("get: " + ids.error().message);
  GetObject what{.id = ids->front(),
                 .out = flags.out,
                 .range = {},
                 .sync = !flags.no_sync,
                 .force = flags.force};
  if (!flags.range.empty()) {
    const auto range = parse_byte_range(flags.range);
    if (!range) return bad_usage("get: --range: " + range.error().message);
    what.range = *range;
  }
  return get_object(*options, what);
}

void add_get(CLI::App& root, Action& chosen) {
  const auto flags = std::make_shared<GetFlags>();
  CLI::App* command =
      root.add_subcommand("get", "Fetch an object, a tree by its name, or all files of a list");
  command->add_option("what", flags->address, "An address, or a name: NAME[@N][/PATH]")
      ->type_name("ADDR|NAME");
  command
      ->add_option("-o,--out", flags->out,
                   "Where to, default - for standard output; the directory for a tree")
      ->type_name("FILE");
  command->add_option("--range", flags->range, "Only these bytes, from 0, both included")
      ->type_name("A-B");
  command
      ->add_option("--list", flags->list,
                   "Fetch every line of it, - for standard input, into the directory -o names")
      ->type_name("FILE");
  command->add_flag("--no-sync", flags->no_sync, "Do not wait until the disk has it");
  command->add_flag("-f,--force", flags->force, "Replace read-only and hard-linked files too");
  declare_client_flags(*command, flags->client);
  declare_data_flag(*command, flags->client);
  command->footer(std::string(kGetHelp) + kClientHelp +
                  "\nExamples:\n"
                  "  ron get b3:<hash> -o film.mkv\n"
                  "  ron get b3:<hash> | tar x\n"
                  "  ron get docs/v2 -o site\n"
                  "  ron get docs/v2@3/css/site.css\n"
                  "  ron get b3:<hash> --range 0-1023 | xxd\n"
                  "  ron get --list tree.list -o copy");
  command->callback([flags, &chosen] { chosen = [flags] { return run_get(*flags); }; });
}

}  // namespace

void add_transfer_commands(CLI::App& root, Action& chosen) {
  add_put(root, chosen);
  add_get(root, chosen);
}

}  // namespace ron::cli
